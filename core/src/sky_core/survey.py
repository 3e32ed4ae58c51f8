"""What nodes answer to parcels: who takes how many, who refuses and why, who is best.

Asked once per class, not once per parcel: parcels of one `Kind` get the same answer from one node until that node
changes. A parcel that looks around (affinity, spread) is asked anew each time, because its answer about one node
depends on the others.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Final, Protocol

import numpy as np

from sky_core.columns import Columns, Numbers
from sky_core.model import Node, NodeName, Task, Zone, ZoneId
from sky_core.pairs import Pairs
from sky_core.parcels import one_of_each
from sky_core.plugin import Area, Field, Parcel
from sky_core.policy import Points
from sky_core.reasons import Finding, Reason
from sky_core.renewal import FEW, Renewal
from sky_core.resources import Resources
from sky_core.rivals import Rivals
from sky_core.views import NOWHERE, UNASKED, Kept, View
from sky_core.world import World

ANYWHERE: Final = Area()


class Survey(Protocol):
    """The questions of hop 2."""

    def slots(self, parcel: Parcel, node: NodeName) -> int:
        """How many parcels like this one the node takes now; 0 where it refuses."""

    def slots_on(self, parcel: Parcel, nodes: Sequence[NodeName]) -> list[int]:
        """The same of several nodes."""

    def refusals(self, parcel: Parcel, node: NodeName) -> tuple[Reason, ...]:
        """Why the node refuses the parcel; empty where it takes it."""

    def answers(self, parcel: Parcel) -> list[tuple[tuple[Reason, ...], Sequence[int]]]:
        """What the nodes say, empty where they take it, each with the places in index order of those who say that."""

    def depends(self, parcel: Parcel) -> bool:
        """Whether what a node says of the parcel depends on what others hold: then slots are 0 or 1, and say little."""

    def total(self, parcel: Parcel, area: Area) -> int:
        """The slots of all nodes of the area."""

    def by_zone(self, parcel: Parcel) -> Numbers:
        """The slots of each zone, in the order of `World.zones`."""

    @property
    def zone_ranks(self) -> Mapping[ZoneId, int]:
        """See `topology.zone_ranks`."""

    def tightest(self, parcel: Parcel, area: Area, count: int) -> Zone | None:
        """Of the area's zones with slots for so many, that with fewest; of equal ones the first by `zone_ranks`."""

    def holds(self, parcels: Sequence[Parcel], area: Area) -> bool:
        """True only where the area takes all of these, wherever each goes; False where only asking tells."""

    def takes_all(self, parcels: Sequence[Parcel], seats: Mapping[NodeName, int]) -> bool:
        """True only where each node takes so many of these, one after the other; False where only asking tells."""

    def binds(self, task: Task, node: Node) -> int:
        """How many tasks like this one, with claims there, the node surely takes; 0 where only asking tells."""

    @property
    def lent(self) -> bool:
        """Whether spot pods were anywhere when this was first asked."""

    def placed(self, parcel: Parcel, seats: Mapping[NodeName, int]) -> None:
        """So many parcels like this one, which the nodes took, were just placed there, and nothing else has changed."""

    def best(self, parcel: Parcel, area: Area) -> NodeName | None:
        """The node of the area that the policy likes best for the parcel; None where all refuse."""

    def lasts(self, parcel: Parcel, node: NodeName) -> int:
        """For how many parcels like this one, for which it is the best, the node surely stays the best."""

    def told(self, parcel: Parcel, area: Area, tell: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
        """What `tell` makes of the answers of all nodes to such a parcel, for which the area was searched."""

    def nodes(self, area: Area) -> tuple[NodeName, ...]:
        """The nodes of an area in index order."""


MOST_VIEWS: Final = 256
"""How many classes are kept over cycles at most."""


class Classes:
    """Answers kept per class of parcels, and renewed only for nodes that have changed."""

    def __init__(self, world: World, points: Points, frees: Callable[[NodeName], Resources], *, few: int = FEW) -> None:
        """For one session. `frees`: what reclaim may free on a node. `few`: see `Renewal`."""
        self._few = few
        self._pairs = Pairs(world, points, frees)
        self._points = points
        self._world = world
        self._frees = frees
        self._passing: dict[Hashable, View] = {}

    @cached_property
    def _kept(self) -> Kept:
        world, policy = self._world, self._points.policy
        kept = world.kept.get(Kept)
        if not isinstance(kept, Kept) or kept.policy is not policy or not kept.columns.open(self._frees):
            kept = world.kept[Kept] = Kept(Columns(world, self._frees), policy)
        kept.forget(MOST_VIEWS)
        return kept

    @cached_property
    def _columns(self) -> Columns:
        columns = self._kept.columns
        columns.renew()
        return columns

    @cached_property
    def _renewal(self) -> Renewal:
        return Renewal(self._world, self._points, self._pairs, self._columns, self._few)

    @cached_property
    def _plain(self) -> bool:
        """Whether no preference of a node, no score and no pick of a plugin needs all candidates side by side."""
        shunned = self._columns.shunned or self._points.order_spans
        return not shunned and set(self._points.names("qn.best")) <= {"topology"}

    @cached_property
    def lent(self) -> bool:
        """Whether spot pods are anywhere: then scores of quotas are relative to whose eviction would cost most."""
        return bool(self._columns.lent)

    def nodes(self, area: Area) -> tuple[NodeName, ...]:
        """The nodes of an area in index order."""
        return self._columns.names if area == ANYWHERE else self._pairs.nodes(area)

    def depends(self, parcel: Parcel) -> bool:
        """As for each pair."""
        return self._pairs.depends(parcel)

    def slots(self, parcel: Parcel, node: NodeName) -> int:
        """From the class's answer; asked anew for a parcel that looks around."""
        view = self._view(parcel)
        return int(view.slots[self._columns.at[node]]) if view is not None else self._pairs.slots(parcel, node)

    def slots_on(self, parcel: Parcel, nodes: Sequence[NodeName]) -> list[int]:
        """Likewise."""
        view, at = self._view(parcel), self._columns.at
        if view is None:
            return [self._pairs.slots(parcel, node) for node in nodes]
        slots: list[int] = view.slots[[at[node] for node in nodes]].tolist()
        return slots

    def refusals(self, parcel: Parcel, node: NodeName) -> tuple[Reason, ...]:
        """From the class's answer; asked anew for a parcel that looks around."""
        view = self._view(parcel)
        if view is None:
            return self._pairs.refusals(parcel, node)
        if view.slots[self._columns.at[node]]:
            return ()
        return self._refusals(view, parcel, self._columns.at[node])

    def answers(self, parcel: Parcel) -> list[tuple[tuple[Reason, ...], Sequence[int]]]:
        """Only those are asked that have not been since they changed; equal answers are found by their numbers."""
        view, names = self._view(parcel), self._columns.names
        if view is None:
            each: dict[tuple[Reason, ...], list[int]] = {}
            for at, name in enumerate(names):
                each.setdefault(self._pairs.refusals(parcel, name), []).append(at)
            return list(each.items())
        for at in np.flatnonzero((view.slots == 0) & (view.answers == UNASKED)).tolist():
            self._refusals(view, parcel, at)
        numbers = np.where(view.slots > 0, UNASKED, view.answers)
        order = np.argsort(numbers, kind="stable")
        alike = np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)
        found = [(int(numbers[places[0]]), places.tolist()) for places in alike if len(places)]
        return [(view.said[number] if number != UNASKED else (), places) for number, places in found]

    def total(self, parcel: Parcel, area: Area) -> int:
        """Summed once per area, then kept in step with the nodes that change."""
        view = self._view(parcel)
        if view is None:
            return self._pairs.total(parcel, area)
        if area not in view.totals:
            view.totals[area] = int(view.slots[self._columns.area(area)].sum())
        return view.totals[area]

    def by_zone(self, parcel: Parcel) -> Numbers:
        """Summed once, then kept in step likewise."""
        view = self._view(parcel)
        return self._renewal.by_zone(view) if view is not None else self._pairs.by_zone(parcel)

    @property
    def zone_ranks(self) -> Mapping[ZoneId, int]:
        """Counted when nodes come, go or move."""
        return self._columns.ranks

    def tightest(self, parcel: Parcel, area: Area, count: int) -> Zone | None:
        """By one number for each zone, the least of which is the best."""
        slots, columns = self.by_zone(parcel), self._columns
        holds = columns.zones_in(area)[slots[columns.zones_in(area)] >= count]
        if not len(holds):
            return None
        best = holds[np.argmin(slots[holds] * len(slots) + columns.zone_rank[holds])]
        return self._world.zones[columns.zones[best]]

    def holds(self, parcels: Sequence[Parcel], area: Area) -> bool:
        """By the slots of their class, if they are of one."""
        return self._are_of(self._view(parcels[0]), parcels) and self.total(parcels[0], area) >= len(parcels)

    def takes_all(self, parcels: Sequence[Parcel], seats: Mapping[NodeName, int]) -> bool:
        """Likewise."""
        view, at = self._view(parcels[0]), self._columns.at
        if view is None or not self._are_of(view, parcels):
            return False
        return bool((view.slots[[at[node] for node in seats]] >= list(seats.values())).all())

    def _are_of(self, view: View | None, parcels: Sequence[Parcel]) -> bool:
        return view is not None and all([self._view(parcel) is view for parcel in one_of_each(parcels)])

    def binds(self, task: Task, node: Node) -> int:
        """By what plugins say at once."""
        return self._points.binds(task, node)

    def placed(self, parcel: Parcel, seats: Mapping[NodeName, int]) -> None:
        """So many slots less, by what slots mean: the nodes need not be asked again."""
        view = parcel.pattern.view if isinstance(parcel.pattern.view, View) else None
        changed, at = self._world.changed, self._columns.at
        if view is None or not seats.keys() >= set(changed[view.cursor :]):
            return
        if len(seats) == 1:
            ((node, count),) = seats.items()
            if (slots := int(view.slots[at[node]]) - count) >= 0:
                view.cursor = len(changed)
                self._renewal.set(view, at[node], slots)
            return
        positions = [at[node] for node in seats]
        left = view.slots[positions] - np.array(list(seats.values()), dtype=np.int64)
        if left.min() >= 0:
            view.cursor = len(changed)
            self._renewal.set_all(view, positions, left)

    def best(self, parcel: Parcel, area: Area) -> NodeName | None:
        """By scores where these stand alone or by one measure, else from all candidates."""
        view = self._view(parcel)
        if view is None:
            return self._pairs.best(parcel, area)
        if not (self._plain and _indifferent(parcel)):
            return self._pairs.choose(parcel, self._candidates(view, area))
        if self.lent and not parcel.direct:
            return self._rivals(view, parcel, area).best()
        scores = self._renewal.scores(view, parcel)[self._columns.area(area)]
        first = int(np.argmax(scores)) if len(scores) else 0
        return self.nodes(area)[first] if len(scores) and scores[first] != NOWHERE else None

    def lasts(self, parcel: Parcel, node: NodeName) -> int:
        """As long as it has slots, where scores stand alone and do not fall."""
        view = self._view(parcel)
        alone = view is not None and not self.lent and self._plain and _indifferent(parcel)
        return int(view.slots[self._columns.at[node]]) if view is not None and alone and self._points.order_holds else 1

    def told(self, parcel: Parcel, area: Area, tell: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
        """Once per class, until a node changes."""
        view = self._view(parcel)
        if view is None:
            return tell()
        if area not in view.told:
            view.told[area] = tell()
        return view.told[area]

    def _refusals(self, view: View, parcel: Parcel, at: int) -> tuple[Reason, ...]:
        number = int(view.answers[at])
        if number == UNASKED:
            number = view.answers[at] = self._asked(view, parcel, at)
        return view.said[number]

    def _asked(self, view: View, parcel: Parcel, at: int) -> int:
        """The number of a node's answer. Those that let the parcel through but for room, and are as full, agree."""
        fill = self._columns.fill(at) if view.lets(at) else None
        number = view.by_fill.get(fill) if fill is not None else None
        if number is None:
            number = view.number_of(self._pairs.refusals(parcel, self._columns.names[at]))
            if fill is not None:
                view.by_fill[fill] = number
        return number

    def _candidates(self, view: View, area: Area) -> list[Node]:
        nodes, at = self._columns.nodes, np.arange(len(view.slots))[self._columns.area(area)]
        return [nodes[one] for one in at[view.slots[at] > 0].tolist()]

    def _rivals(self, view: View, parcel: Parcel, area: Area) -> Rivals:
        rivals = view.rivals.get(area)
        if rivals is None:

            def score(node: Node, field: Field) -> int:
                return self._pairs.score(parcel, node, field)

            at = self._columns.at
            rivals = view.rivals[area] = Rivals(self._candidates(view, area), score, lambda node: at[node.name])
        return rivals

    def _view(self, parcel: Parcel) -> View | None:
        """The class's view, up to date with the changed nodes; None for a parcel that must be asked about anew."""
        view = parcel.pattern.view
        if not isinstance(view, View):
            if self.depends(parcel):
                return None
            view = parcel.pattern.view = self._of(parcel)
        if view.cursor < len(self._world.changed):
            self._renewal.renew(view, parcel)
        return view

    def _of(self, parcel: Parcel) -> View:
        """The view of the parcel's class: kept where all plugins say what their answers depend on."""
        kind = _kind(parcel)
        view = self._kept.views.get(kind) or self._passing.get(kind)
        if view is None:
            sieves = None if parcel.direct else self._points.sieves(parcel)
            masks = None if sieves is None else [self._kept.mask(name, sieve) for name, sieve in sieves]
            view = View(masks)
            (self._passing if masks is None else self._kept.views)[kind] = view
        if view.owner is not self:
            view.owner = self
            view.rivals = {}
            if view.scores is not None and self._points.scores is None:
                view.scores = None
        return view


def _kind(parcel: Parcel) -> Hashable:
    """What parcels of one class have in common."""
    shapes, spec, footprint = tuple([task.shape for task in parcel.tasks]), parcel.quota.spec, parcel.footprint
    own = None if footprint is spec.request else footprint
    return (spec, shapes, own, parcel.job.topology, parcel.direct, parcel.evicts)


def _indifferent(parcel: Parcel) -> bool:
    """Whether no preference makes one node's score depend on which others are candidates."""
    return not parcel.quota.spec.node_affinity.preferred and not any(
        task.shape.node_affinity.preferred for task in parcel.tasks
    )
