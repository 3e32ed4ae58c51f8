"""Which quota of a communication group sits on which node, once its zones are chosen (behaviour.md 7.2)."""

from collections.abc import Sequence

import msgspec

from sky_core.model import Job, NodeName, QuotaName, Task, Zone
from sky_core.parcels import one_of_each
from sky_core.plugin import Area, Context, Parcel
from sky_core.reasons import Code, Finding
from sky_core.resources import NOTHING
from sky_core.topology import RANKS, Layout


class Fit(msgspec.Struct, frozen=True, gc=False):
    """How many of a group a zone takes, and how many further quotas are left over when it takes them all."""

    taken: int
    left: int


class Place(msgspec.Struct, frozen=True, gc=False):
    """Nodes in index order, and how many of the group go there."""

    nodes: tuple[NodeName, ...]
    count: int


class Group:
    """Quotas to be placed together, in rank order, and what nodes say of them.

    If all are of one size and no answer depends on other nodes, `kinds` holds one of each kind, and slots count; else
    it is empty, and only a walk tells.
    """

    def __init__(self, context: Context, parcels: Sequence[Parcel]) -> None:
        """Sort the parcels by rank."""
        self.context = context
        self.parcels = sorted(parcels, key=lambda parcel: parcel.tasks[0].rank)
        self._fits: dict[object, Fit] = {}
        size, kinds = parcels[0].footprint, one_of_each(parcels)
        alike = all([p.footprint == size and not context.depends(p) for p in kinds])
        by_value = {(p.quota.spec.placement, tuple([task.shape for task in p.tasks])): p for p in kinds}
        self.kinds = list(by_value.values()) if alike else []

    def slots(self, nodes: Sequence[NodeName]) -> list[int]:
        """How many of the group each node takes, of whichever kind; of a mixed group, of its first."""
        kinds, slots = self.kinds or self.parcels[:1], self.context.slots_on
        if len(kinds) == 1:
            return slots(kinds[0], nodes)
        return [min(each) for each in zip(*(slots(kind, nodes) for kind in kinds), strict=True)]

    def held(self, zones: Sequence[Zone]) -> list[int]:
        """How many each of these zones takes on all of its nodes."""
        if len(self.kinds) != 1:
            return [sum(self.slots(zone.nodes)) for zone in zones]
        by_zone = dict(zip(self.context.world.zones, self.context.by_zone(self.kinds[0]), strict=True))
        return [by_zone[zone.id] for zone in zones]

    def may_fit(self, area: Area) -> bool:
        """False where the area has too few slots, wherever each goes."""
        return len(self.kinds) != 1 or self.context.total(self.kinds[0], area) >= len(self.parcels)

    def fit(self, zone: Zone) -> Fit:
        """By slots where they count and suffice, else by walking."""
        if zone.id not in self._fits:
            self._fits[zone.id] = self._fit(zone)
        return self._fits[zone.id]

    def _fit(self, zone: Zone) -> Fit:
        count = len(self.parcels)
        if len(self.kinds) == 1:
            slots = self.context.total(self.kinds[0], Area(zone.id.spec, zone.id))
            return Fit(min(slots, count), max(slots - count, 0))
        if self.kinds and (slots := sum(self.slots(zone.nodes))) >= count:
            return Fit(count, slots - count)
        seats, left = self.context.walk(self.parcels, zone.nodes)
        return Fit(len(seats), left)

    def cost(self, zone: Zone) -> int:
        """The predicted cost of evictions where the zone's spot pods would have to make room for the group."""
        if not self.context.spot():
            return 0
        line = spread_out(self, [Place(zone.nodes, len(self.parcels))], "spread")
        loads = dict.fromkeys(line, NOTHING)
        for parcel, node in zip(self.parcels, line, strict=False):
            for task in parcel.tasks:
                loads[node] += task.shape.load
        return sum(self.context.eviction_cost(node, load) for node, load in loads.items())


def seated(
    job: Job, group: Group, there: Sequence[tuple[Task, NodeName]], places: Sequence[Place], ranks: str
) -> Layout:
    """Seats in rank order, through one place and then the next; beside the members that are `there` already."""
    if there:
        return _between(job, group, there, [node for place in places for node in place.nodes])
    line = spread_out(group, places, ranks)
    names = (parcel.quota.name for parcel in group.parcels)
    return Layout(seats=dict(zip(names, line, strict=True))) if len(line) == len(group.parcels) else Layout()


def spread_out(group: Group, places: Sequence[Place], ranks: str) -> list[NodeName]:
    """The nodes of the group in rank order; fewer than it has quotas where they don't take it."""
    line: list[NodeName] = []
    if group.kinds:
        for place in places:
            slots = group.slots(place.nodes)
            if sum(slots) >= place.count:
                for node, taken in zip(place.nodes, RANKS[ranks](slots, place.count), strict=True):
                    if taken:
                        line += [node] * taken
    if len(line) == len(group.parcels):
        return line
    return list(group.context.walk(group.parcels, [node for place in places for node in place.nodes])[0])


def _between(job: Job, group: Group, there: Sequence[tuple[Task, NodeName]], nodes: Sequence[NodeName]) -> Layout:
    """Missing ranks of a started gang: the lowest index between the nearest placed ranks, else anywhere in the zone.

    A strict job waits instead of going anywhere.
    """
    context = group.context
    rows = context.world.nodes
    placed = [(task.rank, rows[node].order) for task, node in there]
    left = dict(zip(nodes, group.slots(nodes), strict=True)) if group.kinds else {}
    seats: dict[QuotaName, NodeName] = {}
    for parcel in group.parcels:
        rank = parcel.tasks[0].rank
        low = max((at for other, at in placed if other < rank), default=None)
        high = min((at for other, at in placed if other > rank), default=None)
        free = [node for node in nodes if (left[node] if left else context.slots(parcel, node)) > 0]
        inside = [n for n in free if (low is None or low <= rows[n].order) and (high is None or rows[n].order <= high)]
        choice = next(iter(inside or ([] if job.topology.strict else free)), None)
        if choice is None:
            code = Code.RANK_ORDER_BROKEN if free else Code.TOPOLOGY_ZONE_INSUFFICIENT
            return Layout(refusal=(Finding(code, 1, parcel.footprint, examples=(parcel.tasks[0].name,)),))
        seats[parcel.quota.name] = choice
        placed.append((rank, rows[choice].order))
        if left:
            left[choice] -= 1
    return Layout(seats=seats)
