"""Hop 1: which of the quotas that it may use a task claims (behaviour.md 5.1)."""

from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from sky_core import reservations
from sky_core.admission import over_capability
from sky_core.free_quotas import FreeQuotas
from sky_core.model import Job, NodeName, Quota, QuotaName, Task
from sky_core.plugin import Area
from sky_core.reasons import Code, Finding, Reason
from sky_core.resources import NOTHING, Resources
from sky_core.session import Session
from sky_core.statement import Statement
from sky_core.tally import EXAMPLES, Tally
from sky_core.usable import Key, liking, may_use, no_room, usable


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


class Claimer:
    """Makes the claims of one job within a trial. `free`: what became of those on quotas that are on no node."""

    def __init__(self, session: Session, trial: Statement, job: Job, terms: Terms) -> None:
        """Nothing claimed yet."""
        self._session = session
        self._trial = trial
        self._job = job
        self._terms = terms
        self.free = FreeQuotas(session, job, terms.area, must_place=terms.must_place)
        self._kept = _kept_for(session, job)

    def claim(self, task: Task) -> bool:
        """Claim the best quota of the first tier that has one; False where there is none."""
        return self._claim_some((task,), 0) > 0

    def claim_all(self, tasks: Sequence[Task]) -> Iterator[Task]:
        """Claim for each of these in turn; gives those for which there is none, as it comes to them."""
        at = 0
        while at < len(tasks):
            claimed = self._claim_some(tasks, at)
            if not claimed:
                yield tasks[at]
            at += max(claimed, 1)

    def _claim_some(self, tasks: Sequence[Task], at: int) -> int:
        """Claim for one of these, and at once for those after it that would choose likewise: how many."""
        task, shelves = tasks[at], self._session.shelves
        if not self._may_claim(task):
            return 0
        if task.required_quota is not None:
            return self._claim_one(task, self._required(task))
        name = self._reserved(task)
        homes = self._homes(task) if name is None else []
        name = name or self._bound(task, homes)
        if name is not None:
            return self._claim_one(task, name)
        return self._claim_free(self._run(tasks, at) if shelves.runs and not homes and not self._kept else [task])

    def _may_claim(self, task: Task) -> bool:
        """Whether the task may claim anything."""
        if self._terms.capped and self._over_capability(task.shape.request) is not None:
            return False
        return not self._session.points["tq.prePredicate"](task)

    def _claim_free(self, run: Sequence[Task]) -> int:
        row = self.free.choose(run)
        if row is None or row.count == 1:
            return self._claim_one(run[0], row.quotas[0] if row is not None else None)
        self._session.claims.make_run(self._trial, self._job, run[: row.count], row.quotas, row.each)
        self.free.keep_in_mind(row.quotas)
        return row.count

    def _claim_one(self, task: Task, name: QuotaName | None) -> int:
        if name is None:
            return 0
        self._session.claims.make(self._trial, self._job, task, self._session.world.quotas[name])
        self.free.keep_in_mind((name,))
        return 1

    def _run(self, tasks: Sequence[Task], at: int) -> Sequence[Task]:
        """One of these tasks and those right after it that are like it, if their queue may hold them all."""
        shape, end = tasks[at].shape, at + 1
        while end < len(tasks) and tasks[end].shape is shape and tasks[end].required_quota is None:
            end += 1
        alone = end == at + 1 or bool(self._session.points.names("tq.prePredicate"))
        if not alone and self._terms.capped:
            alone = self._over_capability(shape.request.times(end - at)) is not None
        return tasks[at : at + 1 if alone else end]

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

    def _required(self, task: Task) -> QuotaName | None:
        quota = self._session.world.quotas.get(task.required_quota) if task.required_quota is not None else None
        return quota.name if quota is not None and usable(self._session, self._job, task, quota) else None

    def _reserved(self, task: Task) -> QuotaName | None:
        if not self._kept:
            return None
        session, job = self._session, self._job
        mine = [q for q in self._kept if reservations.returner(session.world, task, q, session.now) is not None]
        keyed = [(liking(session, job, task, q), q.name) for q in mine if usable(session, job, task, q)]
        if keyed:
            return min(keyed)[1]
        return next((quota.name for quota in mine if self._terms.moves and self._moved(task, quota)), None)

    def _moved(self, task: Task, quota: Quota) -> bool:
        """Take a kept quota off a node that can't take its task, if nobody else holds it; else the place is void."""
        if quota.node is None or quota.spec.static_node is not None:
            return False
        if not usable(self._session, self._job, task, replace(quota, node=None, claims=())):
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
        session, job, quotas = self._session, self._job, self._session.world.quotas
        return [quotas[name] for name in self._terms.homes if usable(session, job, task, quotas[name])]

    def _bound(self, task: Task, homes: Sequence[Quota]) -> QuotaName | None:
        bounds, apart = self._terms.bounds, self._terms.apart
        keyed = [
            ((*bound, *liking(self._session, self._job, task, quota)), quota.name)
            for quota in homes
            if (node := quota.node or quota.spec.static_node) is not None
            and (bound := bounds(task, node)) is not None
            and apart(task, node) is None
        ]
        return min(keyed)[1] if keyed else None


def _kept_for(session: Session, job: Job) -> list[Quota]:
    """The quotas where a place may be kept for a task of the job, under its own name or that of a predecessor."""
    if not (quotas := session.kept):
        return []
    inherited = {session.world.tasks[id_].inherits for id_ in job.tasks}
    return [q for q in quotas if any(kept.job == job.id or kept.task in inherited for kept in q.reservations)]
