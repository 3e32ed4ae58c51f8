"""Which JobQueue a job is in, and which jobs run or wait in each."""

from collections import defaultdict
from functools import cached_property
from typing import Final

from sky_core.members import OPEN
from sky_core.model import Job, JobQueue, QueueName
from sky_core.states import TaskState
from sky_core.world import World

_CLAIMING: Final = frozenset({TaskState.ALLOCATED_TO_QUOTA, TaskState.PIPELINED})


class Lanes:
    """The jobs of the Queues that have JobQueues, as the world stood when this was made."""

    def __init__(self, world: World) -> None:
        """Sort the JobQueues: highest priority first, then by name."""
        self._world = world
        self._lanes: dict[QueueName, list[JobQueue]] = defaultdict(list)
        for lane in sorted(world.job_queues.values(), key=lambda lane: (-lane.priority, lane.name)):
            self._lanes[lane.queue].append(lane)
        self._of = {job.id: self._pick(job) for job in world.jobs.values()} if self._lanes else {}

    def ruled(self, queue: QueueName) -> bool:
        """Whether the Queue has JobQueues."""
        return queue in self._lanes

    def of(self, job: Job) -> JobQueue | None:
        """The JobQueue that a job is in: of several, that of the highest priority, then the first name."""
        return self._of.get(job.id)

    def speaks_for(self, job: Job) -> str:
        """Who is told the same at the door: its JobQueue; under StrictFIFO, where the older goes first, it alone."""
        lane = self.of(job)
        return "" if lane is None else job.id if lane.strict else lane.name

    def inside(self, job: Job) -> bool:
        """Whether a job was let in and has got hold of something: a member is on a node, or claims a quota."""
        tasks = (self._world.tasks[id_] for id_ in job.tasks)
        return any(task.unfinished and (task.placed or task.state in _CLAIMING) for task in tasks)

    def running(self, lane: JobQueue) -> list[Job]:
        """The jobs that were inside when first asked for: before any was let in."""
        return self._running.get(lane.name, [])

    @cached_property
    def _running(self) -> dict[str, list[Job]]:
        found: dict[str, list[Job]] = defaultdict(list)
        for job in self._world.jobs.values():
            if (lane := self._of.get(job.id)) is not None and self.inside(job):
                found[lane.name].append(job)
        return found

    @cached_property
    def waiting(self) -> list[Job]:
        """Jobs that could be let in: enough tasks, not gated, none placed, in a JobQueue that is not suspended."""
        return [job for job in self._world.jobs.values() if self._waits(job)]

    def _waits(self, job: Job) -> bool:
        lane = self._of.get(job.id)
        if lane is None or lane.suspended or job.fault or not job.known:
            return False
        tasks = [self._world.tasks[id_] for id_ in job.tasks]
        ungated = [task for task in tasks if task.state in OPEN and not task.gated]
        return len(ungated) >= max(job.min_member, 1) and not any(task.placed for task in tasks)

    def _pick(self, job: Job) -> JobQueue | None:
        return next((lane for lane in self._lanes.get(job.queue, ()) if lane.jobs.matches(job.labels)), None)
