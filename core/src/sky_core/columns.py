"""What nodes have left, as columns of numbers in index order, so that one request is asked of all of them at once.

Kept over cycles: renewed only where the world's log says that a node has changed.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sky_core.constraints import Effect
from sky_core.model import Budget, Node, NodeName
from sky_core.plugin import Area, Parcel
from sky_core.resources import MAX, UNBOUNDED, Resources
from sky_core.room import expected
from sky_core.topology import zone_of, zone_ranks
from sky_core.world import World

Numbers = NDArray[np.int64]
Positions = NDArray[np.intp]

EVERYWHERE: Final = slice(None)


class _Amounts:
    """A vector of resources per node: rows to read of one node, columns to ask all."""

    def __init__(self, rows: list[Mapping[str, int]]) -> None:
        self._rows = rows
        self._columns: dict[str, Numbers] = {}

    def set(self, at: Sequence[int], rows: Sequence[Mapping[str, int]]) -> None:
        """Replace some rows."""
        own = self._rows
        news = [(one, row) for one, row in zip(at, rows, strict=True) if own[one] != row]
        for one, row in news:
            own[one] = row
        positions = [one for one, _ in news]
        for name, column in self._columns.items() if news else ():
            column[positions] = _column([row.get(name, 0) for _, row in news])

    def slots_at(self, request: Resources, at: int) -> int:
        """How often the request fits one node's; see `Resources.slots_in`."""
        slots, row = UNBOUNDED, self._rows[at]
        for name, needed in request.units.items():
            if (times := row.get(name, 0) // needed) < slots:
                slots = times
        return max(slots, 0)

    def slots(self, request: Resources, at: Positions | slice) -> Numbers:
        """The same of many nodes."""
        count = len(self._rows) if isinstance(at, slice) else len(at)
        slots = np.full(count, UNBOUNDED, dtype=np.int64)
        for name, needed in request.units.items():
            if needed > MAX:
                return np.zeros(count, dtype=np.int64)
            np.minimum(slots, self._column(name)[at] // needed, out=slots)
        return np.maximum(slots, 0, out=slots)

    def _column(self, name: str) -> Numbers:
        if name not in self._columns:
            self._columns[name] = _column([row.get(name, 0) for row in self._rows])
        return self._columns[name]


class Columns:
    """The nodes in index order, and what each has left for promises and for pods (`Pairs.room`).

    `zone_at` is the number of each node's zone in `zones`; of a node without one, how many zones there are. `zone_rank`
    is the place of each zone by `ranks`, which are `topology.zone_ranks`.
    `moved` logs the positions of nodes whose row has changed, rather than their book. `shunned`: how many nodes have
    taints that are held against them in scores; `lent`: the positions of those with spot pods.
    """

    def __init__(self, world: World, frees: Callable[[NodeName], Resources]) -> None:
        """As the world stands. `frees`: what reclaim may free on a node."""
        self._world = world
        self._frees = frees
        self._budgets: dict[tuple[str, str], Budget] = dict(world.budgets)
        self._cursor = len(world.changed)
        self.nodes = sorted(world.nodes.values(), key=lambda node: node.order)
        self.names = tuple(node.name for node in self.nodes)
        self.at = {name: i for i, name in enumerate(self.names)}
        self.zones = tuple(world.zones)
        numbers = {zone: number for number, zone in enumerate(self.zones)}
        zoneless = len(self.zones)
        found = (numbers[zone] if (zone := zone_of(node)) is not None else zoneless for node in self.nodes)
        self.zone_at = np.fromiter(found, np.intp, len(self.nodes))
        self.ranks = zone_ranks(world)
        self.zone_rank = np.array([self.ranks[zone] for zone in self.zones], dtype=np.int64)
        self._zones_in: dict[Area, Positions] = {}
        self._areas: dict[Area, Positions | slice] = {Area(): EVERYWHERE}
        self.moved: list[int] = []
        self.shunned = sum(map(_shunned, self.nodes))
        self.lent = {i for i, name in enumerate(self.names) if _lends(world, name)}
        rows = [self._row(i) for i in range(len(self.names))]
        self._promises = _Amounts([row[0] for row in rows])
        self._room = _Amounts([row[1] for row in rows])
        self._roomier = _Amounts([row[2] for row in rows])
        self._pods = np.array([row[3] for row in rows], dtype=np.int64)

    def open(self, frees: Callable[[NodeName], Resources]) -> bool:
        """Begin a session; False where nodes have come, gone or moved to another place: then all is made anew."""
        world = self._world
        self._frees = frees
        changed = dict.fromkeys(world.changed[self._cursor :])
        if not all(self._stays(name) for name in changed):
            return False
        if self._budgets != world.budgets:
            self._budgets = dict(world.budgets)
            for i in sorted(self.lent):
                world.touch(self.names[i])
        return True

    def renew(self) -> None:
        """Take up what the log says."""
        changed = self._world.changed
        if self._cursor < len(changed):
            stale = self.stale(self._cursor)
            for at in stale:
                self._renew(at)
            promises, room, roomier, pods = zip(*map(self._row, stale), strict=True) if stale else ((), (), (), ())
            self._promises.set(stale, promises)
            self._room.set(stale, room)
            self._roomier.set(stale, roomier)
            self._pods[stale] = pods
            self._cursor = len(changed)

    def stale(self, cursor: int) -> list[int]:
        """The positions of the nodes that the log names from there on, some of which may not exist."""
        at = self.at
        return [at[name] for name in dict.fromkeys(self._world.changed[cursor:]) if name in at]

    def area(self, area: Area) -> Positions | slice:
        """Where the nodes of an area stand, in index order."""
        if area not in self._areas:
            world = self._world
            zone = world.zones.get(area.zone) if area.zone is not None else None
            names = zone.nodes if zone is not None else world.specs.get(area.spec or "", ()) if not area.zone else ()
            self._areas[area] = self.positions(names)
        return self._areas[area]

    def zones_in(self, area: Area) -> Positions:
        """The numbers of an area's zones."""
        if area not in self._zones_in:
            inside = [area.zone in (None, zone) and area.spec in (None, zone.spec) for zone in self.zones]
            self._zones_in[area] = np.flatnonzero(inside)
        return self._zones_in[area]

    def positions(self, names: Sequence[NodeName]) -> Positions:
        """Where these nodes stand."""
        at = self.at
        return np.array([at[name] for name in names], dtype=np.intp)

    def fill(self, at: int) -> Hashable | None:
        """What a node's refusals for want of room depend on; None where pods may be made to go."""
        if at in self.lent:
            return None
        name = self.names[at]
        return (self._world.books[name], self.nodes[at].pods_max, expected(self._world, name))

    def slots_at(self, parcel: Parcel, at: int) -> int:
        """How often the parcel fits a node that refuses it, if at all, for want of room."""
        room = self._roomier if parcel.evicts else self._room
        pods = int(self._pods[at]) // max(len(parcel.tasks), 1)
        slots = min(self._promises.slots_at(parcel.footprint, at), room.slots_at(parcel.load, at), pods)
        return max(slots, 0)

    def slots(self, parcel: Parcel, at: Positions | slice) -> Numbers:
        """The same of many nodes."""
        room = self._roomier if parcel.evicts else self._room
        slots = np.minimum(self._promises.slots(parcel.footprint, at), room.slots(parcel.load, at))
        np.minimum(slots, self._pods[at] // max(len(parcel.tasks), 1), out=slots)
        return np.maximum(slots, 0, out=slots)

    def _stays(self, name: NodeName) -> bool:
        at, node = self.at.get(name), self._world.nodes.get(name)
        if at is None or node is None:
            return at is None and node is None
        return _place(self.nodes[at]) == _place(node)

    def _renew(self, at: int) -> None:
        old, new = self.nodes[at], self._world.nodes[self.names[at]]
        if old is not new:
            self.nodes[at] = new
            self.shunned += _shunned(new) - _shunned(old)
            self.moved.append(at)
        if _lends(self._world, new.name):
            self.lent.add(at)
        else:
            self.lent.discard(at)

    def _row(self, at: int) -> tuple[Mapping[str, int], Mapping[str, int], Mapping[str, int], int]:
        world, name = self._world, self.names[at]
        book = world.books[name]
        bare = not (book.promised or book.outside)
        promises = book.allocatable if bare else book.quota_idle
        room, pods = book.allocatable, self.nodes[at].pods_max - book.pods
        if book.used:
            room = room - book.used + book.releasing
        if name in world.quotas_on:
            coming, others = expected(world, name)
            room, pods = room - coming, pods - others
        roomier = room + self._frees(name) if at in self.lent else room
        return promises.units, room.units, roomier.units, pods


def _column(amounts: list[int]) -> Numbers:
    try:
        return np.maximum(np.array(amounts, dtype=np.int64), -1)
    except OverflowError:
        return np.array(list(map(_bounded, amounts)), dtype=np.int64)


def _bounded(amount: int) -> int:
    """What is less than nothing holds nothing, whatever it is."""
    return max(min(amount, MAX), -1)


def _shunned(node: Node) -> bool:
    return any(taint.effect is Effect.PREFER_NO_SCHEDULE for taint in node.taints)


def _lends(world: World, name: NodeName) -> bool:
    book = world.books[name]
    return bool(book.exclusive or book.shared)


def _place(node: Node) -> tuple[Any, ...]:
    return (node.order, node.spec, node.zone, node.fabric)
