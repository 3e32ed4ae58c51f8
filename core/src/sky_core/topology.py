"""Zones: which of them hold a gang, in what order they are preferred, and how ranks go onto their nodes.

All of it is arithmetic over slots (how many of a gang's quotas a node takes); who counts them is no concern here.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from sky_core.model import Job, Node, NodeName, QuotaName, Task, Zone, ZoneId
from sky_core.reasons import Finding
from sky_core.world import World


class Layout(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A zone algorithm's answer: seats for quotas in rank order, or why there are none.

    `waits`: a single zone is waited for, by the job's patience.
    """

    seats: Mapping[QuotaName, NodeName] = {}
    refusal: tuple[Finding, ...] = ()
    waits: bool = False


def spread(slots: Sequence[int], count: int) -> list[int]:
    """How many each node takes, in index order, evenly and without falling behind (behaviour.md 7.2).

    Nodes without slots are left out; the sum is `count` if the slots suffice.
    """
    taken: list[int] = []
    left, later = count, sum(slots)
    nodes = len(slots) - slots.count(0)
    for slot in slots:
        if not left:
            return taken + [0] * (len(slots) - len(taken))
        if not slot:
            taken.append(0)
            continue
        later -= slot
        share = min(slot, max(-(-left // nodes), left - later))
        taken.append(share)
        left -= share
        nodes -= 1
    return taken


def pack(slots: Sequence[int], count: int) -> list[int]:
    """How many each node takes when each is filled before the next."""
    taken, left = [], count
    for slot in slots:
        taken.append(min(slot, left))
        left -= taken[-1]
    return taken


RANKS = {"spread": spread, "pack": pack}


def fewest(slots: Sequence[int], count: int, *, last: int = 0) -> list[tuple[int, int]] | None:
    """Zones by position, and how many each takes: the smallest k whose k largest hold `count`.

    The k - 1 with most slots are filled (of equal ones the first), the last is the smallest that still holds the rest.
    The `last` positions at the end are touched only when all others are filled. None: they hold it not even together.
    """
    heads = len(slots) - last
    order = sorted(range(heads), key=lambda i: -slots[i]) + sorted(range(heads, len(slots)), key=lambda i: -slots[i])
    filled: list[tuple[int, int]] = []
    left = count
    for at, zone in enumerate(order):
        if not slots[zone]:
            continue
        if slots[zone] >= left:
            rest = [i for i in order[at:] if slots[i] >= left and (i >= heads) == (zone >= heads)]
            return [*filled, (min(rest, key=lambda i: (slots[i], i)), left)]
        filled.append((zone, slots[zone]))
        left -= slots[zone]
    return None


def shortest_run(slots: Sequence[int], count: int) -> tuple[int, int] | None:
    """The shortest maximal run of nodes with slots that holds `count`, as [begin, end); the first of equal ones."""
    best: tuple[int, int] | None = None
    begin = 0
    for end in range(len(slots) + 1):
        if end < len(slots) and slots[end]:
            continue
        if sum(slots[begin:end]) >= count and end > begin and (best is None or end - begin < best[1] - best[0]):
            best = (begin, end)
        begin = end + 1
    return best


def interleave(one: Zone, other: Zone, nodes: dict[NodeName, Node]) -> bool:
    """Whether neither zone's nodes all come before the other's in index order."""
    first, second = sorted((one, other), key=lambda zone: nodes[zone.nodes[0]].order)
    return nodes[first.nodes[-1]].order > nodes[second.nodes[0]].order


def home(world: World, task: Task) -> NodeName | None:
    """Where a task is or will be: its node, or that of the bound quota that it claims."""
    if task.node is not None or task.quota is None:
        return task.node
    quota = world.quotas.get(task.quota)
    return quota.node if quota is not None else None


def homes(world: World, job: Job, *, zoned: bool) -> list[tuple[Task, NodeName]]:
    """The job's tasks that have a place, in rank order; with `zoned` only those in its communication group."""
    tasks, quotas, nodes = world.tasks, world.quotas, world.nodes
    # As `home`, which would be called for each task of each gang, again and again.
    found = [
        (task, node)
        for task in [tasks[id_] for id_ in job.tasks]
        if (node := task.node or (quotas[task.quota].node if task.quota in quotas else None)) is not None
        and node in nodes
        and task.unfinished
    ]
    if zoned and found and any(world.tasks[id_].shape.rdma for id_ in job.tasks):
        return [(task, node) for task, node in found if task.shape.rdma]
    return found


def in_group(world: World, job: Job, task: Task) -> bool:
    """Whether a task of a topology job is zoned and ranked: where some request RDMA, only these (behaviour.md 1)."""
    return task.shape.rdma or not any(world.tasks[id_].shape.rdma for id_ in job.tasks)


def zone_of(node: Node) -> ZoneId | None:
    """The zone of a node, within its spec code."""
    return ZoneId(node.spec, node.zone) if node.zone is not None else None


def population(world: World, there: Sequence[tuple[Task, NodeName]]) -> Counter[ZoneId]:
    """How many of these `homes` each zone has."""
    zones = (zone_of(world.nodes[node]) for _, node in there)
    return Counter(zone for zone in zones if zone is not None)


def kin(world: World, job: Job) -> Counter[ZoneId]:
    """How many tasks with the job's topology-affinity-key, of its Queue, each zone has."""
    found: Counter[ZoneId] = Counter()
    for other in world.jobs.values():
        if other.topology.affinity_key == job.topology.affinity_key and other.queue == job.queue:
            found += population(world, homes(world, other, zoned=True))
    return found


def zone_ranks(world: World) -> dict[ZoneId, int]:
    """What decides between zones that are equally good otherwise: fewer nodes, lowest first index, name."""

    def order(zone: Zone) -> tuple[int, tuple[bool, int, str], str]:
        return (len(zone.nodes), world.nodes[zone.nodes[0]].order, zone.id.key)

    return {zone.id: rank for rank, zone in enumerate(sorted(world.zones.values(), key=order))}


class ZoneOrder:
    """The order in which zones are preferred for a job (behaviour.md 7.2); the least key first."""

    def __init__(
        self, world: World, job: Job, there: Sequence[tuple[Task, NodeName]], ranks: Mapping[ZoneId, int]
    ) -> None:
        """As the world stands now. `there`: the job's zoned `homes`; `ranks`: its `zone_ranks`."""
        self._ranks = ranks
        self.siblings: Mapping[ZoneId, int] = population(world, there) if there else {}
        self.kin: Mapping[ZoneId, int] = kin(world, job) if job.topology.affinity_key else {}

    def key(self, zone: Zone, cost: int, left: int) -> tuple[int, ...]:
        """Most siblings, most kin, least predicted cost of evictions, least left over, then by rank."""
        id_ = zone.id
        return (-self.siblings.get(id_, 0), -self.kin.get(id_, 0), cost, left, self._ranks[id_])
