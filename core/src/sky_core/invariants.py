"""What must never be otherwise, told apart from what may happen to anybody (behaviour.md 4, I1 to I5).

A world does not know who made it so: a node that is promised more than it has may have lost a card, or been filled by
others. So I1 to I4 are asked of decisions, on the world on which they were made: no decision of ours may add to what
is too much already, bind half a gang, or evict for nothing. I5 is asked of a world, whoever made it. I6, that equal
inputs give equal decisions, takes two runs to see, and is a property test.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain

import msgspec
from msgspec.structs import astuple

from sky_core import ledger
from sky_core.decisions import BindTask, Certificate, Decision, EvictTask, WriteQuota
from sky_core.members import OPEN, roles
from sky_core.model import Instant, JobId, NodeName, TaskId, Zone, ZoneId
from sky_core.reservations import settled
from sky_core.resources import NOTHING, Resources
from sky_core.topology import zone_of
from sky_core.world import World


class Violation(msgspec.Struct, frozen=True, gc=False):
    """A defect of ours: the invariant (`I1` to `I5`), the row that shows it, and what is wrong with it. For people."""

    invariant: str
    object: str
    fault: str


def check(world: World) -> tuple[Violation, ...]:
    """I5: whatever is kept beside the rows equals what the rows say."""
    found = (fault for rule in _RULES for fault in rule(world))
    return tuple(Violation("I5", name, fault) for name, fault in found)


def check_decisions(world: World, decisions: Sequence[Decision], now: Instant) -> tuple[Violation, ...]:
    """I1 to I4, of what a cycle decided.

    Args:
        world: As the cycle found it: nothing is performed yet.
        decisions: All decisions of the cycle.
        now: The time of the cycle.
    """
    writes = [one for one in decisions if isinstance(one, WriteQuota)]
    evictions = [one for one in decisions if isinstance(one, EvictTask)]
    binds = [one for one in decisions if isinstance(one, BindTask)]
    return tuple(
        chain(
            (Violation("I1", *fault) for fault in _overpromised(world, writes)),
            (Violation("I2", *fault) for fault in _overfilled(world, binds)),
            (Violation("I3", *fault) for fault in _half_gangs(world, binds, now)),
            (Violation("I4", *fault) for fault in _idle_evictions(world, evictions)),
        )
    )


Faults = Iterator[tuple[str, str]]
"""Which object, and what is wrong with it."""


def _lists(world: World) -> Faults:
    """Who is on which node."""
    tasks: dict[NodeName, set[TaskId]] = defaultdict(set)
    for task in world.tasks.values():
        if task.node is not None and task.unfinished:
            tasks[task.node].add(task.id)
    quotas: dict[NodeName, set[str]] = defaultdict(set)
    for quota in world.quotas.values():
        if quota.node is not None:
            quotas[quota.node].add(quota.name)
    for what, kept, truth in (("tasks", world.tasks_on, tasks), ("quotas", world.quotas_on, quotas)):
        for node in sorted({*kept, *truth}):
            listed = kept.get(node, ())
            if sorted(listed) != sorted(truth.get(node, ())):
                yield f"node {node}", f"lists {what} {_names(listed)}, on it are {_names(truth.get(node, ()))}"


def _books(world: World) -> Faults:
    """Both ledgers of every node. Where a list is wrong already, there is nothing to count by."""
    if world.books.keys() != world.nodes.keys():
        yield "books", f"nodes and books differ: {_names(world.books.keys() ^ world.nodes.keys())}"
    wrong = {name for name, _ in _lists(world)}
    for node in sorted(world.books):
        book = world.books[node]
        if f"node {node}" in wrong or (counted := ledger.recount(world, node, book.allocatable)) == book:
            continue
        columns = zip(book.__struct_fields__, astuple(book), astuple(counted), strict=True)
        differ = (f"{name} is {kept}, counted {found}" for name, kept, found in columns if kept != found)
        yield f"node {node}", "; ".join(differ)


def _claims(world: World) -> Faults:
    """What claims add up to, and that task and quota agree on who claims what."""
    holders: dict[TaskId, set[str]] = defaultdict(set)
    for name in sorted(world.quotas):
        quota = world.quotas[name]
        if quota.claimed != (counted := ledger.quota_recount(quota)):
            yield f"quota {name}", f"claimed is {quota.claimed}, its claims are {counted}"
        for claim in quota.claims:
            holders[claim.task].add(name)
    for id_ in sorted(world.tasks):
        task, held = world.tasks[id_], holders.get(id_, set())
        if task.quota not in held and (held or task.quota is not None):
            yield f"task {task.key}", f"names quota {task.quota}, its claim is in {_names(held)}"


def _jobs(world: World) -> Faults:
    """Who belongs to which job, in rank order."""
    members: dict[JobId, set[TaskId]] = defaultdict(set)
    for task in world.tasks.values():
        if task.job is not None:
            members[task.job].add(task.id)
    for id_ in sorted(members.keys() | world.jobs.keys()):
        listed = world.jobs[id_].tasks if id_ in world.jobs else ()
        if sorted(listed) != sorted(members.get(id_, ())):
            yield f"job {id_}", f"lists tasks {_names(listed)}, its own are {_names(members.get(id_, ()))}"
        elif (ranks := [world.tasks[task].rank for task in listed]) != sorted(ranks):
            yield f"job {id_}", f"its tasks are not in rank order: {', '.join(listed)}"


def _zoning(world: World) -> Faults:
    """The nodes of each spec code and zone, in index order."""
    specs: dict[str, list[NodeName]] = defaultdict(list)
    zones: dict[ZoneId, list[NodeName]] = defaultdict(list)
    for node in sorted(world.nodes.values(), key=lambda node: node.order):
        specs[node.spec].append(node.name)
        if (zone := zone_of(node)) is not None:
            zones[zone].append(node.name)
    if world.specs != {spec: tuple(nodes) for spec, nodes in specs.items()}:
        yield "specs", f"are {world.specs}, counted {dict(specs)}"
    made = {id_: Zone(id=id_, fabric=world.nodes[nodes[0]].fabric, nodes=tuple(nodes)) for id_, nodes in zones.items()}
    if world.zones != made:
        yield "zones", f"are {list(world.zones.values())}, counted {list(made.values())}"


def _sums(world: World) -> Faults:
    """What is summed over the whole cluster."""
    total = sum((book.allocatable for book in world.books.values()), NOTHING)
    apart = sum(bool(task.shape.pod_affinity.anti_required) for task in world.tasks.values())
    quotas_apart = sum(bool(quota.spec.quota_affinity.anti_required) for quota in world.quotas.values())
    for name, kept, counted in (
        ("total", world.total, total),
        ("anti_affine", world.anti_affine, apart),
        ("quotas_apart", world.quotas_apart, quotas_apart),
    ):
        if kept != counted:
            yield name, f"is {kept}, counted {counted}"


_RULES: tuple[Callable[[World], Faults], ...] = (_lists, _books, _claims, _jobs, _zoning, _sums)


def _overpromised(world: World, writes: Sequence[WriteQuota]) -> Faults:
    """I1. What is promised more than before must be there, besides what others use."""
    more: dict[NodeName, Resources] = defaultdict(lambda: NOTHING)
    for write in writes:
        old = world.quotas[write.quota]
        new = write.over(old)
        if old.node is not None:
            more[old.node] -= old.footprint
        if new.node is not None:
            more[new.node] += new.footprint
    for node in sorted(more):
        grown = Resources({name: n for name, n in more[node].units.items() if n > 0})
        idle = world.books[node].quota_idle if node in world.books else NOTHING
        if lacking := grown.shortfall(idle):
            yield f"node {node}", f"quotas are promised {grown} more, which is {lacking} too much"


def _overfilled(world: World, binds: Sequence[BindTask]) -> Faults:
    """I2. Who is bound must find room in idle, a pod slot, and spot units of its pool."""
    comers: dict[NodeName, list[BindTask]] = defaultdict(list)
    for bind in binds:
        comers[bind.node].append(bind)
    for name in sorted(comers):
        node, book = world.nodes[name], world.books[name]
        after = book
        for bind in comers[name]:
            after = ledger.charge(after, world.tasks[bind.task], outside=False)
        more = after.used - book.used
        if lacking := more.shortfall(book.idle):
            yield f"node {name}", f"pods that take {more} are bound, which is {lacking} too much"
        if after.pods > node.pods_max:
            yield f"node {name}", f"{after.pods} pods, at most {node.pods_max}"
        if after.shared > max(node.shared, book.shared) or after.exclusive > max(node.exclusive, book.exclusive):
            yield f"node {name}", "more spot pods are bound than its pools have units"


def _half_gangs(world: World, binds: Sequence[BindTask], now: Instant) -> Faults:
    """I3. Of a job of which nothing is placed. One whose place is kept needs no more members than exist."""
    firsts: dict[JobId, list[BindTask]] = defaultdict(list)
    for bind in binds:
        firsts[bind.job].append(bind)
    kept = _kept(world, now) if firsts else set()
    for id_ in sorted(firsts):
        job = world.jobs[id_]
        if any(world.tasks[task].placed for task in job.tasks):
            continue
        needed = job.min_member
        if id_ in kept:
            needed = min(needed, sum(world.tasks[task].state in OPEN for task in job.tasks))
        bound = [world.tasks[bind.task] for bind in firsts[id_]]
        if len(bound) < needed:
            yield f"job {id_}", f"{len(bound)} of its {needed} needed members are bound"
        for role, least in roles(job):
            of_role = sum(task.role == role for task in bound)
            if of_role < least and id_ not in kept:
                yield f"job {id_}", f"{of_role} of {least} needed members of role {role} are bound"


def _idle_evictions(world: World, evictions: Sequence[EvictTask]) -> Faults:
    """I4. Every eviction is on a certificate that adds up: all its victims go, it is enough, and no less would be."""
    victims: dict[tuple[JobId, NodeName], set[TaskId]] = defaultdict(set)
    for eviction in evictions:
        victims[eviction.certificate.claimant, eviction.certificate.node].add(eviction.task)
    rooms = _rooms(world, evictions)
    for eviction in evictions:
        certificate = eviction.certificate
        named = {task for task, _ in certificate.frees}
        if eviction.task not in named or named != victims[certificate.claimant, certificate.node]:
            yield f"task {eviction.task}", f"its certificate is for {_names(named)}"
            continue
        room = rooms[certificate.claimant, certificate.node]
        for fault in _certificate_faults(world, eviction, certificate, room):
            yield f"task {eviction.task}", fault


def _rooms(world: World, evictions: Sequence[EvictTask]) -> dict[tuple[JobId, NodeName], Resources]:
    """What is or comes free on a node for each claimant, when those before it have made their room and taken it."""
    rooms: dict[tuple[JobId, NodeName], Resources] = {}
    left: dict[NodeName, Resources] = {}
    for eviction in evictions:
        certificate, node = eviction.certificate, eviction.certificate.node
        if (certificate.claimant, node) in rooms:
            continue
        book = world.books.get(node)
        room = left.get(node, book.future_idle if book is not None else NOTHING)
        rooms[certificate.claimant, node] = room
        left[node] = room + _freed(certificate) - certificate.needed
    return rooms


def _freed(certificate: Certificate) -> Resources:
    return sum((amount for _, amount in certificate.frees), NOTHING)


def _certificate_faults(world: World, eviction: EvictTask, certificate: Certificate, room: Resources) -> Iterator[str]:
    """What is wrong with a certificate of a claimant for which there is so much room."""
    task, node, idle = world.tasks[eviction.task], certificate.node, certificate.idle
    freed = _freed(certificate)
    if task.node != node or eviction.node != node:
        yield f"it is on node {task.node}, the room is made on {node}"
    elif idle.shortfall(room):
        yield f"idle is {room}, the certificate says {idle}"
    if any(amount != world.tasks[victim].shape.load for victim, amount in certificate.frees):
        yield "a victim frees something else than it takes"
    if lacking := certificate.needed.shortfall(idle + freed):
        yield f"the claimant still lacks {lacking}"
    for victim, amount in certificate.frees:
        if certificate.needed.fits_in(idle + freed - amount):
            yield f"task {victim} could be spared"
    if certificate.alone is not None and certificate.alone < certificate.cost:
        yield "a single pod would do for less"
    members = (world.tasks[id_] for id_ in world.jobs[certificate.claimant].tasks)
    if not certificate.needed.fits_in(sum((one.shape.load for one in members if one.node is None), NOTHING)):
        yield "the claimant does not need that much"


def _kept(world: World, now: Instant) -> set[JobId]:
    """The jobs for which a place is kept once the cycle has settled the quotas."""
    rows = (settled(world, quota, now) for quota in world.quotas.values())
    return {kept.job for row in rows for kept in row.reservations if kept.expires > now}


def _names(ids: Iterable[str]) -> str:
    return ", ".join(sorted(ids)) or "nobody"
