"""Jobs by what a cycle looks for, kept over cycles and renewed for those of which there is news."""

from sky_core import reservations
from sky_core.members import OPEN
from sky_core.model import Job, JobId, QueueName
from sky_core.resources import NOTHING, Resources
from sky_core.world import World


class Roll:
    """Who has something to do, and what each job and each queue holds: claims, and requests of spot tasks on nodes.

    `restless` jobs have a member to place, or cannot even be asked.
    """

    def __init__(self, world: World) -> None:
        """All jobs, as they are."""
        self._world = world
        self._queues: dict[JobId, QueueName] = {}
        self.restless: set[JobId] = set()
        self.by_job: dict[JobId, Resources] = {}
        self.by_queue: dict[QueueName, Resources] = {}
        for job in world.jobs.values():
            self._enter(job)
        world.news.jobs.clear()

    @classmethod
    def of(cls, world: World) -> "Roll":
        """The world's own, up to date. To be called before a cycle claims anything."""
        kept = world.kept.get(cls)
        if not isinstance(kept, Roll):
            kept = world.kept[cls] = cls(world)
        for id_ in sorted(world.news.jobs):
            kept._leave(id_)
            if (job := world.jobs.get(id_)) is not None:
                kept._enter(job)
        world.news.jobs.clear()
        return kept

    def _enter(self, job: Job) -> None:
        if _restless(self._world, job):
            self.restless.add(job.id)
        held = NOTHING
        for id_ in job.tasks:
            task = self._world.tasks[id_]
            if task.unfinished and (task.quota is not None or (task.shape.spot is not None and task.node is not None)):
                held += task.shape.request
        if held:
            self._queues[job.id] = job.queue
            self.by_job[job.id] = held
            self.by_queue[job.queue] = self.by_queue.get(job.queue, NOTHING) + held

    def _leave(self, job: JobId) -> None:
        self.restless.discard(job)
        queue = self._queues.pop(job, None)
        if queue is not None:
            self.by_queue[queue] -= self.by_job.pop(job)


def _restless(world: World, job: Job) -> bool:
    if not job.tasks:
        return not reservations.is_finished(world, job)
    tasks = [world.tasks[id_] for id_ in job.tasks]
    unasked = bool(job.fault) or not job.known
    return any([task.state in OPEN or (unasked and not task.placed) for task in tasks])
