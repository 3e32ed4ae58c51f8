"""Where hop 1 looks for a whole gang: in one spec code, of a topology job in one zone, after the other.

Each candidate is tried by claiming and then placing in a trial; the first that works is taken (behaviour.md 5.1).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace

from sky_core.claiming import Terms
from sky_core.free_quotas import probe
from sky_core.model import Job, Node, NodeName, QuotaName, Task, TaskId, Zone, ZoneId
from sky_core.placing import needs_one_card
from sky_core.plugin import Area, Parcel
from sky_core.reasons import Code, Reason
from sky_core.session import Session
from sky_core.topology import ZoneOrder, fewest, homes, in_group, zone_of
from sky_core.usable import Key, no_room

Place = TypeVar("Place")


def candidates(session: Session, job: Job, tasks: Sequence[Task], terms: Terms) -> Iterator[Terms]:
    """The terms to try for these tasks of a gang that needs one kind of card, in order of preference."""
    probes = _probes(session, job, tasks)
    for spec in _specs(session, job, tasks, terms, probes):
        if not _may_hold(session, tasks, spec, terms, probes):
            continue
        inside = replace(
            terms, area=Area(spec), homes=homes_in(session, terms.homes, Area(spec)), must_place=True, moves=True
        )
        if not job.topology.on:
            yield inside
            continue
        for zone in _zones(session, job, tasks, inside, probes):
            area = Area(spec, zone.id)
            yield replace(inside, area=area, homes=homes_in(session, inside.homes, area))
        if job.topology.required:
            continue
        yield replace(inside, homes=())
        for names in _by_fabric(session, tasks, inside):
            yield replace(inside, homes=names)


def rank_bounds(session: Session, job: Job) -> Callable[[Task, NodeName], Key | None]:
    """Of a topology job, how well a node suits a task's rank: between its neighbours' nodes first, then by index.

    A strict job takes no other node; others may, after those between.
    """
    if not job.topology.on:
        return lambda _task, _node: ()
    world = session.world
    ranked = any(world.tasks[id_].shape.rdma for id_ in job.tasks)

    @lru_cache(maxsize=1)
    def between(rank: tuple[object, ...], _changes: int) -> tuple[Key | None, Key | None]:
        placed = [(other.rank, world.nodes[node].order) for other, node in homes(world, job, zoned=True)]
        low = max((at for other, at in placed if other < rank), default=None)
        high = min((at for other, at in placed if other > rank), default=None)
        return low, high

    def bounds(task: Task, name: NodeName) -> Key | None:
        if ranked and not task.shape.rdma:
            return ()
        low, high = between(task.rank, len(world.changed))
        at = world.nodes[name].order
        outside = (low is not None and at < low) or (high is not None and at > high)
        return None if outside and job.topology.strict else (outside, at)

    return bounds


class Apart:
    """Why a node is none for a member of a gang whose others have places: its card, its fabric, if `required` its zone.

    To be asked of one task after the other, as they claim.
    """

    __slots__ = ("_but", "_job", "_others", "_session")

    def __init__(self, session: Session, job: Job) -> None:
        """Nobody has been asked about."""
        self._session = session
        self._job = job
        self._but: TaskId | None = None
        self._others: tuple[set[str], set[ZoneId]] = (set(), set())

    def __call__(self, task: Task, name: NodeName) -> Reason | None:
        """Why the node is none for this task."""
        world, job = self._session.world, self._job
        node, (specs, zones) = world.nodes[name], self._where(task.id)
        if specs and node.spec not in specs and needs_one_card(self._session, job, [task]):
            return Reason(Code.SPEC_MISMATCH, detail=f"card {node.spec or 'unknown'}, the gang has {min(specs)}")
        if not (job.topology.on and in_group(world, job, task)):
            return None
        zone = zone_of(node)
        if zone is None:
            return Reason(Code.TOPOLOGY_UNKNOWN) if job.topology.required else None
        if zones and zone not in zones and job.topology.required:
            return Reason(Code.TOPOLOGY_ZONE_INSUFFICIENT, detail=f"zone {node.zone}, the gang is in another")
        if zones and all(world.zones[other].fabric != world.zones[zone].fabric for other in zones):
            return Reason(Code.TOPOLOGY_ZONE_INSUFFICIENT, detail=f"zone {node.zone}, the gang is on another fabric")
        return None

    def _where(self, but: TaskId) -> tuple[set[str], set[ZoneId]]:
        """The cards and the zones that the others have."""
        if self._but != but:
            session, job, world = self._session, self._job, self._session.world
            there = [(task, node) for task, node in homes(world, job, zoned=job.topology.on) if task.id != but]
            specs = {world.nodes[node].spec for task, node in there if needs_one_card(session, job, [task])}
            zones = {zone_of(world.nodes[node]) for _, node in there} if job.topology.on else set()
            self._but, self._others = but, (specs, {zone for zone in zones if zone is not None})
        return self._others


def card_area(session: Session, job: Job, tasks: Sequence[Task], terms: Terms) -> Area:
    """Where cards of these members go if it has to be one kind: where the others are, else what is tried first."""
    if not needs_one_card(session, job, tasks):
        return terms.area
    specs = _specs(session, job, tasks, terms, _probes(session, job, tasks))
    return Area(specs[0]) if specs else terms.area


def homes_in(session: Session, names: Sequence[QuotaName], area: Area) -> tuple[QuotaName, ...]:
    """Of quotas with a node those in the area."""

    def inside(node: Node) -> bool:
        return node.spec == area.spec and (area.zone is None or zone_of(node) == area.zone)

    return tuple(name for name in names if inside(_home(session, name))) if area.spec is not None else tuple(names)


def _specs(session: Session, job: Job, tasks: Sequence[Task], terms: Terms, probes: Sequence["_Probe"]) -> list[str]:
    """Spec codes: most members there, most static-bound, then bound quotas, least left over, name.

    A member that is placed, or whose quota is named or kept for it and has a node, fixes the code.
    """
    world = session.world
    there = Counter(world.nodes[node].spec for node in _fixed(session, job, tasks))
    if there:
        return [min(there, key=lambda spec: (-there[spec], spec))]
    if len(world.specs) < 2:
        return list(world.specs)
    static, bound = _room_by(session, tasks, terms.homes, lambda node: node.spec)

    def key(spec: str) -> tuple[int, int, int, str]:
        left = _slots(session, probes, Area(spec)) - len(tasks)
        return (-static[spec], -bound[spec], max(left, 0), spec)

    return sorted(world.specs, key=key)


def _may_hold(session: Session, tasks: Sequence[Task], spec: str, terms: Terms, probes: Sequence["_Probe"]) -> bool:
    """False where quotas there are too few for tasks that are all alike, and of which none has a place of its own."""
    first = tasks[0].shape
    if session.kept or any(task.shape is not first or task.required_quota is not None for task in tasks):
        return True
    _, bound = _room_by(session, tasks, terms.homes, lambda node: node.spec)
    return bound[spec] + _slots(session, probes, Area(spec)) >= len(tasks)


def _fixed(session: Session, job: Job, tasks: Sequence[Task]) -> list[NodeName]:
    """The nodes of members with cards that have a place already, or name a quota that has one."""
    world = session.world
    nodes = [node for task, node in homes(world, job, zoned=job.topology.on) if needs_one_card(session, job, [task])]
    for task in tasks:
        quota = world.quotas.get(task.required_quota) if task.required_quota is not None else None
        node = (quota.node or quota.spec.static_node) if quota is not None else None
        if node is not None and node in world.nodes:
            nodes.append(node)
    kept = [(q.node, r) for q in session.kept for r in q.reservations if r.job == job.id and r.expires > session.now]
    places = {task.place for task in tasks}
    nodes += [node for node, r in kept if node is not None and node in world.nodes and r.place in places]
    return nodes


def _zones(session: Session, job: Job, tasks: Sequence[Task], terms: Terms, probes: Sequence["_Probe"]) -> list[Zone]:
    """Zones that may hold the tasks: most on static-bound, then on bound quotas, then by `ZoneOrder`."""
    world = session.world
    order = ZoneOrder(world, job, homes(world, job, zoned=True), session.survey.zone_ranks)
    static, bound = _room_by(session, tasks, terms.homes, zone_of)
    at_home = order.siblings if job.topology.required else {}
    fabrics = {world.zones[zone].fabric for zone in order.siblings}
    free = np.zeros(len(world.zones), dtype=np.int64)
    for each in probes:
        free += each.holds(session.survey.by_zone(each.parcel))
    zones, slots, needed = list(world.zones.values()), free.tolist(), len(tasks)
    may_hold = range(len(zones)) if bound else np.flatnonzero(free >= needed).tolist()
    inside = [at for at in may_hold if zones[at].id.spec == terms.area.spec]
    if not (bound or order.siblings or order.kin):
        ranks = session.survey.zone_ranks
        return [zones[at] for at in sorted(inside, key=lambda at: (slots[at], ranks[zones[at].id]))]
    keyed = []
    for zone, id_, room in [(zones[at], zones[at].id, bound[zones[at].id] + slots[at]) for at in inside]:
        if (at_home and id_ not in at_home) or (fabrics and zone.fabric not in fabrics) or room < needed:
            continue
        keyed.append(((-static.get(id_, 0), -bound.get(id_, 0), order.key(zone, 0, room - needed)), zone))
    return [zone for _, zone in sorted(keyed, key=itemgetter(0))]


def _by_fabric(session: Session, tasks: Sequence[Task], terms: Terms) -> list[tuple[QuotaName, ...]]:
    """The bound quotas of each fabric: of the fewest zones that hold the tasks, else all of it; the fewest zones first.

    What is on nodes without a zone joins any fabric.
    """
    world = session.world
    _, bound = _room_by(session, tasks, terms.homes, zone_of)
    keyed = []
    for fabric in sorted({world.zones[zone].fabric if zone is not None else "" for zone in bound}):
        zones = [zone for zone in world.zones.values() if (zone.id.spec, zone.fabric) == (terms.area.spec, fabric)]
        chosen = fewest([bound[zone.id] for zone in zones], len(tasks))
        inside = {zones[at].id for at, _ in chosen} if chosen is not None else {None, *(zone.id for zone in zones)}
        names = tuple(name for name in terms.homes if zone_of(_home(session, name)) in inside)
        room = sum(bound[zone] for zone in inside)
        keyed.append(((chosen is None, len(inside), -room, fabric), names))
    return [names for _, names in sorted(keyed)]


def _room_by(
    session: Session, tasks: Sequence[Task], names: Sequence[QuotaName], place: Callable[[Node], Place]
) -> tuple[Counter[Place], Counter[Place]]:
    """How many of the tasks fit the static-bound quotas, and all quotas, of each place."""
    static: Counter[Place] = Counter()
    bound: Counter[Place] = Counter()
    request = tasks[0].shape.request
    for name in names:
        quota = session.world.quotas[name]
        if no_room(session, request, quota) is not None:
            continue
        fits = min(request.only(quota.spec.named).slots_in(quota.capacity - quota.claimed), len(tasks))
        at = place(_home(session, name))
        bound[at] += fits
        static[at] += fits if quota.spec.static_node is not None else 0
    return static, bound


class _Probe:
    """A free quota before the first of these tasks: how many such are left, and how many of the tasks each holds."""

    __slots__ = ("each", "left", "parcel")

    def __init__(self, parcel: Parcel, left: int, each: int) -> None:
        self.parcel = parcel
        self.left = left
        self.each = each

    def holds(self, slots: Any) -> Any:
        """How many tasks at most, where there are so many slots."""
        return np.minimum(slots, self.left) * self.each


def _probes(session: Session, job: Job, tasks: Sequence[Task]) -> list[_Probe]:
    """One for each shape of free quotas that have room for such a task."""
    task, probes = tasks[0], []
    for shelf in session.shelves.free(job.queue):
        head = session.shelves.head(shelf)
        if head is not None and no_room(session, task.shape.request, head) is None:
            each = task.shape.request.only(shelf.spec.named).slots_in(head.capacity)
            probes.append(_Probe(probe(session, job, task, head), session.shelves.left(shelf), each))
    return probes


def _slots(session: Session, probes: Sequence[_Probe], area: Area) -> int:
    """How many of the tasks free quotas could hold in the area, as far as slots go: at most."""
    return sum(int(each.holds(session.survey.total(each.parcel, area))) for each in probes)


def _home(session: Session, name: QuotaName) -> Node:
    quota = session.world.quotas[name]
    node = quota.node or quota.spec.static_node
    return session.world.nodes[node] if node is not None else session.world.nodes[NodeName("")]
