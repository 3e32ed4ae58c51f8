"""What nodes answer to parcels: who takes how many, who refuses and why, who is best.

Asked once per class, not once per parcel: parcels of one `Kind` get the same answer from one node until that node
changes. A parcel that looks around (affinity, spread) is asked anew each time, because its answer about one node
depends on the others.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Final, Protocol

from sky_core.constraints import Effect
from sky_core.guards import Guards
from sky_core.model import Node, NodeName, Pool, ZoneId
from sky_core.plugin import Area, Field, Parcel, Sieve
from sky_core.policy import Points
from sky_core.reasons import Reason
from sky_core.resources import UNBOUNDED, Resources
from sky_core.rivals import Rivals
from sky_core.room import expected
from sky_core.world import World

ANYWHERE: Final = Area()


class Survey(Protocol):
    """The questions of hop 2."""

    def slots(self, parcel: Parcel, node: NodeName) -> int:
        """How many parcels like this one the node takes now; 0 where it refuses."""

    def refusals(self, parcel: Parcel, node: NodeName) -> tuple[Reason, ...]:
        """Why the node refuses the parcel; empty where it takes it."""

    def depends(self, parcel: Parcel) -> bool:
        """Whether what a node says of the parcel depends on what others hold: then slots are 0 or 1, and say little."""

    def total(self, parcel: Parcel, area: Area) -> int:
        """The slots of all nodes of the area."""

    def placed(self, parcel: Parcel, node: NodeName) -> None:
        """The parcel, which the node took, was just placed there: nothing else has changed since it was asked."""

    def best(self, parcel: Parcel, area: Area) -> NodeName | None:
        """The node of the area that the policy likes best for the parcel; None where all refuse."""

    def nodes(self, area: Area) -> tuple[NodeName, ...]:
        """The nodes of an area in index order."""


class Pairs:
    """Every question asked of every pair, each time: what the classes must agree with."""

    def __init__(self, world: World, points: Points, frees: Callable[[NodeName], Resources]) -> None:
        """For one session. `frees`: what reclaim may free on a node."""
        self._world = world
        self._points = points
        self._frees = frees
        self._all: tuple[NodeName, ...] | None = None

    @cached_property
    def _guards(self) -> Guards:
        return Guards(self._world)

    def nodes(self, area: Area) -> tuple[NodeName, ...]:
        """The nodes of an area in index order."""
        world = self._world
        if area.zone is not None:
            zone = world.zones.get(area.zone)
            return zone.nodes if zone is not None else ()
        if area.spec is not None:
            return world.specs.get(area.spec, ())
        if self._all is None:
            self._all = tuple(sorted(world.nodes, key=lambda name: world.nodes[name].order))
        return self._all

    def refusals(self, parcel: Parcel, node: NodeName) -> tuple[Reason, ...]:
        """Select, then Predicate; a node refused in one stage is not asked in the next."""
        row = self._world.nodes[node]
        bundle, asked = ("tn", parcel.tasks[0]) if parcel.direct else ("qn", parcel)
        refused: tuple[Reason, ...] = self._points[f"{bundle}.select"](asked, row)
        return refused or self._points[f"{bundle}.predicate"](asked, row)

    def slots(self, parcel: Parcel, node: NodeName) -> int:
        """By arithmetic where the node takes one."""
        if self.refusals(parcel, node):
            return 0
        single = any(task.shape.ports for task in parcel.tasks) or self.depends(parcel)
        return 1 if single else max(self.room(parcel, node), 1)

    def room(self, parcel: Parcel, node: NodeName) -> int:
        """How often the parcel fits a node that refuses it, if at all, for want of room: 0 where it doesn't."""
        world, book = self._world, self._world.books[node]
        if not parcel.direct and not parcel.footprint.fits_in(book.quota_idle):
            return 0
        coming, others = expected(world, node)
        idle = book.idle - coming
        pods = (world.nodes[node].pods_max - book.pods - others) // max(len(parcel.tasks), 1)
        if parcel.direct:
            return max(min(parcel.load.slots_in(idle), pods, self._spot_room(parcel, node)), 0)
        room = idle + book.releasing
        if parcel.evicts:
            room += self._frees(node)
        return max(min(parcel.footprint.slots_in(book.quota_idle), parcel.load.slots_in(room), pods), 0)

    def _spot_room(self, parcel: Parcel, node: NodeName) -> int:
        """How often the task's spot units fit what is left of its pool."""
        row, book, shape = self._world.nodes[node], self._world.books[node], parcel.tasks[0].shape
        left = row.shared - book.shared if shape.spot is Pool.SHARED else row.exclusive - book.exclusive
        return left // shape.spot_units if shape.spot_units else UNBOUNDED

    def depends(self, parcel: Parcel) -> bool:
        """Whether an answer about one node depends on what others hold."""
        return parcel.looks_around or self._guards.may_refuse(parcel)

    def total(self, parcel: Parcel, area: Area) -> int:
        """Node by node."""
        return sum(self.slots(parcel, name) for name in self.nodes(area))

    def placed(self, parcel: Parcel, node: NodeName) -> None:
        """Nothing is remembered."""

    def best(self, parcel: Parcel, area: Area) -> NodeName | None:
        """Five stages over all nodes of the area."""
        rows = [self._world.nodes[name] for name in self.nodes(area) if not self.refusals(parcel, name)]
        return self.choose(parcel, rows)

    def choose(self, parcel: Parcel, rows: Sequence[Node]) -> NodeName | None:
        """BestN's answer, else the highest score, then node index, then name."""
        if not rows:
            return None
        bundle, asked = ("tn", parcel.tasks[0]) if parcel.direct else ("qn", parcel)
        answer: NodeName | None = self._points[f"{bundle}.best"](asked, rows)
        if answer is not None:
            return answer
        field = Field(rows)
        return max(rows, key=lambda row: self.score(parcel, row, field)).name  # rows are in index order: first wins

    def score(self, parcel: Parcel, node: Node, field: Field) -> int:
        """NOrder and BatchNOrder together."""
        bundle, asked = ("tn", parcel.tasks[0]) if parcel.direct else ("qn", parcel)
        order: int = self._points[f"{bundle}.order"](asked, node, field)
        batch: int = self._points[f"{bundle}.batchOrder"](asked, node, field)
        return order + batch


_Entry = tuple[int, int, NodeName]
"""Negated score, position in index order, node: the least is the best."""


class _View:
    """What is known of one class.

    Slots by node; refusals by node, as far as somebody asked for them; for each area that was asked about its total,
    and a heap of entries, of which those in `entries` count, or its rivals.
    """

    __slots__ = ("cursor", "entries", "heaps", "refusals", "rivals", "sieves", "slots", "totals")

    def __init__(self, cursor: int, sieves: Sequence[Sieve] | None) -> None:
        self.slots: dict[NodeName, int] = {}
        self.refusals: dict[NodeName, tuple[Reason, ...]] = {}
        self.entries: dict[NodeName, _Entry] = {}
        self.totals: dict[Area, int] = {}
        self.heaps: dict[Area, list[_Entry]] = {}
        self.rivals: dict[Area, Rivals] = {}
        self.sieves = sieves
        self.cursor = cursor


class Classes:
    """Answers kept per class of parcels, and renewed only for nodes that have changed."""

    def __init__(self, world: World, points: Points, frees: Callable[[NodeName], Resources]) -> None:
        """For one session. `frees`: what reclaim may free on a node."""
        self._pairs = Pairs(world, points, frees)
        self._points = points
        self._world = world
        self._views: dict[object, _View] = {}

    @cached_property
    def _rank(self) -> dict[NodeName, int]:
        """Where each node stands in index order."""
        return {name: i for i, name in enumerate(self._pairs.nodes(ANYWHERE))}

    @cached_property
    def _plain(self) -> bool:
        """Whether no preference of a node, no score and no pick of a plugin needs all candidates side by side."""
        nodes = self._world.nodes.values()
        shunned = any(taint.effect is Effect.PREFER_NO_SCHEDULE for node in nodes for taint in node.taints)
        return not (shunned or self._points.order_spans) and set(self._points.names("qn.best")) <= {"topology"}

    @cached_property
    def _lent(self) -> bool:
        """Whether spot pods are anywhere: then scores of quotas are relative to whose eviction would cost most."""
        return any(book.exclusive or book.shared for book in self._world.books.values())

    def nodes(self, area: Area) -> tuple[NodeName, ...]:
        """The nodes of an area in index order."""
        return self._pairs.nodes(area)

    def depends(self, parcel: Parcel) -> bool:
        """As for each pair."""
        return self._pairs.depends(parcel)

    def slots(self, parcel: Parcel, node: NodeName) -> int:
        """From the class's answer; asked anew for a parcel that looks around."""
        view = self._view(parcel)
        return self._slots(view, parcel, node) if view is not None else self._pairs.slots(parcel, node)

    def refusals(self, parcel: Parcel, node: NodeName) -> tuple[Reason, ...]:
        """From the class's answer; asked anew for a parcel that looks around."""
        view = self._view(parcel)
        if view is None:
            return self._pairs.refusals(parcel, node)
        if self._slots(view, parcel, node):
            return ()
        if node not in view.refusals:
            view.refusals[node] = self._pairs.refusals(parcel, node)
        return view.refusals[node]

    def total(self, parcel: Parcel, area: Area) -> int:
        """Summed once per area, then kept in step with the nodes that change."""
        view = self._view(parcel)
        if view is None:
            return self._pairs.total(parcel, area)
        if area not in view.totals:
            view.totals[area] = sum(self._slots(view, parcel, name) for name in self.nodes(area))
        return view.totals[area]

    def placed(self, parcel: Parcel, node: NodeName) -> None:
        """One slot less, by what slots mean: the node need not be asked again."""
        view = parcel.view if isinstance(parcel.view, _View) else None
        changed = self._world.changed
        if view is not None and view.slots.get(node) and all(name == node for name in changed[view.cursor :]):
            view.cursor = len(changed)
            self._set(view, parcel, node, view.slots[node] - 1)

    def best(self, parcel: Parcel, area: Area) -> NodeName | None:
        """From a heap by score where scores stand alone or by one measure, else from all candidates."""
        view = self._view(parcel)
        if view is None:
            return self._pairs.best(parcel, area)
        if not (self._plain and _indifferent(parcel)):
            return self._pairs.choose(parcel, self._candidates(view, parcel, area))
        if self._lent and not parcel.direct:
            return self._rivals(view, parcel, area).best()
        heap = view.heaps.get(area)
        if heap is None:
            heap = [self._entry(view, parcel, n) for n in self.nodes(area) if self._slots(view, parcel, n)]
            heapify(heap)
            view.heaps[area] = heap
        while heap:
            if view.entries.get(heap[0][2]) == heap[0]:
                return heap[0][2]
            heappop(heap)
        return None

    def _candidates(self, view: _View, parcel: Parcel, area: Area) -> list[Node]:
        nodes = self._world.nodes
        return [nodes[name] for name in self.nodes(area) if self._slots(view, parcel, name)]

    def _rivals(self, view: _View, parcel: Parcel, area: Area) -> Rivals:
        rivals = view.rivals.get(area)
        if rivals is None:

            def score(node: Node, field: Field) -> int:
                return self._pairs.score(parcel, node, field)

            candidates = self._candidates(view, parcel, area)
            rivals = view.rivals[area] = Rivals(candidates, score, lambda node: self._rank[node.name])
        return rivals

    def _view(self, parcel: Parcel) -> _View | None:
        """The class's view, up to date with the changed nodes; None for a parcel that must be asked about anew."""
        view = parcel.view
        if not isinstance(view, _View):
            if self.depends(parcel):
                return None
            kind = _kind(parcel)
            view = self._views.get(kind)
            if view is None:
                sieves = None if parcel.direct else self._points.sieves(parcel)
                view = self._views[kind] = _View(len(self._world.changed), sieves)
            parcel.view = view
        changed = self._world.changed
        if view.cursor < len(changed):
            stale = dict.fromkeys(changed[view.cursor :])
            view.cursor = len(changed)
            for node in stale:
                if node in view.slots:
                    self._set(view, parcel, node, self._count(view, parcel, node))
        return view

    def _slots(self, view: _View, parcel: Parcel, name: NodeName) -> int:
        slots = view.slots.get(name)
        if slots is None:
            slots = view.slots[name] = self._count(view, parcel, name)
        return slots

    def _count(self, view: _View, parcel: Parcel, name: NodeName) -> int:
        """Where the sieves let a node through, only its room is asked for."""
        node = self._world.nodes[name]
        if view.sieves is not None and all(sieve(node) for sieve in view.sieves):
            return self._pairs.room(parcel, name)
        return self._pairs.slots(parcel, name)

    def _set(self, view: _View, parcel: Parcel, name: NodeName, slots: int) -> None:
        """Note a changed node's slots, and what follows for its areas."""
        gained = slots - view.slots[name]
        view.slots[name] = slots
        view.refusals.pop(name, None)
        view.entries.pop(name, None)
        node = self._world.nodes[name]
        areas = [ANYWHERE, Area(node.spec)]
        if node.zone is not None:
            areas.append(Area(node.spec, ZoneId(node.spec, node.zone)))
        for area in areas:
            if area in view.totals:
                view.totals[area] += gained
            if slots and area in view.heaps:
                heappush(view.heaps[area], self._entry(view, parcel, name))
            if area in view.rivals:
                view.rivals[area].change(node, takes=slots > 0)

    def _entry(self, view: _View, parcel: Parcel, name: NodeName) -> _Entry:
        entry = view.entries.get(name)
        if entry is None:
            node = self._world.nodes[name]
            score = self._pairs.score(parcel, node, Field((node,)))
            entry = view.entries[name] = (-score, self._rank[name], name)
        return entry


def _kind(parcel: Parcel) -> object:
    """What parcels of one class have in common."""
    shapes = tuple(task.shape for task in parcel.tasks)
    return (parcel.quota.spec, shapes, parcel.footprint, parcel.job.topology, parcel.direct, parcel.evicts)


def _indifferent(parcel: Parcel) -> bool:
    """Whether no preference makes one node's score depend on which others are candidates."""
    return not parcel.quota.spec.node_affinity.preferred and not any(
        task.shape.node_affinity.preferred for task in parcel.tasks
    )
