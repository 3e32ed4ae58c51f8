"""What each job and each queue holds: claims, and the requests of spot tasks on nodes."""

from collections import defaultdict

from sky_core.model import Job, JobId, QueueName
from sky_core.resources import NOTHING, Resources
from sky_core.world import World


class Holdings:
    """Counted when first asked, then kept in step with what is claimed; trials that are undone take back their part."""

    def __init__(self, world: World) -> None:
        """Nothing is counted yet."""
        self._world = world
        self._counted: tuple[dict[JobId, Resources], dict[QueueName, Resources]] | None = None

    def of_queue(self, queue: QueueName) -> Resources:
        """What a queue's capability caps."""
        return self._by()[1].get(queue, NOTHING)

    def job_share(self, job: JobId) -> int:
        """A job's dominant share of the cluster, in billionths."""
        held = self._by()[0].get(job)
        return held.share_of(self._world.total) if held is not None else 0

    def queue_share(self, queue: QueueName) -> int:
        """A queue's dominant share of the cluster, in billionths."""
        return self.of_queue(queue).share_of(self._world.total)

    def add(self, job: Job, amount: Resources) -> None:
        """Count so much more (negative: less) as held by the job and its queue."""
        jobs, queues = self._by()
        self._world.put(jobs, job.id, jobs.get(job.id, NOTHING) + amount)
        self._world.put(queues, job.queue, queues.get(job.queue, NOTHING) + amount)

    def _by(self) -> tuple[dict[JobId, Resources], dict[QueueName, Resources]]:
        if self._counted is None:
            jobs = defaultdict[JobId, Resources](lambda: NOTHING)
            queues = defaultdict[QueueName, Resources](lambda: NOTHING)
            for task in self._world.tasks.values():
                spot = task.shape.spot is not None and task.node is not None
                if task.job is None or not task.unfinished or (task.quota is None and not spot):
                    continue
                jobs[task.job] += task.shape.request
                job = self._world.jobs.get(task.job)
                if job is not None:
                    queues[job.queue] += task.shape.request
            self._counted = (dict(jobs), dict(queues))
        return self._counted
