"""All or nothing: how many of a job's tasks exist, have quotas, or are ready, against what must start together."""

from collections import Counter
from collections.abc import Callable

from sky_core.members import OPEN, roles, started
from sky_core.model import Job, JobId, Task
from sky_core.plugin import Context, Functions, Plugin
from sky_core.reasons import Code, Reason
from sky_core.states import TaskState


def open_session(context: Context, _: None) -> Functions:
    """Closes over the session."""
    gangs = _Gangs(context)
    return Functions(
        job_valid=gangs.valid,
        job_ready=gangs.ready,
        job_pipelined=gangs.pipelined,
        job_starving=gangs.starving,
        quota_ready=gangs.have_quotas,
        quota_allocate=gangs.seated,
        job_order=gangs.order,
        job_key=gangs.rank,
    )


class _Gangs:
    """What is asked of each job."""

    def __init__(self, context: Context) -> None:
        self._world = context.world
        self._begun = context.begun
        self._ranks: dict[JobId, int] = {}

    def valid(self, job: Job) -> Reason | None:
        """Enough tasks exist; a job that has begun is valid with what exists."""
        if self._begun(job):
            return None
        existing = self._existing(job)
        if len(existing) < job.min_member:
            return Reason(Code.NOT_ENOUGH_TASKS, detail=f"{len(existing)} of {job.min_member} tasks exist")
        by_role = Counter(task.role for task in existing)
        for role, least in roles(job):
            if by_role[role] < least:
                return Reason(Code.NOT_ENOUGH_TASKS, detail=f"{by_role[role]} of {least} tasks of role {role} exist")
        return None

    def ready(self, job: Job) -> bool:
        """Ready members reach what must start together."""
        return self._enough(job, lambda task: task.ready)

    def pipelined(self, job: Job) -> bool:
        """Likewise when those that wait for room being made are counted."""
        return self._enough(job, lambda task: task.ready or task.state is TaskState.PIPELINED)

    def starving(self, job: Job) -> bool:
        """Neither ready nor waiting for room: a victim might help."""
        return not self.pipelined(job)

    def have_quotas(self, job: Job) -> bool:
        """Members with a quota, or ready already, reach what must start together."""
        return self._enough(job, lambda task: task.ready or task.quota is not None)

    def seated(self, job: Job) -> Reason | None:
        """Their quotas have nodes, or are static-bound and will."""
        return None if self._enough(job, self._has_seat) else Reason(Code.GANG_NOT_READY)

    def order(self, one: Job, other: Job) -> int:
        """A broken gang first, so that it gets its place back; then those that are not ready."""
        return self.rank(one) - self.rank(other)

    def rank(self, job: Job) -> int:
        """The same of one job."""
        if job.id not in self._ranks:
            ready = self.ready(job)
            self._ranks[job.id] = 0 if started(self._world, job) and not ready else 2 if ready else 1
        return self._ranks[job.id]

    def _enough(self, job: Job, counts: Callable[[Task], bool]) -> bool:
        """Whether the counting tasks reach minMember and each role's minimum.

        Of a job that has begun, as far as its tasks exist: one that is not made again holds up nobody.
        """
        world = self._world
        if len(job.tasks) == 1 == job.min_member and not job.min_task_member:  # most jobs of most clusters
            return counts(world.tasks[job.tasks[0]])
        tasks = [task for id_ in job.tasks if counts(task := world.tasks[id_])]
        least, minima = job.min_member, roles(job)
        if self._begun(job):
            existing = self._existing(job)
            by_role = Counter(task.role for task in existing)
            least, minima = min(least, len(existing)), tuple((role, min(n, by_role[role])) for role, n in minima)
        counted = Counter(task.role for task in tasks) if minima else Counter()
        return len(tasks) >= least and all(counted[role] >= n for role, n in minima)

    def _existing(self, job: Job) -> list[Task]:
        tasks = (self._world.tasks[id_] for id_ in job.tasks)
        return [task for task in tasks if task.state in OPEN or task.placed]

    def _has_seat(self, task: Task) -> bool:
        if task.ready:
            return True
        quota = self._world.quotas.get(task.quota) if task.quota is not None else None
        return quota is not None and (quota.node or quota.spec.static_node or task.node) is not None


PLUGIN = Plugin(name="gang", open=open_session)
