"""The last tier of hop 1: quotas on no node, from which equal tasks take a row at once (behaviour.md 5.1)."""

from collections.abc import Iterator, Sequence
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from sky_core.claims import claim_of
from sky_core.members import least_request
from sky_core.memory import QuotaShape
from sky_core.model import BY_NODE, Job, Quota, QuotaName, Shape, Task
from sky_core.plugin import Area, Parcel
from sky_core.register import Shelf
from sky_core.session import Session
from sky_core.usable import CLAIMS, Key, liking, usable


class Row(msgspec.Struct, frozen=True, gc=False):
    """What the first of some tasks and `count - 1` after it claim: `each` of them one of these quotas in turn."""

    quotas: tuple[QuotaName, ...]
    count: int
    each: int = 1


class FreeQuotas:
    """Those that the tasks of one job may claim. What is the same for all of a shelf is asked once.

    `unplaced`: one that could be claimed, but for which the area has no slot left. `beyond_slots`: such a one was
    chosen all the same. `must_place`: it never is.
    """

    def __init__(self, session: Session, job: Job, area: Area, *, must_place: bool) -> None:
        """None is chosen yet."""
        self._session = session
        self._job = job
        self._area = area
        self._must_place = must_place
        self.unplaced: Parcel | None = None
        self.beyond_slots = False
        self._mine: dict[QuotaName, None] = {}
        self._kinds: dict[tuple[int, Shape], _Kind] = {}
        self._least = least_request(session.world, job)
        attempt = session.memory.attempts.get(job.id)
        self._refused = attempt.refused if attempt is not None else frozenset()

    def choose(self, tasks: Sequence[Task]) -> Row | None:
        """What the first of these equal tasks claims and those after it would, too; None where there is nothing.

        Placeable first, then what was not refused before, then as in every tier.
        """
        found = sorted(self._candidates(tasks[0]), key=itemgetter(0))
        if not found:
            return None
        best, name, kind = found[0]
        if kind is None:
            return Row((name,), 1)
        self.beyond_slots = self.beyond_slots or kind.full
        each = self._fill(kind, tasks[0]) if len(tasks) > 1 else 1
        most = -(-len(tasks) // each)
        row = self._session.shelves.row(kind.shelf, most if kind.full else min(most, kind.slots - kind.used))
        if len(found) > 1 and (runner_up := found[1][0])[:-1] == best[:-1]:
            row = [quota for quota in row if (quota.order,) < runner_up[-1:]]
        kind.used += len(row)
        return Row(tuple([quota.name for quota in row]), min(each * len(row), len(tasks)), each)

    def keep_in_mind(self, names: Sequence[QuotaName]) -> None:
        """Of quotas that were claimed alike, but perhaps the last: those that have room for another task of the job."""
        if len(names) > 1 and not self._has_room(names[0]):
            names = names[-1:]
        self._mine.update(dict.fromkeys(filter(self._has_room, names)))

    def _has_room(self, name: QuotaName) -> bool:
        quota = self._session.world.quotas[name]
        room = quota.capacity - quota.claimed
        return quota.node is None and self._least.only(quota.spec.named).fits_in(room)

    def _candidates(self, task: Task) -> Iterator[tuple[Key, QuotaName, "_Kind | None"]]:
        """The job's own and the first of each shelf: the least key is best."""
        session, job = self._session, self._job
        for name in self._mine:
            quota = session.world.quotas[name]
            if usable(session, job, task, quota):
                yield (False, self._was_refused(quota), *liking(session, job, task, quota)), name, None
        for shelf in session.shelves.free(job.queue):
            head = session.shelves.head(shelf)
            if head is None or not self._suits(shelf, task, head):
                continue
            kind = self._kind(task, shelf, head)
            if kind.full and self._must_place:
                self.unplaced = kind.parcel
            else:
                yield (kind.full, *kind.key, head.order), head.name, kind

    def _suits(self, shelf: Shelf, task: Task, head: Quota) -> bool:
        session = self._session
        return session.shelves.suits(shelf, task.shape, lambda: usable(session, self._job, task, head))

    def _kind(self, task: Task, shelf: Shelf, head: Quota) -> "_Kind":
        """What is the same for all such quotas when such tasks claim them: claims move no slots."""
        kind = self._kinds.get((shelf.number, task.shape))
        if kind is None:
            parcel = probe(self._session, self._job, task, head)
            *key, _ = liking(self._session, self._job, task, head)
            slots = self._session.survey.total(parcel, self._area)
            kind = _Kind(shelf, head, parcel, (self._was_refused(head), *key), slots)
            self._kinds[shelf.number, task.shape] = kind
        return kind

    def _fill(self, kind: "_Kind", task: Task) -> int:
        """How many tasks one such quota takes before another is liked better: asked with more and more claims on it."""
        if not kind.each:
            session, job, claim = self._session, self._job, claim_of(self._job, task)
            quota, kind.each = kind.first.with_claim(claim), 1
            while kind.each < CLAIMS and usable(session, job, task, quota):
                if liking(session, job, task, quota)[:-1] >= kind.key[1:]:
                    break
                quota, kind.each = quota.with_claim(claim), kind.each + 1
        return kind.each

    def _was_refused(self, quota: Quota) -> bool:
        return bool(self._refused) and QuotaShape(quota.spec.request, quota.spec.selector) in self._refused


def probe(session: Session, job: Job, task: Task, quota: Quota) -> Parcel:
    """The parcel that a free quota would be if this task claimed it."""
    unnamed = task.shape.request.only(BY_NODE).without(quota.spec.named)
    row = replace(quota, claimed=task.shape.request) if unnamed or quota.shadow else quota
    return session.parcels.make(job, row, (task,))


class _Kind:
    """Free quotas of one shelf before tasks of one shape: their slots in the area, how many of these are used."""

    __slots__ = ("each", "first", "key", "parcel", "shelf", "slots", "used")

    def __init__(self, shelf: Shelf, first: Quota, parcel: Parcel, key: Key, slots: int) -> None:
        self.shelf = shelf
        self.first = first
        self.parcel = parcel
        self.key = key
        self.slots = slots
        self.used = 0
        self.each = 0

    @property
    def full(self) -> bool:
        """Whether the area has no slot left for one more."""
        return self.used >= self.slots
