"""What the scheduler reports of jobs and queues, counted from the world (behaviour.md 7.5, 9)."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

import msgspec

from sky_core.lanes import Lanes
from sky_core.members import OPEN, roles
from sky_core.model import Job, JobId, QueueName, Quota, Task
from sky_core.reasons import Code, Rung, Verdict
from sky_core.reservations import is_finished
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import Operator
from sky_core.settings import Settings
from sky_core.states import ON_NODE, TaskState
from sky_core.world import World

Name = TypeVar("Name", bound=str)


class Phase(StrEnum):
    """Where a PodGroup stands."""

    PENDING = "Pending"
    INQUEUE = "Inqueue"
    RUNNING = "Running"
    UNKNOWN = "Unknown"
    COMPLETED = "Completed"


class Counts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How many tasks of a job, or jobs of a queue, stand where. What is in none of them is on its way out."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0


class SpecPool(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a queue has of one kind of card: the requests of its quotas, the claims on them, and their shadows."""

    allocatable: Resources = NOTHING
    allocated: Resources = NOTHING
    shadow: Resources = NOTHING


class QueueStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A Queue's report. `allocated`: what its jobs claim, and their spot requests; `pools` are by spec code."""

    allocated: Resources = NOTHING
    pools: Mapping[str, SpecPool] = {}
    jobs: Counts = Counts()


class JobQueueStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A JobQueue's report."""

    allocated: Resources = NOTHING
    jobs: Counts = Counts()


def phase(world: World, job: Job, verdict: Verdict | None) -> Phase:
    """The phase of a job, by the first of these that holds; `verdict` is what its last attempt came to."""
    if is_finished(world, job):
        return Phase.COMPLETED
    placed = [task for task in _tasks(world, job) if task.placed]
    enough = all(sum(task.role == role for task in placed) >= least for role, least in roles(job))
    if placed and enough and len(placed) >= job.min_member:
        return Phase.RUNNING
    if placed:
        return Phase.UNKNOWN
    return Phase.INQUEUE if verdict is not None and verdict.rung is not Rung.ENQUEUE else Phase.PENDING


def task_counts(world: World, job: Job) -> Counts:
    """How many of a job's tasks wait, run, and have ended."""
    states = [task.state for task in _tasks(world, job)]
    return Counts(
        pending=sum(state in OPEN for state in states),
        running=sum(state in ON_NODE for state in states),
        succeeded=states.count(TaskState.SUCCEEDED),
        failed=states.count(TaskState.FAILED),
    )


def zones(world: World, job: Job) -> tuple[str, ...]:
    """The RDMA topology keys of the zones in which the job's placed tasks are, each once, in rank order."""
    nodes = [world.nodes[task.node] for task in _tasks(world, job) if task.placed and task.node in world.nodes]
    return tuple(dict.fromkeys(node.zone for node in nodes if node.zone is not None))


def waits_for_zone(verdict: Verdict | None) -> bool:
    """Whether a job holds out for a single zone: its PodGroup's condition WaitingForZone is then True."""
    return verdict is not None and Code.WAITING_FOR_ZONE in verdict.codes()


def queue_statuses(world: World, settings: Settings) -> dict[QueueName, QueueStatus]:
    """Every queue's report, by name. Quotas of queues that don't exist are in none."""
    pools: dict[QueueName, dict[str, SpecPool]] = {name: {} for name in sorted(world.queues)}
    for name in sorted(world.quotas):
        quota = world.quotas[name]
        if quota.spec.queue in pools:
            of_queue, code = pools[quota.spec.queue], quota_spec(world, quota, settings)
            of_queue[code] = _with(of_queue.get(code, SpecPool()), quota)
    jobs = _jobs_by(world, {job.id: job.queue for job in world.jobs.values()})
    return {
        queue: QueueStatus(
            allocated=_allocated(world, jobs.get(queue, ())),
            pools=dict(sorted(of_queue.items())),
            jobs=_job_counts(world, jobs.get(queue, ())),
        )
        for queue, of_queue in pools.items()
    }


def job_queue_statuses(world: World) -> dict[str, JobQueueStatus]:
    """Every JobQueue's report, by name."""
    lanes = Lanes(world)
    jobs = _jobs_by(world, {job.id: lane.name for job in world.jobs.values() if (lane := lanes.of(job)) is not None})
    return {
        name: JobQueueStatus(
            allocated=_allocated(world, jobs.get(name, ())), jobs=_job_counts(world, jobs.get(name, ()))
        )
        for name in sorted(world.job_queues)
    }


def quota_spec(world: World, quota: Quota, settings: Settings) -> str:
    """The spec code of a quota: its node's; of an unbound one, what its selector asks for."""
    node = world.nodes.get(quota.node) if quota.node is not None else None
    if node is not None:
        return node.spec
    asked = quota.spec.selector.requirements
    labels = {r.key: r.values[0] for r in asked if r.operator is Operator.IN and len(r.values) == 1}
    chosen = settings.spec_label(labels)
    return labels[chosen] if chosen is not None else ""


def _tasks(world: World, job: Job) -> list[Task]:
    return [world.tasks[id_] for id_ in job.tasks]


def _with(pool: SpecPool, quota: Quota) -> SpecPool:
    return SpecPool(
        allocatable=pool.allocatable + quota.spec.request,
        allocated=pool.allocated + quota.claimed,
        shadow=pool.shadow + quota.shadow,
    )


def _jobs_by(world: World, group: Mapping[JobId, Name]) -> dict[Name, list[Job]]:
    found: dict[Name, list[Job]] = {}
    for id_ in sorted(group):
        found.setdefault(group[id_], []).append(world.jobs[id_])
    return found


def _allocated(world: World, jobs: Iterable[Job]) -> Resources:
    """What the tasks of these jobs claim, and what their spot tasks take."""
    return Resources.total(
        task.shape.request
        for job in jobs
        for task in _tasks(world, job)
        if task.unfinished and (task.quota is not None or (task.shape.spot is not None and task.node is not None))
    )


def _job_counts(world: World, jobs: Iterable[Job]) -> Counts:
    """Jobs with a placed task run; those that neither run nor are finished wait."""
    unfinished = [job for job in jobs if not is_finished(world, job)]
    running = sum(any(task.placed for task in _tasks(world, job)) for job in unfinished)
    return Counts(pending=len(unfinished) - running, running=running)
