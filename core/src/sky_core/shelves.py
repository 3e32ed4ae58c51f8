"""Where quotas lie ready for hop 1: free ones stacked by shape, those with a node listed.

Free quotas of one shape answer alike, so a task asks each shelf once, not each of its quotas. A shelf's cursor moves
through the world's undo log, so a trial that is undone puts back what it took.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Protocol

from sky_core.model import Instant, QueueName, Quota, QuotaName, QuotaSpec, Shape
from sky_core.resources import Resources
from sky_core.world import World


class Shelf:
    """Quotas of one shape that were on no node and claimed by nobody when the session opened, in natural order."""

    __slots__ = ("names", "number", "shadow", "spec")

    def __init__(self, number: int, spec: QuotaSpec, shadow: Resources) -> None:
        """An empty shelf; its number names its cursor."""
        self.number = number
        self.spec = spec
        self.shadow = shadow
        self.names: list[QuotaName] = []


class Shelving(Protocol):
    """The questions of hop 1 about where quotas lie."""

    def homes(self, queue: QueueName, request: Resources) -> list[QuotaName]:
        """Quotas on a node, static-bound or reserved that the queue may use, in natural order.

        Those may be left out that have nothing left of any resource that they bound, where the request names one that
        every quota bounds.
        """

    def free(self, queue: QueueName) -> list[Shelf]:
        """The shelves that the queue may use."""

    def head(self, shelf: Shelf) -> Quota | None:
        """The first quota of the shelf that nobody holds; None when there is none left."""

    def left(self, shelf: Shelf) -> int:
        """How many quotas the shelf has left, at most."""

    def suits(self, shelf: Shelf, shape: Shape, ask: Callable[[], bool]) -> bool:
        """Whether a task of this shape may claim the shelf's head; `ask` says so."""

    def put_back(self, quota: QuotaName) -> None:
        """A claim on a free quota was given back: it is offered again."""


class Shelves:
    """All quotas of a session, by the queues that may use them."""

    def __init__(self, world: World, now: Instant) -> None:
        """Sort every quota onto its shelf, or among those that are asked one by one."""
        self._world = world
        self._cursor: dict[int, int] = {}
        self._suits: dict[tuple[int, Shape], bool] = {}
        self._free: dict[QueueName, list[Shelf]] = defaultdict(list)
        self._homes: dict[QueueName, list[QuotaName]] = defaultdict(list)
        self._roomy: dict[QueueName, list[QuotaName]] = defaultdict(list)
        self._where: dict[QuotaName, tuple[Shelf, int]] = {}
        shelves: dict[tuple[QuotaSpec, Resources], Shelf] = {}
        for quota in sorted((quota for quota in world.quotas.values() if not quota.pending), key=lambda q: q.order):
            spec = quota.spec
            queues = dict.fromkeys((spec.queue, *spec.shared_queues))
            if quota.node is not None or spec.static_node is not None or quota.keeps_place(now):
                full = not any(amount > 0 for amount in (quota.capacity - quota.claimed).units.values())
                for queue in queues:
                    self._homes[queue].append(quota.name)
                    if not full:
                        self._roomy[queue].append(quota.name)
                continue
            shelf = shelves.get((spec, quota.shadow))
            if shelf is None:
                shelf = shelves[spec, quota.shadow] = Shelf(len(shelves), spec, quota.shadow)
                for queue in queues:
                    self._free[queue].append(shelf)
            self._where[quota.name] = (shelf, len(shelf.names))
            shelf.names.append(quota.name)

    def homes(self, queue: QueueName, request: Resources) -> list[QuotaName]:
        """All, or only those that had room when the session opened."""
        return self._roomy[queue] if request.extended() else self._homes[queue]

    def free(self, queue: QueueName) -> list[Shelf]:
        """The shelves that the queue may use."""
        return self._free[queue]

    def head(self, shelf: Shelf) -> Quota | None:
        """The first quota of the shelf that nobody holds; None when there is none left."""
        world, names = self._world, shelf.names
        start = at = self._cursor.get(shelf.number, 0)
        while at < len(names) and ((quota := world.quotas[names[at]]).claims or quota.node is not None):
            at += 1
        if at != start:
            world.put(self._cursor, shelf.number, at)
        return world.quotas[names[at]] if at < len(names) else None

    def left(self, shelf: Shelf) -> int:
        """How many quotas from the cursor on the shelf has at most."""
        return len(shelf.names) - self._cursor.get(shelf.number, 0)

    def suits(self, shelf: Shelf, shape: Shape, ask: Callable[[], bool]) -> bool:
        """What holds for one free quota of a shelf holds for all, and for all tasks of one shape: asked once."""
        kind = (shelf.number, shape)
        if kind not in self._suits:
            self._suits[kind] = ask()
        return self._suits[kind]

    def put_back(self, quota: QuotaName) -> None:
        """A claim on a free quota was given back: it is offered again."""
        if quota in self._where:
            shelf, at = self._where[quota]
            if at < self._cursor.get(shelf.number, 0):
                self._world.put(self._cursor, shelf.number, at)
