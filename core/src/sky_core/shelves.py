"""Where quotas lie ready for hop 1: free ones stacked by shape, those with a node listed.

Free quotas of one shape answer alike, so a task asks each shelf once, not each of its quotas. A shelf's cursor moves
through the world's undo log, so a trial that is undone puts back what it took.
"""

from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Protocol

from sky_core.model import Instant, QueueName, Quota, QuotaName, Shape
from sky_core.register import Register, Shelf
from sky_core.resources import Resources
from sky_core.world import World


class Shelving(Protocol):
    """The questions of hop 1 about where quotas lie. `runs`: whether equal tasks may claim them in one go."""

    runs: bool

    def homes(self, queue: QueueName, request: Resources) -> list[QuotaName]:
        """Quotas on a node, static-bound or reserved that the queue may use, in natural order.

        Those may be left out that have nothing left of any resource that they bound, where the request names one that
        every quota bounds.
        """

    def free(self, queue: QueueName) -> list[Shelf]:
        """The shelves that the queue may use."""

    def head(self, shelf: Shelf) -> Quota | None:
        """The first quota of the shelf that nobody holds; None when there is none left."""

    def row(self, shelf: Shelf, count: int) -> list[Quota]:
        """The first so many that nobody holds, as far as there are; or fewer, but the first, if there is one."""

    def left(self, shelf: Shelf) -> int:
        """How many quotas the shelf has left, at most."""

    def suits(self, shelf: Shelf, shape: Shape, ask: Callable[[], bool]) -> bool:
        """Whether a task of this shape may claim the shelf's head; `ask` says so."""

    def put_back(self, quotas: Sequence[QuotaName]) -> None:
        """Claims were given back: the quotas are offered again."""


class Shelves:
    """All quotas of a session, by the queues that may use them."""

    runs = True

    def __init__(self, world: World, now: Instant) -> None:
        """As the register has them. What is taken off a shelf in this session lies before its cursor."""
        self._world = world
        self._register = Register.of(world, now)
        self._cursor: dict[int, int] = {}
        self._suits: dict[tuple[int, Shape], bool] = {}
        self._free: dict[QueueName, list[Shelf]] = {}
        self._freed: dict[QuotaName, Quota] = {}

    def homes(self, queue: QueueName, request: Resources) -> list[QuotaName]:
        """All, or only those that had room when the session opened, or were given something back."""
        if not request.extended():
            return self._register.homes[queue].names
        roomy = self._register.roomy[queue]
        if not self._freed:
            return roomy.names
        freed = [quota for quota in self._freed.values() if queue in (quota.spec.queue, *quota.spec.shared_queues)]
        quotas = {name: self._world.quotas[name] for name in (*roomy.names, *(quota.name for quota in freed))}
        return sorted(quotas, key=lambda name: quotas[name].order)

    def free(self, queue: QueueName) -> list[Shelf]:
        """The shelves that the queue may use, by the first quota of each."""
        if queue not in self._free:
            self._free[queue] = sorted(self._register.free[queue].values(), key=lambda shelf: shelf.first)
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

    def row(self, shelf: Shelf, count: int) -> list[Quota]:
        """From the first on, as long as nobody holds them."""
        quotas, at = self._world.quotas, self._cursor.get(shelf.number, 0)
        names = shelf.names[at : at + count]
        return list(takewhile(lambda quota: not quota.claims and quota.node is None, [quotas[name] for name in names]))

    def left(self, shelf: Shelf) -> int:
        """How many quotas from the cursor on the shelf has at most."""
        return len(shelf.names) - self._cursor.get(shelf.number, 0)

    def suits(self, shelf: Shelf, shape: Shape, ask: Callable[[], bool]) -> bool:
        """What holds for one free quota of a shelf holds for all, and for all tasks of one shape: asked once."""
        kind = (shelf.number, shape)
        if kind not in self._suits:
            self._suits[kind] = ask()
        return self._suits[kind]

    def put_back(self, quotas: Sequence[QuotaName]) -> None:
        """Claims were given back: the quotas are offered again."""
        first: dict[Shelf, Quota] = {}
        for name in quotas:
            shelf, row = self._register.shelf(name), self._world.quotas[name]
            if shelf is None:
                self._freed[name] = row
            elif shelf not in first or row.order < first[shelf].order:
                first[shelf] = row
        for shelf, row in first.items():
            at = shelf.place(row.order)
            if at < self._cursor.get(shelf.number, 0):
                self._world.put(self._cursor, shelf.number, at)
