"""Hop 1: which quotas a task may claim, and which of them it claims (behaviour.md 5.1)."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from sky_core import reservations
from sky_core.admission import over_capability
from sky_core.members import least_request
from sky_core.memory import QuotaShape
from sky_core.model import BY_NODE, Job, NodeName, Quota, QuotaName, Shape, Task
from sky_core.plugin import Area, Parcel
from sky_core.reasons import Code, Finding, Reason
from sky_core.register import Shelf
from sky_core.resources import NOTHING, Resources
from sky_core.session import Session
from sky_core.statement import Statement
from sky_core.tally import EXAMPLES, Tally

Key = tuple[object, ...]

CLAIMS: Final = 256
"""Entries that `status.tasks` of a Quota may hold (contracts.md)."""


def may_use(session: Session, job: Job, task: Task, quota: Quota) -> tuple[Reason, ...]:
    """Why the task may not claim the quota; empty where it may.

    Of the plugins' stages, a quota refused in one is not asked in the next.
    """
    own = tuple(_own(session, job, task, quota))
    select: tuple[Reason, ...] = session.points["tq.select"](task, quota)
    return (*own, *(select or session.points["tq.predicate"](task, quota)))


def no_room(session: Session, request: Resources, quota: Quota) -> Reason | None:
    """Whether the request is more than the quota has left, live reservations aside (behaviour.md 2).

    What the quota does not name of cpu, memory and ephemeral-storage is bounded by its node.
    """
    by_node = request.only(BY_NODE).without(quota.spec.named)
    idle = quota.capacity - quota.claimed
    bounded = request.without(by_node.units) if by_node else request
    if not bounded.fits_in(idle):
        return Reason(Code.INSUFFICIENT_QUOTA, needed=request, available=idle.only(quota.spec.named))
    book = session.world.books.get(quota.node) if by_node and quota.node is not None else None
    if book is not None and not by_node.fits_in(book.quota_idle):
        return Reason(Code.INSUFFICIENT_QUOTA_IDLE, needed=by_node, available=book.quota_idle.only(by_node.units))
    return None


def _own(session: Session, job: Job, task: Task, quota: Quota) -> Iterator[Reason]:
    """The core's own questions: whose it is, whether it is free for this job, and whether there is room."""
    if job.queue != quota.spec.queue and job.queue not in quota.spec.shared_queues:
        yield Reason(Code.QUOTA_FORBIDDEN, detail=f"belongs to queue {quota.spec.queue}")
    if quota.pending:
        yield Reason(Code.INSUFFICIENT_QUOTA, detail="is being written")
    if quota.node is None and any(claim.job != job.id for claim in quota.claims):
        yield Reason(Code.INSUFFICIENT_QUOTA, detail=f"claimed by {quota.claims[0].job}")
    if len(quota.claims) >= CLAIMS:
        yield Reason(Code.INSUFFICIENT_QUOTA, detail=f"holds {CLAIMS} claims, all that its status has room for")
    if quota.over_allocated:
        yield Reason(Code.INSUFFICIENT_QUOTA, detail="holds more claims than its request")
    if (short := no_room(session, task.shape.request, quota)) is not None:
        yield short


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """Within what a job's claims are made.

    `moves`: a quota kept for a task on a node that can not take it may be moved; hop 2 must then be tried ahead.
    `homes`: the quotas with a node that may be used, besides those that are required or reserved. `must_place`: free
    quotas for which the area has no slots left are left out; else they only come last. `capped`: claims count against
    the queue's capability. `bounds`: what a rank order says of a task's home on a node, least first; None: not there.
    `apart`: why a task's home is not to be on a node, though its quota would do: others of its gang are elsewhere.
    """

    area: Area = Area()
    homes: Sequence[QuotaName] = ()
    must_place: bool = False
    moves: bool = False
    capped: bool = True
    bounds: Callable[[Task, NodeName], Key | None] = lambda _task, _node: ()
    apart: Callable[[Task, NodeName], Reason | None] = lambda _task, _node: None


class _Kind:
    """Free quotas of one shape before tasks of one shape: their slots in the area, how many of these are used."""

    __slots__ = ("key", "parcel", "slots", "used")

    def __init__(self, parcel: Parcel, key: Key, slots: int) -> None:
        self.parcel = parcel
        self.key = key
        self.slots = slots
        self.used = 0


class Claimer:
    """Makes the claims of one job within a trial. What it asks of free quotas it asks once per shape.

    `unplaced`: a free quota that could be claimed, but for which the area has no slot left. `beyond_slots`: such a one
    was claimed all the same.
    """

    def __init__(self, session: Session, trial: Statement, job: Job, terms: Terms) -> None:
        """Nothing claimed yet."""
        self._session = session
        self._trial = trial
        self._job = job
        self._terms = terms
        self.unplaced: Parcel | None = None
        self.beyond_slots = False
        self._mine: list[QuotaName] = []
        self._kinds: dict[tuple[int, Shape], _Kind] = {}
        self._least = least_request(session.world, job)
        attempt = session.memory.attempts.get(job.id)
        self._refused = attempt.refused if attempt is not None else frozenset()

    def claim(self, task: Task) -> bool:
        """Claim the best quota of the first tier that has one; False where there is none."""
        if self._terms.capped and self._over_capability(task) is not None:
            return False
        if self._session.points["tq.prePredicate"](task):
            return False
        tiers = (self._reserved, self._bound, self._free) if task.required_quota is None else (self._required,)
        for tier in tiers:
            if (name := tier(task)) is not None:
                self._session.claim(self._trial, self._job, task, self._session.world.quotas[name])
                self._keep_in_mind(name)
                return True
        return False

    def why_not(self, tasks: Sequence[Task]) -> tuple[Finding, ...]:
        """What is said to the first of these tasks, none of which could claim a quota."""
        session, job, task = self._session, self._job, tasks[0]
        tally = Tally()
        if self._terms.capped and (beyond := self._over_capability(task)) is not None:
            tally.add(job.queue, (beyond,))
            return tally.findings()
        if refused := session.points["tq.prePredicate"](task):
            tally.add(task.name, refused)
            return tally.findings()
        if task.required_quota is not None:
            self._named(task, task.required_quota, tally)
            return tally.findings()
        names = session.shelves.homes(job.queue, task.shape.request)
        quotas = [session.world.quotas[name] for name in names]
        heads = (session.shelves.head(shelf) for shelf in session.shelves.free(job.queue))
        for quota in (*quotas, *(head for head in heads if head is not None)):
            if no_room(session, task.shape.request, quota) is None:
                tally.add(quota.name, may_use(session, job, task, quota) or self._apart(task, quota))
        needed = NOTHING
        for other in tasks:
            needed += other.shape.request
        examples = tuple(other.name for other in tasks[:EXAMPLES])
        tally.finding(Finding(Code.INSUFFICIENT_QUOTA, len(tasks), needed, NOTHING, examples))
        return tally.findings()

    def _apart(self, task: Task, quota: Quota) -> tuple[Reason, ...]:
        node = quota.node or quota.spec.static_node
        apart = self._terms.apart(task, node) if node is not None else None
        return (apart,) if apart is not None else ()

    def _over_capability(self, task: Task) -> Reason | None:
        return over_capability(self._session, self._session.world.queues[self._job.queue], task.shape.request)

    def _named(self, task: Task, name: QuotaName, tally: Tally) -> None:
        """Why the quota that the pod names can't be used; there is no fallback."""
        quota = self._session.world.quotas.get(name)
        if quota is None:
            tally.add(name, (Reason(Code.QUOTA_NOT_FOUND),))
            return
        reasons = may_use(self._session, self._job, task, quota)
        forbidden = any(reason.code is Code.QUOTA_FORBIDDEN for reason in reasons)
        tally.add(name, reasons if forbidden else (Reason(Code.QUOTA_UNAVAILABLE), *reasons))

    def _usable(self, task: Task, quota: Quota) -> bool:
        room = no_room(self._session, task.shape.request, quota) is None  # asked first: most are full
        return room and not may_use(self._session, self._job, task, quota)

    def _required(self, task: Task) -> QuotaName | None:
        quota = self._session.world.quotas.get(task.required_quota) if task.required_quota is not None else None
        return quota.name if quota is not None and self._usable(task, quota) else None

    def _reserved(self, task: Task) -> QuotaName | None:
        session = self._session
        mine = [q for q in session.kept if reservations.returner(session.world, task, q, session.now) is not None]
        usable = [quota for quota in mine if self._usable(task, quota)]
        if usable:
            return min((self._key(task, quota), quota.name) for quota in usable)[1]
        return next((quota.name for quota in mine if self._terms.moves and self._moved(task, quota)), None)

    def _moved(self, task: Task, quota: Quota) -> bool:
        """Take a kept quota off a node that can't take its task, if nobody else holds it; else the place is void."""
        if quota.node is None or quota.spec.static_node is not None:
            return False
        if not self._usable(task, replace(quota, node=None, claims=())):
            return False  # not for its node
        session = self._session
        kept = reservations.returner(session.world, task, quota, session.now)
        others = tuple(other for other in quota.reservations if other is not kept)
        if quota.claims or any(other.expires > session.now for other in others):
            self._trial.set_reservations(quota.name, others)
            return False
        self._trial.release_quota(quota.name)
        return True

    def _bound(self, task: Task) -> QuotaName | None:
        world, bounds, apart = self._session.world, self._terms.bounds, self._terms.apart
        fit = (world.quotas[name] for name in self._terms.homes if self._usable(task, world.quotas[name]))
        keyed = [
            ((*bound, *self._key(task, quota)), quota.name)
            for quota in fit
            if (node := quota.node or quota.spec.static_node) is not None
            and (bound := bounds(task, node)) is not None
            and apart(task, node) is None
        ]
        return min(keyed)[1] if keyed else None

    def _free(self, task: Task) -> QuotaName | None:
        """Placeable first, then what was not refused before, then as in every tier."""
        session = self._session
        found: list[tuple[Key, QuotaName, _Kind | None]] = []
        for name in self._mine:
            quota = session.world.quotas[name]
            if self._usable(task, quota):
                found.append(((False, self._was_refused(quota), *self._key(task, quota)), name, None))
        for shelf in session.shelves.free(self._job.queue):
            head = session.shelves.head(shelf)
            if head is None or not self._shelf_usable(task, shelf, head):
                continue
            kind = self._kind(task, shelf, head)
            full = kind.used >= kind.slots
            if full and self._terms.must_place:
                self.unplaced = kind.parcel
            else:
                found.append(((full, *kind.key, head.order), head.name, kind))
        if not found:
            return None
        _, name, chosen = min(found, key=lambda entry: entry[0])
        if chosen is not None:
            self.beyond_slots = self.beyond_slots or chosen.used >= chosen.slots
            chosen.used += 1
        return name

    def _keep_in_mind(self, name: QuotaName) -> None:
        """A free quota that was claimed and has room left for another task of the job."""
        quota = self._session.world.quotas[name]
        room = quota.capacity - quota.claimed
        if quota.node is None and self._least.only(quota.spec.named).fits_in(room) and name not in self._mine:
            self._mine.append(name)

    def _kind(self, task: Task, shelf: Shelf, head: Quota) -> "_Kind":
        """What is the same for all such quotas when such tasks claim them: claims move no slots."""
        kind = self._kinds.get((shelf.number, task.shape))
        if kind is None:
            parcel = self._probe(task, head)
            *key, _ = self._key(task, head)
            slots = self._session.survey.total(parcel, self._terms.area)
            kind = _Kind(parcel, (self._was_refused(head), *key), slots)
            self._kinds[shelf.number, task.shape] = kind
        return kind

    def _shelf_usable(self, task: Task, shelf: Shelf, head: Quota) -> bool:
        return self._session.shelves.suits(shelf, task.shape, lambda: self._usable(task, head))

    def _probe(self, task: Task, quota: Quota) -> Parcel:
        """The parcel that a free quota would be if this task claimed it."""
        unnamed = task.shape.request.only(BY_NODE).without(quota.spec.named)
        row = replace(quota, claimed=task.shape.request) if unnamed or quota.shadow else quota
        return Parcel(job=self._job, quota=row, tasks=(task,))

    def _was_refused(self, quota: Quota) -> bool:
        return bool(self._refused) and QuotaShape(quota.spec.request, quota.spec.selector) in self._refused

    def _key(self, task: Task, quota: Quota) -> Key:
        """Within a tier: score, static before bound, claimed by this job already, least left over, natural name."""
        points = self._session.points
        score: int = points["tq.order"](task, quota) + points["tq.batchOrder"](task, quota)
        claimed = any(claim.job == self._job.id for claim in quota.claims)
        left = self._session.share(quota.capacity - quota.claimed - task.shape.request)
        return (-score, quota.spec.static_node is None, not claimed, left, quota.order)
