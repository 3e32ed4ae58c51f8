"""Hop 1: which of the quotas that it may use a task claims (behaviour.md 5.1)."""

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter

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
from sky_core.session import Session, claim_of
from sky_core.statement import Statement
from sky_core.tally import EXAMPLES, Tally
from sky_core.usable import CLAIMS, may_use, no_room

Key = tuple[object, ...]


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
    """Free quotas of one shelf before tasks of one shape: their slots in the area, how many of these are used."""

    __slots__ = ("key", "parcel", "shelf", "slots", "used")

    def __init__(self, shelf: Shelf, parcel: Parcel, key: Key, slots: int) -> None:
        self.shelf = shelf
        self.parcel = parcel
        self.key = key
        self.slots = slots
        self.used = 0

    @property
    def full(self) -> bool:
        """Whether the area has no slot left for one more."""
        return self.used >= self.slots


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
        self._mine: dict[QuotaName, None] = {}
        self._kinds: dict[tuple[int, Shape], _Kind] = {}
        self._least = least_request(session.world, job)
        attempt = session.memory.attempts.get(job.id)
        self._refused = attempt.refused if attempt is not None else frozenset()
        self._kept = _kept_for(session, job)

    def claim(self, task: Task) -> bool:
        """Claim the best quota of the first tier that has one; False where there is none."""
        return self._claim_some((task,)) > 0

    def claim_all(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """Claim for each of these in turn; gives those for which there is none, as it comes to them."""
        at = 0
        while at < len(tasks):
            claimed = self._claim_some(tasks[at:])
            if not claimed:
                yield tasks[at]
            at += max(claimed, 1)

    def _claim_some(self, tasks: Sequence[Task]) -> int:
        """Claim for the first of these, and at once for those after it that would choose likewise: how many."""
        task = tasks[0]
        if self._terms.capped and self._over_capability(task.shape.request) is not None:
            return 0
        if self._session.points["tq.prePredicate"](task):
            return 0
        if task.required_quota is not None:
            return self._claim_one(task, self._required(task))
        if (name := self._reserved(task)) is not None:
            return self._claim_one(task, name)
        homes = self._homes(task)
        if (name := self._bound(task, homes)) is not None:
            return self._claim_one(task, name)
        return self._claim_free(tasks if not homes else tasks[:1])

    def _claim_one(self, task: Task, name: QuotaName | None) -> int:
        if name is None:
            return 0
        self._session.claim(self._trial, self._job, task, self._session.world.quotas[name])
        self._keep_in_mind((name,))
        return 1

    def _claim_free(self, tasks: Sequence[Task]) -> int:
        """The free tier: placeable first, then what was not refused before, then as in every tier."""
        found = sorted(self._free(tasks[0]), key=itemgetter(0))
        if not found:
            return 0
        key, name, kind = found[0]
        if kind is None:
            return self._claim_one(tasks[0], name)
        self.beyond_slots = self.beyond_slots or kind.full
        run = self._run(tasks)
        each = self._each(kind, run)
        most = -(-len(run) // each) if kind.full else min(-(-len(run) // each), kind.slots - kind.used)
        row = self._session.shelves.row(kind.shelf, most)
        if len(found) > 1 and key[:-1] == found[1][0][:-1]:
            row = [quota for quota in row if (quota.order,) < found[1][0][-1:]]
        names = [quota.name for quota in row]
        run = run[: each * len(names)]
        self._session.claim_run(self._trial, self._job, run, names, each)
        kind.used += len(names)
        self._keep_in_mind(names)
        return len(run)

    def _run(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """The first of these tasks and those right after it that are like it, if their queue may hold them all."""
        shape, count = tasks[0].shape, 0
        for task in tasks:
            if task.shape is not shape or task.required_quota is not None:
                break
            count += 1
        if count == 1 or not self._session.shelves.runs or self._kept or self._session.points.names("tq.prePredicate"):
            return tasks[:1]
        if self._terms.capped and self._over_capability(shape.request.times(count)) is not None:
            return tasks[:1]
        return tasks[:count]

    def _each(self, kind: _Kind, run: Sequence[Task]) -> int:
        """How many of these tasks the first of such quotas takes before the second is chosen."""
        if len(run) == 1:
            return 1
        return self._session.shelves.same("fill", kind.shelf, run[0].shape, lambda: self._fill(kind, run[0]))

    def _fill(self, kind: _Kind, task: Task) -> int:
        """By asking about one quota with more and more claims, until the next one is liked better."""
        claim, head = claim_of(self._job, task), self._session.shelves.head(kind.shelf)
        if head is None:
            return 1
        quota, each = head.with_claim(claim), 1
        while each < CLAIMS and self._usable(task, quota) and self._key(task, quota)[:-1] < kind.key[1:]:
            quota, each = quota.with_claim(claim), each + 1
        return each

    def why_not(self, tasks: Sequence[Task]) -> tuple[Finding, ...]:
        """What is said to the first of these tasks, none of which could claim a quota."""
        session, job, task = self._session, self._job, tasks[0]
        tally = Tally()
        if self._terms.capped and (beyond := self._over_capability(task.shape.request)) is not None:
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

    def _over_capability(self, more: Resources) -> Reason | None:
        return over_capability(self._session, self._session.world.queues[self._job.queue], more)

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
        if not self._kept:
            return None
        session = self._session
        mine = [q for q in self._kept if reservations.returner(session.world, task, q, session.now) is not None]
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

    def _homes(self, task: Task) -> list[Quota]:
        """The quotas with a node that the task could claim."""
        world = self._session.world
        return [quota for name in self._terms.homes if self._usable(task, quota := world.quotas[name])]

    def _bound(self, task: Task, homes: Sequence[Quota]) -> QuotaName | None:
        bounds, apart = self._terms.bounds, self._terms.apart
        keyed = [
            ((*bound, *self._key(task, quota)), quota.name)
            for quota in homes
            if (node := quota.node or quota.spec.static_node) is not None
            and (bound := bounds(task, node)) is not None
            and apart(task, node) is None
        ]
        return min(keyed)[1] if keyed else None

    def _free(self, task: Task) -> Iterator[tuple[Key, QuotaName, _Kind | None]]:
        """Free quotas that the task could claim, the job's own and the first of each shelf: the least key is best."""
        session = self._session
        for name in self._mine:
            quota = session.world.quotas[name]
            if self._usable(task, quota):
                yield (False, self._was_refused(quota), *self._key(task, quota)), name, None
        for shelf in session.shelves.free(self._job.queue):
            head = session.shelves.head(shelf)
            if head is None or not self._shelf_usable(task, shelf, head):
                continue
            kind = self._kind(task, shelf, head)
            if kind.full and self._terms.must_place:
                self.unplaced = kind.parcel
            else:
                yield (kind.full, *kind.key, head.order), head.name, kind

    def _keep_in_mind(self, names: Sequence[QuotaName]) -> None:
        """Of quotas that were claimed alike, but perhaps the last: those that have room for another task of the job."""
        if len(names) > 1 and not self._has_room(names[0]):
            names = names[-1:]
        self._mine.update(dict.fromkeys(filter(self._has_room, names)))

    def _has_room(self, name: QuotaName) -> bool:
        quota = self._session.world.quotas[name]
        room = quota.capacity - quota.claimed
        return quota.node is None and self._least.only(quota.spec.named).fits_in(room)

    def _kind(self, task: Task, shelf: Shelf, head: Quota) -> "_Kind":
        """What is the same for all such quotas when such tasks claim them: claims move no slots."""
        kind = self._kinds.get((shelf.number, task.shape))
        if kind is None:
            parcel = self._probe(task, head)
            key = self._session.shelves.same("key", shelf, task.shape, lambda: self._key(task, head)[:-1])
            slots = self._session.survey.total(parcel, self._terms.area)
            kind = _Kind(shelf, parcel, (self._was_refused(head), *key), slots)
            self._kinds[shelf.number, task.shape] = kind
        return kind

    def _shelf_usable(self, task: Task, shelf: Shelf, head: Quota) -> bool:
        return self._session.shelves.same("suits", shelf, task.shape, lambda: self._usable(task, head))

    def _probe(self, task: Task, quota: Quota) -> Parcel:
        """The parcel that a free quota would be if this task claimed it."""
        unnamed = task.shape.request.only(BY_NODE).without(quota.spec.named)
        row = replace(quota, claimed=task.shape.request) if unnamed or quota.shadow else quota
        return self._session.parcels.make(self._job, row, (task,))

    def _was_refused(self, quota: Quota) -> bool:
        return bool(self._refused) and QuotaShape(quota.spec.request, quota.spec.selector) in self._refused

    def _key(self, task: Task, quota: Quota) -> Key:
        """Within a tier: score, static before bound, claimed by this job already, least left over, natural name."""
        points = self._session.points
        score: int = points["tq.order"](task, quota) + points["tq.batchOrder"](task, quota)
        claimed = any(claim.job == self._job.id for claim in quota.claims)
        left = self._session.share(quota.capacity - quota.claimed - task.shape.request)
        return (-score, quota.spec.static_node is None, not claimed, left, quota.order)


def _kept_for(session: Session, job: Job) -> list[Quota]:
    """The quotas where a place may be kept for a task of the job, under its own name or that of a predecessor."""
    if not (quotas := session.kept):
        return []
    inherited = {session.world.tasks[id_].inherits for id_ in job.tasks}
    return [q for q in quotas if any(kept.job == job.id or kept.task in inherited for kept in q.reservations)]
