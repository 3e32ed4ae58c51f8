"""Quotas by what a cycle looks for, kept over cycles and renewed for those of which there is news."""

from bisect import bisect_left
from collections import defaultdict

from sky_core import reservations
from sky_core.model import Instant, QueueName, Quota, QuotaName, QuotaSpec, TaskId
from sky_core.resources import Resources
from sky_core.statement import Statement
from sky_core.world import World

_Order = tuple[tuple[int, int, str], ...]


class Line:
    """Names of quotas in natural order."""

    __slots__ = ("_orders", "names")

    def __init__(self) -> None:
        """Empty."""
        self._orders: list[_Order] = []
        self.names: list[QuotaName] = []

    @property
    def first(self) -> _Order:
        """The order of the first, of a line that is not empty."""
        return self._orders[0]

    def place(self, order: _Order) -> int:
        """Where a quota stands, or would."""
        return bisect_left(self._orders, order)

    def add(self, quota: Quota) -> None:
        """Put one in its place."""
        at = len(self._orders) if not self._orders or self._orders[-1] < quota.order else self.place(quota.order)
        self._orders.insert(at, quota.order)
        self.names.insert(at, quota.name)

    def drop(self, order: _Order) -> None:
        """Take one out."""
        at = self.place(order)
        del self._orders[at], self.names[at]


class Shelf(Line):
    """The quotas of one shape that are on no node and kept for nobody. Its number names it."""

    __slots__ = ("number", "shadow", "spec")

    def __init__(self, number: int, spec: QuotaSpec, shadow: Resources) -> None:
        """An empty shelf."""
        super().__init__()
        self.number = number
        self.spec = spec
        self.shadow = shadow


class Register:
    """Where each quota lies: on a shelf, or, if it has a place, in lines by the queues that may use it.

    `roomy` leaves out those that have nothing left. `idle` have a node and no claims; `reserved` hold reservations;
    `unsettled` may hold claims of pods that have ended: what is not settled yet is looked at anew each time.
    """

    def __init__(self, world: World, now: Instant) -> None:
        """All quotas, as they are."""
        self._world = world
        self._entered: dict[QuotaName, tuple[_Order, list[Line]]] = {}
        self._shelves: dict[tuple[QuotaSpec, Resources], Shelf] = {}
        self._numbers = 0
        self._claims: dict[QuotaName, set[TaskId]] = {}
        self._claimed_by: dict[TaskId, set[QuotaName]] = defaultdict(set)
        self.free: dict[QueueName, dict[int, Shelf]] = defaultdict(dict)
        self.homes: dict[QueueName, Line] = defaultdict(Line)
        self.roomy: dict[QueueName, Line] = defaultdict(Line)
        self.idle: set[QuotaName] = set()
        self.reserved: set[QuotaName] = set()
        self.unsettled: set[QuotaName] = set(world.quotas)
        for quota in sorted(world.quotas.values(), key=lambda quota: quota.order):
            self._enter(quota, now)
        world.news.quotas.clear()
        world.news.tasks.clear()

    @classmethod
    def of(cls, world: World, now: Instant) -> "Register":
        """The world's own, up to date."""
        kept = world.kept.get(cls)
        if isinstance(kept, Register):
            kept._renew(now)
            return kept
        register = world.kept[cls] = cls(world, now)
        return register

    def settle(self, trial: Statement, now: Instant) -> None:
        """Begin a cycle: end the claims of pods that have ended."""
        self.unsettled = set(reservations.settle(trial, self._world, sorted(self.unsettled | self.reserved), now))

    def shelf(self, name: QuotaName) -> Shelf | None:
        """The shelf that a quota lies on."""
        _, lines = self._entered.get(name, ((), []))
        return next((line for line in lines if isinstance(line, Shelf)), None)

    def _renew(self, now: Instant) -> None:
        news = self._world.news
        self.unsettled |= news.quotas
        for task in news.tasks:
            self.unsettled |= self._claimed_by.get(task, set())
        news.quotas.clear()
        news.tasks.clear()
        for name in sorted(self.unsettled | self.reserved):
            self._leave(name)
            if (quota := self._world.quotas.get(name)) is not None:
                self._enter(quota, now)

    def _enter(self, quota: Quota, now: Instant) -> None:
        name, lines = quota.name, list[Line]()
        if quota.claims:
            self._claims[name] = {claim.task for claim in quota.claims}
            for task in self._claims[name]:
                self._claimed_by[task].add(name)
        if quota.reservations:
            self.reserved.add(name)
        if quota.node is not None and not (quota.claims or quota.spec.static_node):
            self.idle.add(name)
        if not quota.pending:
            lines = self._lines_of(quota, now)
        for line in lines:
            line.add(quota)
        self._entered[name] = (quota.order, lines)

    def _lines_of(self, quota: Quota, now: Instant) -> list[Line]:
        spec = quota.spec
        queues = dict.fromkeys((spec.queue, *spec.shared_queues))
        if quota.node is not None or spec.static_node is not None or quota.keeps_place(now):
            lines = [self.homes[queue] for queue in queues]
            if any(amount > 0 for amount in (quota.capacity - quota.claimed).units.values()):
                lines += [self.roomy[queue] for queue in queues]
            return lines
        shelf = self._shelves.get((spec, quota.shadow))
        if shelf is None:
            shelf = self._shelves[spec, quota.shadow] = Shelf(self._numbers, spec, quota.shadow)
            self._numbers += 1
            for queue in queues:
                self.free[queue][shelf.number] = shelf
        return [shelf]

    def _leave(self, name: QuotaName) -> None:
        order, lines = self._entered.pop(name, ((), []))
        for line in lines:
            line.drop(order)
            if isinstance(line, Shelf) and not line.names:
                del self._shelves[line.spec, line.shadow]
                for queue in dict.fromkeys((line.spec.queue, *line.spec.shared_queues)):
                    del self.free[queue][line.number]
        for task in self._claims.pop(name, ()):
            self._claimed_by[task].discard(name)
            if not self._claimed_by[task]:
                del self._claimed_by[task]
        self.idle.discard(name)
        self.reserved.discard(name)
