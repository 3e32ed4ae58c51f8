"""The zone algorithms: which zones a communication group goes to, and which of its quotas sits on which node.

Both work within one spec code, the one to which hop 1 has confined the job's cards.
"""

from collections.abc import Sequence
from typing import Final

from sky_core.model import SECOND, Job, NodeName, Task, Zone
from sky_core.plugin import Area, Context, Parcel
from sky_core.reasons import Code, Finding
from sky_core.resources import NOTHING, Resources
from sky_core.seating import Group, Place, seated
from sky_core.topology import Layout, ZoneOrder, fewest, homes, interleave, shortest_run, zone_of

_SHORT: Final = frozenset({Code.INSUFFICIENT_QUOTA_IDLE, Code.INSUFFICIENT_IDLE, Code.WAITING_FOR_RELEASE})


def zoned(context: Context, job: Job, group: Sequence[Parcel], extras: Sequence[Parcel], ranks: str) -> Layout | None:
    """namedzone: one zone for all; else, as the job's policy says, wait or take the fewest zones."""
    there = homes(context.world, job, zoned=True)
    zones = _candidates(context, job, there)
    needed = Group(context, group)
    order = ZoneOrder(context.world, job, there, context.zone_ranks())
    for each in (Group(context, [*group, *extras]), needed) if extras else (needed,):
        zone = _single(each, zones, order)
        if zone is not None:
            return seated(job, each, there, [Place(zone.nodes, len(each.parcels))], ranks)
    if _unknown(context, group, zones):
        return Layout(refusal=(Finding(Code.TOPOLOGY_UNKNOWN, len(context.world.nodes)),))
    if job.topology.required:
        return Layout(refusal=(_lacking(needed, zones),)) if zones else Layout()
    if _still_patient(context, job, group, zones):
        return Layout(refusal=(_waiting(job, _lacking(needed, zones)),), waits=True)
    found = _several(job, needed, zones)
    return seated(job, needed, there, found, ranks) if found else Layout()


def continuous(
    context: Context, job: Job, group: Sequence[Parcel], extras: Sequence[Parcel], ranks: str
) -> Layout | None:
    """continuity: the shortest run of nodes in index order that holds the group; no answer where there is none."""
    spec, there = context.area(job.id).spec, homes(context.world, job, zoned=True)
    for code in [spec] if spec is not None else sorted(context.world.specs):
        line = context.world.specs[code]
        for parcels in ([*group, *extras], group) if extras else (group,):
            each = Group(context, parcels)
            run = shortest_run(each.slots(line), len(parcels))
            if run is not None:
                return seated(job, each, there, [Place(line[run[0] : run[1]], len(parcels))], ranks)
    return None


def _candidates(context: Context, job: Job, there: Sequence[tuple[Task, NodeName]]) -> list[Zone]:
    """The zones of the area; of a started `required` job those where its members are."""
    area, world = context.area(job.id), context.world
    if area.zone is not None:
        zones = [world.zones[area.zone]]
    else:
        zones = [zone for zone in world.zones.values() if area.spec in (None, zone.id.spec)]
    at_home = {zone_of(world.nodes[node]) for _, node in there}
    if not at_home:
        return zones
    if job.topology.required:
        return [zone for zone in zones if zone.id in at_home]
    fabrics = {world.zones[zone].fabric for zone in at_home if zone is not None}
    return [zone for zone in zones if not fabrics or zone.fabric in fabrics]


def _unknown(context: Context, group: Sequence[Parcel], zones: Sequence[Zone]) -> bool:
    """Whether of the nodes that pass everything else none has a zone."""
    world, parcel = context.world, group[0]
    area = context.area(parcel.job.id)
    taken = context.tightest(parcel, area, 1)
    if taken is not None and any(zone is taken for zone in zones):
        return False
    if taken is not None and any(context.total(parcel, Area(zone.id.spec, zone.id)) for zone in zones):
        return False
    if sum(len(zone.nodes) for zone in world.zones.values()) == len(world.nodes):
        return False
    return any(
        node.zone is None and all(r.code is Code.TOPOLOGY_UNKNOWN for r in context.refusals(parcel, node.name))
        for node in world.nodes.values()
        if area.spec in (None, node.spec)
    )


def _single(group: Group, zones: Sequence[Zone], order: ZoneOrder) -> Zone | None:
    """The preferred zone of those that hold the whole group."""
    context = group.context
    if zones and len(group.kinds) == 1 and not (order.siblings or order.kin or context.spot()):
        return context.tightest(group.kinds[0], context.area(group.parcels[0].job.id), len(group.parcels))
    best: tuple[tuple[object, ...], Zone] | None = None
    for zone in zones:
        fit = group.fit(zone)
        if fit.taken == len(group.parcels):
            key = order.key(zone, group.cost(zone), fit.left)
            best = (key, zone) if best is None or key < best[0] else best
    return best[1] if best is not None else None


def _lacking(group: Group, zones: Sequence[Zone]) -> Finding:
    """What the zone that takes most of the group lacks."""
    best = max(zones, key=lambda zone: group.fit(zone).taken, default=None)
    needed = _sum(group.parcels)
    if best is None:
        return Finding(Code.TOPOLOGY_ZONE_INSUFFICIENT, 0, needed)
    taken = group.fit(best).taken
    example = f"{best.id.key}: {taken} of {len(group.parcels)} quotas"
    return Finding(Code.TOPOLOGY_ZONE_INSUFFICIENT, len(zones), needed, _sum(group.parcels[:taken]), (example,))


def _still_patient(context: Context, job: Job, group: Sequence[Parcel], zones: Sequence[Zone]) -> bool:
    """Whether the job waits for a single zone yet: its patience has not ended, and some zone could hold it empty."""
    if not job.topology.patience:
        return False
    last = context.memory.attempts.get(job.id)
    since = (last.waiting_since if last is not None else None) or job.waiting_since
    if since is not None and context.now >= since + job.topology.patience:
        return False
    return any(_holds_when_empty(context, group, zone) for zone in zones)


def _holds_when_empty(context: Context, group: Sequence[Parcel], zone: Zone) -> bool:
    """Whether the zone's nodes, were they empty, would hold the group: each parcel on a node with room left."""
    rooms = {node: context.world.books[node].allocatable for node in zone.nodes}
    for parcel in group:
        for node, room in rooms.items():
            suits = all(reason.code in _SHORT for reason in context.refusals(parcel, node))
            if suits and parcel.footprint.fits_in(room):
                rooms[node] = room - parcel.footprint
                break
        else:
            return False
    return True


def _waiting(job: Job, lacking: Finding) -> Finding:
    examples = (*lacking.examples, f"patience {job.topology.patience // SECOND} s")
    return Finding(Code.WAITING_FOR_ZONE, lacking.count, lacking.needed, lacking.available, examples)


def _several(job: Job, group: Group, zones: Sequence[Zone]) -> list[Place]:
    """The fewest zones of one fabric and one spec code; of equally many, the least left over, then by name."""
    if not group.may_fit(Area(group.context.area(job.id).spec)):
        return []
    best: tuple[tuple[int, int, str, str], list[Place]] | None = None
    for spec, fabric in sorted({(zone.id.spec, zone.fabric) for zone in zones}):
        parts = [zone for zone in zones if (zone.id.spec, zone.fabric) == (spec, fabric)]
        chosen = _together(job, group, spec, parts)
        if chosen is None:
            continue
        left = sum(sum(group.slots(place.nodes)) for place in chosen) - len(group.parcels)
        key = (len(chosen), left, spec, fabric)
        if best is None or key < best[0]:
            best = (key, chosen)
    return best[1] if best is not None else []


def _together(job: Job, group: Group, spec: str, zones: Sequence[Zone]) -> list[Place] | None:
    """Zones, and nodes without one as zones of their own after all others, that hold the group together."""
    world = group.context.world
    nodes = world.nodes
    ordered = sorted(zones, key=lambda zone: nodes[zone.nodes[0]].order)
    if job.topology.strict:
        ordered = _apart(group, ordered)
    zoned = sum([len(zone.nodes) for zone in world.zones.values() if zone.id.spec == spec])
    line = world.specs[spec] if zoned < len(world.specs[spec]) else ()
    alone = [name for name in line if nodes[name].zone is None]
    places = [zone.nodes for zone in ordered] + [(name,) for name in alone]
    slots = [*group.held(ordered), *(group.slots(alone) if alone else ())]
    chosen = fewest(slots, len(group.parcels), last=len(alone))
    if chosen is None:
        return None
    by_index = sorted(chosen, key=lambda part: nodes[places[part[0]][0]].order)
    return [Place(places[at], count) for at, count in by_index]


def _apart(group: Group, zones: Sequence[Zone]) -> list[Zone]:
    """For a strict job: of zones whose index ranges interleave, the one with most slots."""
    kept: list[Zone] = []
    for zone in sorted(zones, key=lambda zone: -sum(group.slots(zone.nodes))):
        if not any(interleave(zone, other, group.context.world.nodes) for other in kept):
            kept.append(zone)
    return [zone for zone in zones if zone in kept]


def _sum(parcels: Sequence[Parcel]) -> Resources:
    total = NOTHING
    for parcel in parcels:
        total += parcel.footprint
    return total
