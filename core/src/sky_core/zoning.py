"""The zone algorithms: which zones a communication group goes to, and which of its quotas sits on which node.

Both work within one spec code, the one to which hop 1 has confined the job's cards.
"""

from collections.abc import Sequence

import msgspec

from sky_core.model import Job, NodeName, QuotaName, Zone
from sky_core.plugin import Area, Context, Parcel
from sky_core.reasons import Code, Finding
from sky_core.resources import NOTHING, Resources
from sky_core.topology import RANKS, Layout, ZoneOrder, fewest, homes, interleave, shortest_run, zone_of

_SHORT = frozenset({Code.INSUFFICIENT_QUOTA_IDLE, Code.INSUFFICIENT_IDLE, Code.WAITING_FOR_RELEASE})
Seats = tuple[tuple[QuotaName, NodeName], ...]


class _Fit(msgspec.Struct, frozen=True, gc=False):
    """How many of the parcels a zone takes, and what is left over when it takes them all."""

    slots: int
    left: int


def zoned(context: Context, job: Job, group: Sequence[Parcel], extras: Sequence[Parcel], ranks: str) -> Layout | None:
    """namedzone: one zone for all; else, as the job's policy says, wait or take the fewest zones."""
    zones = _candidates(context, job)
    if _unknown(context, group, zones):
        return Layout(refusal=(Finding(Code.TOPOLOGY_UNKNOWN, len(context.world.nodes)),))
    order = ZoneOrder(context.world, job)
    for parcels in ([*group, *extras], list(group)) if extras else (list(group),):
        zone = _single(context, parcels, zones, order)
        if zone is not None:
            return _seated(context, job, parcels, [(zone.nodes, len(parcels))], ranks)
    lacking = _best_zone(context, group, zones)
    if job.topology.required:
        return Layout(refusal=(lacking,)) if zones else Layout()
    if _still_patient(context, job, group, zones):
        return Layout(refusal=(_waiting(job, lacking),), waits=True)
    return _several(context, job, group, zones, ranks)


def continuous(
    context: Context, job: Job, group: Sequence[Parcel], extras: Sequence[Parcel], ranks: str
) -> Layout | None:
    """continuity: the shortest run of nodes in index order that holds the group; no answer where there is none."""
    area = context.area(job.id)
    specs = [area.spec] if area.spec is not None else sorted(context.world.specs)
    for spec in specs:
        line = context.world.specs[spec]
        for parcels in ([*group, *extras], list(group)) if extras else (list(group),):
            run = shortest_run(_slots(context, _kinds(context, parcels) or parcels[:1], line), len(parcels))
            if run is not None:
                return _seated(context, job, parcels, [(line[run[0] : run[1]], len(parcels))], ranks)
    return None


def _candidates(context: Context, job: Job) -> list[Zone]:
    """The zones of the area; of a started `required` job those where its members are."""
    area, world = context.area(job.id), context.world
    if area.zone is not None:
        return [world.zones[area.zone]]
    zones = [zone for zone in world.zones.values() if area.spec in (None, zone.id.spec)]
    at_home = {zone_of(world.nodes[node]) for _, node in homes(world, job, zoned=True)}
    if not at_home:
        return zones
    if job.topology.required:
        return [zone for zone in zones if zone.id in at_home]
    fabrics = {world.zones[zone].fabric for zone in at_home if zone is not None}
    return [zone for zone in zones if not fabrics or zone.fabric in fabrics]


def _unknown(context: Context, group: Sequence[Parcel], zones: Sequence[Zone]) -> bool:
    """Whether of the nodes that pass everything else none has a zone."""
    world, parcel = context.world, group[0]
    if any(context.total(parcel, Area(zone.id.spec, zone.id)) for zone in zones):
        return False
    spec = context.area(parcel.job.id).spec
    return any(
        node.zone is None and all(r.code is Code.TOPOLOGY_UNKNOWN for r in context.refusals(parcel, node.name))
        for node in world.nodes.values()
        if spec in (None, node.spec)
    )


def _fit(context: Context, parcels: Sequence[Parcel], zone: Zone) -> _Fit:
    """By slots where the parcels are of one size, else (or where slots don't suffice) by walking."""
    kinds = _kinds(context, parcels)
    if len(kinds) == 1:
        slots = context.total(kinds[0], Area(zone.id.spec, zone.id))
        return _Fit(min(slots, len(parcels)), max(slots - len(parcels), 0))
    if kinds and (slots := sum(_slots(context, kinds, zone.nodes))) >= len(parcels):
        return _Fit(len(parcels), slots - len(parcels))
    seats, left = context.walk(parcels, zone.nodes)
    return _Fit(len(seats), left)


def _single(context: Context, parcels: Sequence[Parcel], zones: Sequence[Zone], order: ZoneOrder) -> Zone | None:
    """The preferred zone of those that hold all the parcels."""
    fits = [(zone, _fit(context, parcels, zone)) for zone in zones]
    holding = [(order.key(zone, 0, fit.left), zone) for zone, fit in fits if fit.slots == len(parcels)]
    return min(holding, key=lambda entry: entry[0])[1] if holding else None


def _best_zone(context: Context, group: Sequence[Parcel], zones: Sequence[Zone]) -> Finding:
    """What the zone that takes most of the group lacks."""
    fits = [(_fit(context, group, zone), zone) for zone in zones]
    best = max(fits, key=lambda entry: entry[0].slots, default=None)
    needed = _sum(group)
    if best is None:
        return Finding(Code.TOPOLOGY_ZONE_INSUFFICIENT, 0, needed)
    fit, zone = best
    example = f"{zone.id.key}: {fit.slots} of {len(group)} quotas"
    return Finding(Code.TOPOLOGY_ZONE_INSUFFICIENT, len(zones), needed, _sum(group[: fit.slots]), (example,))


def _still_patient(context: Context, job: Job, group: Sequence[Parcel], zones: Sequence[Zone]) -> bool:
    """Whether the job waits for a single zone yet: its patience has not ended, and some zone could hold it empty."""
    if not job.topology.patience:
        return False
    last = context.memory.attempts.get(job.id)
    since = (last.waiting_since if last is not None else None) or job.waiting_since
    if since is not None and context.now >= since + job.topology.patience:
        return False
    return any(_when_empty(context, group, zone) for zone in zones)


def _when_empty(context: Context, group: Sequence[Parcel], zone: Zone) -> bool:
    """Whether the zone's nodes, were they empty, would hold the group: each next parcel on a node with room left."""
    rooms = {node: context.world.books[node].allocatable for node in zone.nodes}
    for parcel in group:
        for node, room in rooms.items():
            open_ = all(reason.code in _SHORT for reason in context.refusals(parcel, node))
            if open_ and parcel.footprint.fits_in(room):
                rooms[node] = room - parcel.footprint
                break
        else:
            return False
    return True


def _waiting(job: Job, lacking: Finding) -> Finding:
    seconds = job.topology.patience // 1_000_000_000
    examples = (*lacking.examples, f"patience {seconds} s")
    return Finding(Code.WAITING_FOR_ZONE, lacking.count, lacking.needed, lacking.available, examples)


def _several(context: Context, job: Job, group: Sequence[Parcel], zones: Sequence[Zone], ranks: str) -> Layout:
    """The fewest zones of one fabric and one spec code; of equally many, the least left over, then by name."""
    best: tuple[tuple[int, int, str, str], list[tuple[tuple[NodeName, ...], int]]] | None = None
    for spec, fabric in sorted({(zone.id.spec, zone.fabric) for zone in zones}):
        parts = [zone for zone in zones if (zone.id.spec, zone.fabric) == (spec, fabric)]
        chosen = _together(context, job, group, spec, parts)
        if chosen is None:
            continue
        left = sum(sum(_slots(context, _kinds(context, group) or group[:1], nodes)) for nodes, _ in chosen) - len(group)
        key = (len(chosen), left, spec, fabric)
        if best is None or key < best[0]:
            best = (key, chosen)
    return _seated(context, job, group, best[1], ranks) if best is not None else Layout()


def _together(
    context: Context, job: Job, group: Sequence[Parcel], spec: str, zones: Sequence[Zone]
) -> list[tuple[tuple[NodeName, ...], int]] | None:
    """Zones, and nodes without one as zones of their own after all others, that hold the group together."""
    nodes = context.world.nodes
    ordered = sorted(zones, key=lambda zone: nodes[zone.nodes[0]].order)
    if job.topology.strict:
        ordered = _apart(context, group, ordered)
    alone = [name for name in context.world.specs[spec] if nodes[name].zone is None]
    places = [zone.nodes for zone in ordered] + [(name,) for name in alone]
    kinds = _kinds(context, group) or group[:1]
    slots = [sum(_slots(context, kinds, place)) for place in places]
    chosen = fewest(slots, len(group), last=len(alone))
    if chosen is None:
        return None
    return [(places[at], count) for at, count in sorted(chosen, key=lambda part: nodes[places[part[0]][0]].order)]


def _apart(context: Context, group: Sequence[Parcel], zones: Sequence[Zone]) -> list[Zone]:
    """For a strict job: of zones whose index ranges interleave, the one with most slots."""
    kept: list[Zone] = []
    for zone in sorted(zones, key=lambda zone: -sum(_slots(context, group[:1], zone.nodes))):
        if not any(interleave(zone, other, context.world.nodes) for other in kept):
            kept.append(zone)
    return [zone for zone in zones if zone in kept]


def _seated(
    context: Context,
    job: Job,
    parcels: Sequence[Parcel],
    places: Sequence[tuple[tuple[NodeName, ...], int]],
    ranks: str,
) -> Layout:
    """Seats in rank order, through one zone and then the next."""
    parcels = sorted(parcels, key=lambda parcel: parcel.tasks[0].rank)
    if homes(context.world, job, zoned=True):
        return _between(context, job, parcels, [node for nodes, _ in places for node in nodes])
    line: list[NodeName] = []
    kinds = _kinds(context, parcels)
    for nodes, count in places:
        slots = _slots(context, kinds, nodes) if kinds else []
        for node, taken in zip(nodes, RANKS[ranks](slots, count), strict=True) if sum(slots) >= count else ():
            line += [node] * taken
    if len(line) < len(parcels):
        walked, _ = context.walk(parcels, [node for nodes, _ in places for node in nodes])
        line = list(walked)
    names = (parcel.quota.name for parcel in parcels)
    return Layout(seats=tuple(zip(names, line, strict=False))) if len(line) == len(parcels) else Layout()


def _between(context: Context, job: Job, parcels: Sequence[Parcel], nodes: Sequence[NodeName]) -> Layout:
    """Missing ranks of a started gang: the lowest index between the nearest placed ranks, else anywhere in the zone.

    A strict job waits instead of going anywhere.
    """
    rows = context.world.nodes
    placed = [(task.rank, rows[node].order) for task, node in homes(context.world, job, zoned=True)]
    kinds = _kinds(context, parcels)
    left = dict(zip(nodes, _slots(context, kinds, nodes), strict=True)) if kinds else {}
    seats: list[tuple[QuotaName, NodeName]] = []
    for parcel in parcels:
        rank = parcel.tasks[0].rank
        low = max((at for other, at in placed if other < rank), default=None)
        high = min((at for other, at in placed if other > rank), default=None)
        open_ = [n for n in nodes if left.get(n, 0 if left else context.slots(parcel, n)) > 0]
        inside = [n for n in open_ if (low is None or low <= rows[n].order) and (high is None or rows[n].order <= high)]
        choice = next(iter(inside or ([] if job.topology.strict else open_)), None)
        if choice is None:
            code = Code.RANK_ORDER_BROKEN if open_ else Code.TOPOLOGY_ZONE_INSUFFICIENT
            return Layout(refusal=(Finding(code, 1, parcel.footprint, examples=(parcel.tasks[0].name,)),))
        seats.append((parcel.quota.name, choice))
        placed.append((rank, rows[choice].order))
        if choice in left:
            left[choice] -= 1
    return Layout(seats=tuple(seats))


def _slots(context: Context, kinds: Sequence[Parcel], nodes: Sequence[NodeName]) -> list[int]:
    """How many parcels each node takes, of whichever of these kinds."""
    return [min(context.slots(kind, node) for kind in kinds) for node in nodes]


def _kinds(context: Context, parcels: Sequence[Parcel]) -> list[Parcel]:
    """One parcel of each kind, if all are of one size and no answer depends on others; else none: slots say little."""
    if any(context.depends(p) or p.footprint != parcels[0].footprint for p in parcels):
        return []
    kinds = {(p.quota.spec.placement, tuple(task.shape for task in p.tasks)): p for p in reversed(parcels)}
    return list(kinds.values())


def _sum(parcels: Sequence[Parcel]) -> Resources:
    total = NOTHING
    for parcel in parcels:
        total += parcel.footprint
    return total
