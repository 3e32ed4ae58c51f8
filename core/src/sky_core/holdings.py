"""What each job and each queue holds in the course of a cycle."""

from collections.abc import Collection, Mapping, Set

from sky_core.memory import Attempt
from sky_core.model import Job, JobId, QueueName
from sky_core.peers import Peers
from sky_core.resources import NOTHING, Resources
from sky_core.roll import Roll
from sky_core.world import World


class Holdings:
    """As the roll has it, kept in step with what is claimed; trials that are undone take back their part."""

    def __init__(self, world: World) -> None:
        """As the cycle begins."""
        self._world = world
        self._roll = Roll.of(world)

    @property
    def restless(self) -> Set[JobId]:
        """See `Roll`."""
        return self._roll.restless

    def waiting(self, attempts: Mapping[JobId, Attempt]) -> tuple[Set[JobId], Collection[Peers]]:
        """See `Roll`."""
        return self._roll.waiting(attempts)

    def any_known(self, jobs: Set[JobId]) -> bool:
        """Whether it is known of any of these jobs who is alike."""
        return not self._roll.known.isdisjoint(jobs)

    def of_queue(self, queue: QueueName) -> Resources:
        """What a queue's capability caps."""
        return self._roll.by_queue.get(queue, NOTHING)

    def job_share(self, job: JobId) -> int:
        """A job's dominant share of the cluster, in billionths."""
        held = self._roll.by_job.get(job)
        return held.share_of(self._world.total) if held is not None else 0

    def queue_share(self, queue: QueueName) -> int:
        """A queue's dominant share of the cluster, in billionths."""
        return self.of_queue(queue).share_of(self._world.total)

    def add(self, job: Job, amount: Resources) -> None:
        """Count so much more (negative: less) as held by the job and its queue."""
        jobs, queues, put = self._roll.by_job, self._roll.by_queue, self._world.put
        put(jobs, job.id, jobs.get(job.id, NOTHING) + amount)
        put(queues, job.queue, queues.get(job.queue, NOTHING) + amount)
