"""Jobs by what a cycle looks for, kept over cycles and renewed for those of which there is news."""

from collections.abc import Collection, Hashable, Mapping, Set

from sky_core import reservations
from sky_core.members import OPEN
from sky_core.memory import Attempt
from sky_core.model import Job, JobId, QueueName
from sky_core.peers import Order, Peers, likeness
from sky_core.resources import NOTHING, Resources
from sky_core.world import World


class Roll:
    """Who has something to do, and what each job and each queue holds: claims, and requests of spot tasks on nodes.

    `restless` jobs have a member to place, or cannot even be asked. Of those that have been tried before it is `known`
    who is alike.
    """

    def __init__(self, world: World) -> None:
        """All jobs, as they are."""
        self._world = world
        self._queues: dict[JobId, QueueName] = {}
        self.restless: set[JobId] = set()
        self._loners: set[JobId] = set()
        self.known: set[JobId] = set()
        self._peers: dict[Hashable, Peers] = {}
        self._places: dict[JobId, tuple[Hashable, Order]] = {}
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

    def waiting(self, attempts: Mapping[JobId, Attempt]) -> tuple[Set[JobId], Collection[Peers]]:
        """The restless, each once: those that are alike to nobody, as far as is known, and all others."""
        for id_ in (attempts.keys() & self._loners) - self.known:
            self.known.add(id_)
            job = self._world.jobs[id_]
            if (kind := likeness(self._world, job)) is not None:
                self._loners.discard(id_)
                self._places[id_] = kind, (job.created, id_)
                self._peers.setdefault(kind, Peers()).add((job.created, id_))
        return self._loners, self._peers.values()

    def _enter(self, job: Job) -> None:
        if _restless(self._world, job):
            self.restless.add(job.id)
            self._loners.add(job.id)
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
        for each in (self.restless, self._loners, self.known):
            each.discard(job)
        kind, order = self._places.pop(job, (None, None))
        if order is not None:
            self._peers[kind].drop(order)
            if not self._peers[kind]:
                del self._peers[kind]
        queue = self._queues.pop(job, None)
        if queue is not None:
            self.by_queue[queue] -= self.by_job.pop(job)


def _restless(world: World, job: Job) -> bool:
    if not job.tasks:
        return not reservations.is_finished(world, job)
    tasks = [world.tasks[id_] for id_ in job.tasks]
    unasked = bool(job.fault) or not job.known
    return any([task.state in OPEN or (unasked and not task.placed) for task in tasks])
