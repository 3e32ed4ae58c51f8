"""All or nothing: how many of a job's tasks exist, have quotas, or are ready, against what must start together."""

from collections import Counter
from collections.abc import Callable

from sky_core.members import OPEN, roles, started
from sky_core.model import Job, Task
from sky_core.plugin import Context, Functions, Plugin
from sky_core.reasons import Code, Reason
from sky_core.states import TaskState
from sky_core.topology import home


def open_session(context: Context, _arguments: None) -> Functions:
    """Closes over the session."""
    world = context.world

    def enough(job: Job, counts: Callable[[Task], bool]) -> bool:
        """Whether the counting tasks reach minMember and each role's minimum."""
        tasks = [task for id_ in job.tasks if counts(task := world.tasks[id_])]
        by_role = Counter(task.role for task in tasks)
        existing = Counter(world.tasks[id_].role for id_ in job.tasks)
        if begun(job):  # valid with what exists: a lost member that is not made again holds up nobody
            least = min(job.min_member, sum(_exists(world.tasks[id_]) for id_ in job.tasks))
            return len(tasks) >= least and all(by_role[role] >= min(n, existing[role]) for role, n in roles(job))
        return len(tasks) >= job.min_member and all(by_role[role] >= n for role, n in roles(job))

    def begun(job: Job) -> bool:
        return started(world, job) or job.id in kept

    def job_valid(job: Job) -> Reason | None:
        """Enough tasks exist; a job that has begun is valid with what exists."""
        existing = [task for id_ in job.tasks if _exists(task := world.tasks[id_])]
        if begun(job):
            return None
        if len(existing) < job.min_member:
            return Reason(Code.NOT_ENOUGH_TASKS, detail=f"{len(existing)} of {job.min_member} tasks exist")
        by_role = Counter(task.role for task in existing)
        for role, least in roles(job):
            if by_role[role] < least:
                detail = f"{by_role[role]} of {least} tasks of role {role} exist"
                return Reason(Code.NOT_ENOUGH_TASKS, detail=detail)
        return None

    def job_ready(job: Job) -> bool:
        """Ready members reach what must start together."""
        return enough(job, lambda task: task.ready)

    def job_pipelined(job: Job) -> bool:
        """Likewise when those that wait for room being made are counted."""
        return enough(job, lambda task: task.ready or task.state is TaskState.PIPELINED)

    def job_starving(job: Job) -> bool:
        """Neither ready nor waiting for room: a victim might help."""
        return not job_pipelined(job)

    def quota_ready(job: Job) -> bool:
        """Members with a quota, or ready already, reach what must start together."""
        return enough(job, lambda task: task.ready or task.quota is not None)

    def quota_allocate(job: Job) -> Reason | None:
        """Their quotas have nodes, or are static-bound and will."""

        def seated(task: Task) -> bool:
            quota = world.quotas.get(task.quota) if task.quota is not None else None
            pending = quota is not None and quota.spec.static_node is not None
            return task.ready or pending or (task.quota is not None and home(world, task) is not None)

        return None if enough(job, seated) else Reason(Code.GANG_NOT_READY)

    def job_order(one: Job, other: Job) -> int:
        """A broken gang first, so that it gets its place back; then those not ready."""
        return rank(one) - rank(other)

    def rank(job: Job) -> int:
        if job.id not in ranks:
            ready = job_ready(job)
            ranks[job.id] = 0 if started(world, job) and not ready else 2 if ready else 1
        return ranks[job.id]

    ranks: dict[str, int] = {}
    kept = {r.job for q in world.quotas.values() for r in q.reservations if r.expires > context.now}
    return Functions(
        job_valid=job_valid,
        job_ready=job_ready,
        job_pipelined=job_pipelined,
        job_starving=job_starving,
        quota_ready=quota_ready,
        quota_allocate=quota_allocate,
        job_order=job_order,
    )


def _exists(task: Task) -> bool:
    return task.state in OPEN or task.placed


PLUGIN = Plugin(name="gang", open=open_session)
