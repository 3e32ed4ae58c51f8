"""A trial: changes that are made first, and then kept or undone.

Every write goes through `World.put`, which remembers the row that it replaces, so undo is the same few lines whatever
was tried. Leaving the `with` block without `commit` leaves no trace. Statements nest: an inner commit keeps its
changes for the outer one to keep or undo.
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from sky_core import ledger
from sky_core.decisions import BindTask, Certificate, Decision, EvictTask, WriteQuota
from sky_core.model import Claim, Instant, NodeName, Quota, QuotaName, Reservation, Task, TaskId
from sky_core.resources import Resources
from sky_core.states import Move, TaskState
from sky_core.world import World


class Statement:
    """The moves that a trial may make, each on all the rows that it concerns."""

    def __init__(self, world: World, now: Instant, certificates: dict[TaskId, Certificate] | None = None) -> None:
        """A trial that begins with the world as it stands. `certificates`: the outer trial's, for a nested one."""
        self._world = world
        self._now = now
        self._begin = world.mark()
        self.certificates = {} if certificates is None else certificates
        self._kept = False

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo everything, unless committed."""
        if not self._kept:
            self._world.rollback(self._begin)

    def savepoint(self) -> int:
        """A point to roll back to."""
        return self._world.mark()

    def rollback(self, savepoint: int) -> None:
        """Undo what came after the savepoint."""
        self._world.rollback(savepoint)

    def commit(self) -> None:
        """Keep the changes."""
        self._kept = True

    def claim(self, task: Task, quota: QuotaName, claim: Claim) -> None:
        """Tie a task to a quota (hop 1). On a bound quota, what it does not name is promised on its node."""
        self._set_quota(quota, self._world.quotas[quota].with_claims((claim,)))
        self._set_task(task.moved(Move.CLAIM, quota=quota))

    def claim_run(self, tasks: Sequence[Task], claims: Sequence[Claim], quotas: Sequence[QuotaName], each: int) -> None:
        """Tie `each` of the tasks to one of these quotas, which are on no node; the last may get fewer."""
        world = self._world
        rows, moved = {}, {}
        for at, name in enumerate(quotas):
            rows[name] = world.quotas[name].with_claims(claims[at * each : (at + 1) * each])
            for task in tasks[at * each : (at + 1) * each]:
                moved[task.id] = task.moved(Move.CLAIM, quota=name)
        world.put_all(world.quotas, rows)
        world.put_all(world.tasks, moved)

    def give_back(self, task: Task) -> None:
        """End a task's claim; a reservation that it took up returns with its old expiry."""
        if task.quota is None:
            task.moved(Move.GIVE_BACK)
            return
        quota = self._world.quotas[task.quota]
        claim = next(claim for claim in quota.claims if claim.task == task.id)
        quota = quota.without_claims((task.id,))
        if claim.reserved_until is not None and quota.node is not None:
            quota = quota.with_reservations((*quota.reservations, reserve(claim, quota.node, claim.reserved_until)))
        if task.state is TaskState.PIPELINED and quota.node is not None:
            self._wait(quota.node, task, back=True)
        self._set_quota(quota.name, quota)
        self._set_task(task.moved(Move.GIVE_BACK))

    def give_back_run(self, tasks: Sequence[Task]) -> None:
        """End claims on quotas that are on no node."""
        world, gone = self._world, {task.id for task in tasks}
        claimed = [world.quotas[name] for name in dict.fromkeys([task.quota for task in tasks]) if name is not None]
        world.put_all(world.quotas, {quota.name: quota.without_claims(gone) for quota in claimed})
        world.put_all(world.tasks, {task.id: task.moved(Move.GIVE_BACK) for task in tasks})

    def bind_quota(self, quota: QuotaName, node: NodeName) -> None:
        """Promise a node's room to a quota (hop 2)."""
        world, row = self._world, self._world.quotas[quota]
        world.put(world.quotas, quota, row.on(node))
        world.put(world.quotas_on, node, (*world.quotas_on.get(node, ()), quota))
        self._promise(node, row.footprint)

    def bind_quotas(self, seats: Mapping[NodeName, Sequence[QuotaName]], each: Resources) -> None:
        """Promise nodes' room to quotas of one footprint."""
        world = self._world
        quotas, lists, books = world.quotas, world.quotas_on, world.books
        world.put_all(quotas, {name: quotas[name].on(node) for node, names in seats.items() for name in names})
        world.put_all(lists, {node: (*lists.get(node, ()), *names) for node, names in seats.items()})
        more = {count: each.times(count) for count in set(map(len, seats.values()))}
        known = [node for node in seats if node in books]
        world.put_all(books, {node: ledger.promise(books[node], more[len(seats[node])]) for node in known})
        world.changed += known

    def release_quota(self, quota: QuotaName) -> None:
        """Take a quota off its node."""
        world, row = self._world, self._world.quotas[quota]
        if row.node is not None:
            world.put(world.quotas_on, row.node, tuple(q for q in world.quotas_on[row.node] if q != quota))
            self._promise(row.node, row.footprint.times(-1))
        world.put(world.quotas, quota, row.on(None))

    def set_reservations(self, quota: QuotaName, reservations: tuple[Reservation, ...]) -> None:
        """Replace a quota's reservations."""
        self._set_quota(quota, self._world.quotas[quota].with_reservations(reservations))

    def settle(self, quota: Quota) -> None:
        """Replace who holds a quota by who holds it in this row; a task whose claim has ended loses it."""
        before = {claim.task for claim in self._world.quotas[quota.name].claims}
        self._set_quota(quota.name, quota)
        for id_ in sorted(before - {claim.task for claim in quota.claims}):
            task = self._world.tasks.get(id_)
            if task is not None and task.quota == quota.name:
                self._set_task(replace(task, quota=None))

    def pipeline(self, task: Task, node: NodeName) -> None:
        """Let a task with a claim wait for room that is being made on its quota's node."""
        self._set_task(task.moved(Move.PIPELINE, quota=task.quota))
        self._wait(node, task)

    def allocate(self, task: Task, node: NodeName) -> None:
        """Give a task its node (hop 3, and spot)."""
        world = self._world
        if task.state is TaskState.PIPELINED:
            self._wait(node, task, back=True)
        row = task.moved(Move.ALLOCATE, quota=task.quota, node=node)
        self._set_task(row)
        book = ledger.charge(world.books[node], row, outside=ledger.is_outside(world, row, node))
        world.put(world.books, node, book)
        world.put(world.tasks_on, node, (*world.tasks_on.get(node, ()), task.id))
        world.touch(node)

    def bind_run(self, tasks: Sequence[Task], node: NodeName) -> None:
        """Allocate tasks of one shape that claim quotas bound to the node, and decide their Bindings."""
        world = self._world
        for task in tasks:
            if task.state is TaskState.PIPELINED:
                self._wait(node, task, back=True)
        moves = (Move.ALLOCATE, Move.BIND)
        world.put_all(world.tasks, {task.id: task.moved(*moves, quota=task.quota, node=node) for task in tasks})
        book = ledger.charge(world.books[node], tasks[0], outside=False, count=len(tasks))
        world.put(world.books, node, book)
        world.put(world.tasks_on, node, (*world.tasks_on.get(node, ()), *[task.id for task in tasks]))
        world.touch(node)

    def bind(self, task: Task) -> None:
        """Decide the Binding of an allocated task."""
        self._set_task(task.moved(Move.BIND, quota=task.quota, node=task.node))

    def evict(self, task: Task, certificate: Certificate) -> None:
        """Decide to evict a task; it holds what it holds until it is gone."""
        world, node = self._world, certificate.node
        row = task.moved(Move.EVICT, quota=task.quota, node=task.node, evicted=True)
        outside = ledger.is_outside(world, task, node)
        book = ledger.charge(world.books[node], task, outside=outside, count=-1)
        world.put(world.books, node, ledger.charge(book, row, outside=outside))
        world.touch(node)
        self._set_task(row)
        world.put(self.certificates, task.id, certificate)

    def decisions(self) -> tuple[Decision, ...]:
        """What differs from the world as this statement found it: quota writes, evictions, binds, each in order.

        Net: what was done and undone is no decision.
        """
        world = self._world
        quotas, before = world.before(world.quotas, self._begin), world.before(world.tasks, self._begin)
        writes = [_write(old, new) for name, old in quotas.items() if _differs(old, new := world.quotas[name])]
        moved = [world.tasks[id_] for id_, old in before.items() if world.tasks[id_].state is not old.state]
        evictions = [
            EvictTask(task=t.id, node=self.certificates[t.id].node, certificate=self.certificates[t.id])
            for t in moved
            if t.state is TaskState.RELEASING
        ]
        binds = [
            BindTask(task=t.id, job=t.job, node=t.node, quota=t.quota)
            for t in moved
            if t.state is TaskState.BINDING and t.job is not None and t.node is not None
        ]
        return (*writes, *evictions, *binds)

    def _set_task(self, task: Task) -> None:
        self._world.put(self._world.tasks, task.id, task)

    def _set_quota(self, name: QuotaName, row: Quota) -> None:
        """Replace a quota's row, and what its node promises to it."""
        world, old = self._world, self._world.quotas[name]
        world.put(world.quotas, name, row)
        if old.node is not None and old.node in world.books:
            more = row.footprint - old.footprint
            if more:
                world.put(world.books, old.node, ledger.promise(world.books[old.node], more))
            world.touch(old.node)

    def _promise(self, node: NodeName, more: Resources) -> None:
        world = self._world
        if node in world.books:
            world.put(world.books, node, ledger.promise(world.books[node], more))
            world.touch(node)

    def _wait(self, node: NodeName, task: Task, *, back: bool = False) -> None:
        world = self._world
        load = task.shape.load.times(-1) if back else task.shape.load
        world.put(world.books, node, ledger.wait(world.books[node], load))
        world.touch(node)


def reserve(claim: Claim, node: NodeName, expires: Instant) -> Reservation:
    """The reservation that a claim turns into."""
    return Reservation(
        namespace=claim.namespace,
        job=claim.job,
        task=claim.name,
        place=claim.place,
        resources=claim.resources,
        node=node,
        expires=expires,
    )


def _differs(old: Quota, new: Quota) -> bool:
    return (old.node, old.claims, old.reservations) != (new.node, new.claims, new.reservations)


def _write(old: Quota, new: Quota) -> WriteQuota:
    mine = set(old.claims) ^ set(new.claims) if old.claims and new.claims else old.claims or new.claims
    return WriteQuota.of(new, tuple(sorted({claim.job for claim in mine})))
