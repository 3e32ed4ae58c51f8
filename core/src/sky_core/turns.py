"""In which order jobs have their turn in a cycle (behaviour.md 5.1)."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cmp_to_key
from heapq import heappop, heappush
from typing import Any

from sky_core.memory import REFUSALS, Attempt
from sky_core.model import Job, JobId, QueueName
from sky_core.peers import Crowd, Order, Told, likeness, said
from sky_core.session import Session

_Entry = tuple[Any, Order]
"""A job's key by jobOrder, and its order among those of equal key."""


def turns(session: Session) -> Iterator[Job]:
    """Jobs with something to do: the first job of the first queue that has one, shares read anew each time.

    Jobs whose Queue does not exist come first; they are refused whatever their order. Where a job is told what all of
    its crowd would be, those whose turn would come before anything changes have none: see `Session.told`.
    """
    if not session.holdings.restless:
        return
    world, order = session.world, cmp_to_key(session.points["queueOrder"])
    lines = _lines(session)
    for name in sorted(lines.keys() - world.queues.keys()):
        yield from (world.jobs[id_] for id_ in sorted(lines.pop(name).everybody()))

    def standing(name: QueueName) -> tuple[object, ...]:
        queue = world.queues[name]
        return (order(queue), queue.created, name)

    while lines:
        queue = min(lines, key=standing) if len(lines) > 1 else next(iter(lines))
        line = lines[queue]
        id_, mark = line.next(), world.mark()
        yield world.jobs[id_]
        told = session.standings.get(id_)
        going, alike = (told.going, told.alike) if told is not None else (False, False)
        if alike and not line.gathered:
            line.gather(_kinds(session), session.memory.attempts)
        line.went_by(changed=going or world.mark() != mark, alike=alike)
        if line.is_over():
            session.told += line.told
            del lines[queue]


def _lines(session: Session) -> dict[QueueName, "_Line"]:
    """The jobs with something to do by their queues."""
    world, key = session.world, session.points.job_key
    lines: dict[QueueName, _Line] = defaultdict(_Line)
    loners, crowds = _apart(session)
    entries: dict[QueueName, list[_Entry]] = defaultdict(list)
    for job in map(world.jobs.__getitem__, loners):
        entries[job.queue].append((key(job), (job.created, job.id)))
    for queue, each in entries.items():
        lines[queue].loners = sorted(each, reverse=True)
    for crowd in crowds:
        first = world.jobs[crowd.orders[0][1]]
        lines[first.queue].join(_Walk(crowd, key(first)))
    return lines


def _apart(session: Session) -> tuple[list[JobId], list[Crowd]]:
    """Who has turns alone, and the crowds."""
    attempts, likens = session.memory.attempts, _likens(session)
    loners, peers = session.holdings.waiting(attempts)
    crowds = [crowd for each in peers for crowd in each.crowds(attempts)]
    alone, jobs = _alone(session), session.world.jobs
    if likens or session.holdings.any_known(alone):

        def key(id_: JobId) -> Hashable:
            return id_ if id_ in alone else tuple([like(jobs[id_]) for like in likens])

        crowds = [part for crowd in crowds for part in crowd.parts(list(map(key, crowd.ids)))]
    return list(loners), crowds


def _kinds(session: Session) -> Callable[[JobId], Hashable | None]:
    """What those have in common who are told the same; of who may be told anything else None."""
    world, attempts, likens, alone = session.world, session.memory.attempts, _likens(session), _alone(session)

    def kind(id_: JobId) -> Hashable | None:
        job = world.jobs[id_]
        alike = likeness(world, job) if id_ not in alone else None
        return None if alike is None else (alike, said(attempts.get(id_)), *[like(job) for like in likens])

    return kind


def _likens(session: Session) -> tuple[Callable[[Job], Hashable], ...]:
    """What tells apart jobs that are alike: what plugins say, and the labels for which others keep them away."""
    if not session.world.anti_affine:
        return session.points.likens
    tasks, keys = session.world.tasks, session.pairs.watched

    def labels(job: Job) -> Hashable:
        return tuple([tasks[id_].labels.get(key) for id_ in job.tasks for key in keys])

    return (*session.points.likens, labels)


def _alone(session: Session) -> frozenset[JobId]:
    """Jobs of which something is known beside their rows: for which a place is kept, or something was sent."""
    tasks, binds = session.world.tasks, session.memory.binds
    refused = [tasks[id_].job for id_, count in binds.items() if count >= REFUSALS and id_ in tasks]
    return session.kept_jobs.union(session.world.unanswered, (job for job in refused if job is not None))


class _Walk:
    """How far a crowd has come: its next is at `at`, and would be told what `by` was if nothing changes."""

    __slots__ = ("at", "by", "crowd", "key")

    def __init__(self, crowd: Crowd, key: Any) -> None:
        self.crowd = crowd
        self.key = key
        self.at = 0
        self.by = JobId("")

    def is_over(self) -> bool:
        return self.at == len(self.crowd.orders)

    def skip(self, before: _Entry | None) -> Told:
        """Pass over those before an entry, or all."""
        begin, orders = self.at, self.crowd.orders
        if before is None or self.key < before[0]:
            self.at = len(orders)
        elif self.key == before[0]:
            self.at = max(bisect_left(orders, before[1]), begin)
        return Told(self.crowd, begin, self.at, self.by)


class _Line:
    """The jobs of a queue: loners one by one, and crowds. `told` are those that had no turn of their own.

    A crowd whose next would be told what another was is asleep until something changes. `gathered`: it is known of all
    loners that they are that.
    """

    def __init__(self) -> None:
        self.loners: list[_Entry] = []  # the first at the end
        self.told: list[Told] = []
        self.gathered = False
        self._awake: list[tuple[Any, Order, _Walk]] = []
        self._asleep: list[_Walk] = []
        self._turn: tuple[_Entry, _Walk | None] | None = None

    def join(self, walk: _Walk) -> None:
        """A crowd that has not had all its turns."""
        heappush(self._awake, (walk.key, walk.crowd.orders[walk.at], walk))

    def gather(self, kind: Callable[[JobId], Hashable | None], attempts: Mapping[JobId, Attempt]) -> None:
        """Make crowds of the loners that are alike."""
        found: dict[Hashable, list[_Entry]] = defaultdict(list)
        for entry in self.loners:
            found[kind(entry[1][1])].append(entry)
        self.loners, self.gathered = found.pop(None, []), True
        for entries in found.values():
            orders = [order for _, order in reversed(entries)]
            ids = [id_ for _, id_ in orders]
            self.join(_Walk(Crowd(orders, ids, list(map(attempts.get, ids))), entries[0][0]))

    def everybody(self) -> list[JobId]:
        """Whoever is in it, before anybody has had a turn."""
        return [id_ for _, (_, id_) in self.loners] + [id_ for *_, walk in self._awake for id_ in walk.crowd.ids]

    def is_over(self) -> bool:
        return not (self.loners or self._awake)

    def next(self) -> JobId:
        """Who has the next turn."""
        if self._awake and not (self.loners and self.loners[-1] < self._awake[0][:2]):
            *entry, walk = heappop(self._awake)
            walk.at += 1
            self._turn = (entry[0], entry[1]), walk
        else:
            self._turn = self.loners.pop(), None
        return self._turn[0][1][1]

    def went_by(self, *, changed: bool, alike: bool) -> None:
        """What came of the turn: whether something changed, else whether it was told what its crowd would be."""
        if self._turn is None:
            return
        entry, walk = self._turn
        if changed:
            self._skip(entry)
        if walk is not None and not walk.is_over():
            if changed or not alike:
                self.join(walk)
            else:
                walk.by = entry[1][1]
                self._asleep.append(walk)
        if self.is_over():
            self._skip(None)

    def _skip(self, before: _Entry | None) -> None:
        asleep, self._asleep = self._asleep, []
        for walk in asleep:
            self.told.append(walk.skip(before))
            if not walk.is_over():
                self.join(walk)
