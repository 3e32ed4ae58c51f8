"""The plain way to do what the core does cleverly: what its caches and its arithmetic must agree with.

It asks every plugin for every pair each time, looks through all quotas for each task, gives every job its turn, and
counts slots by putting copies of a parcel onto a node until it refuses one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, cmp_to_key
from typing import Any

import numpy as np
from msgspec.structs import replace

from sky_core.columns import Numbers
from sky_core.cycle import Outcome, schedule
from sky_core.memory import Memory
from sky_core.model import (
    Claim,
    Instant,
    Job,
    JobId,
    Node,
    NodeName,
    QueueName,
    Quota,
    QuotaName,
    Shape,
    Task,
    TaskId,
    Zone,
    ZoneId,
)
from sky_core.plugin import Area, Field, Parcel
from sky_core.policy import Points, Policy
from sky_core.reasons import Finding, Reason
from sky_core.register import Shelf
from sky_core.resources import Resources
from sky_core.session import Session
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.topology import zone_of, zone_ranks
from sky_core.world import World


def schedule_naively(world: World, memory: Memory, policy: Policy, now: Instant) -> tuple[Outcome, Memory]:
    """A cycle in which every plugin is asked for every pair, and every job, each time."""
    return schedule(world, memory, policy, now, survey=Naive, shelves=NaiveShelves, turns=naive_turns)


class Naive:
    """A `Survey` that remembers nothing."""

    def __init__(self, world: World, points: Points, _frees: Callable[[NodeName], Resources]) -> None:
        """What could become free is left to the plugins that ask for it."""
        self._world = world
        self._points = points

    def nodes(self, area: Area) -> tuple[NodeName, ...]:
        """Every node of the cluster, if it is in the area."""
        rows = sorted(self._world.nodes.values(), key=lambda node: node.order)
        return tuple(node.name for node in rows if _inside(node, area))

    def refusals(self, parcel: Parcel, node: NodeName) -> tuple[Reason, ...]:
        """What the plugins say of this pair."""
        row = self._world.nodes[node]
        refused: tuple[Reason, ...] = self._ask("select", parcel, row)
        return refused or self._ask("predicate", parcel, row)

    def slots(self, parcel: Parcel, node: NodeName) -> int:
        """How many copies the node takes, one after the other; at most one of a parcel that looks around."""
        if self.refusals(parcel, node):
            return 0
        if self.depends(parcel):
            return 1
        with Statement(self._world, Instant(0)) as trial:
            taken = 0
            while not self.refusals(copy := _copy(parcel, taken), node):
                self._put(trial, copy, node)
                taken += 1
        return taken

    def slots_on(self, parcel: Parcel, nodes: Sequence[NodeName]) -> list[int]:
        """Each of them in turn."""
        return [self.slots(parcel, node) for node in nodes]

    def answers(self, parcel: Parcel) -> list[tuple[tuple[Reason, ...], Sequence[int]]]:
        """Each of them in turn."""
        return [(self.refusals(parcel, node), (at,)) for at, node in enumerate(self.nodes(Area()))]

    @cached_property
    def lent(self) -> bool:
        """By the books of all nodes."""
        return any(book.exclusive or book.shared for book in self._world.books.values())

    def depends(self, parcel: Parcel) -> bool:
        """Whether the parcel looks around, or anybody in the world keeps such as it away."""
        pods = (term for task in self._world.tasks.values() for term in task.shape.pod_affinity.anti_required)
        quotas = (term for quota in self._world.quotas.values() for term in quota.spec.quota_affinity.anti_required)
        return (
            parcel.looks_around
            or any(term.selector.matches(task.labels) for term in pods for task in parcel.tasks)
            or any(term.selector.matches(parcel.quota.spec.labels) for term in quotas)
        )

    def holds(self, _parcels: Sequence[Parcel], _area: Area) -> bool:
        """All are tried."""
        return False

    def takes_all(self, _parcels: Sequence[Parcel], _seats: Mapping[NodeName, int]) -> bool:
        """Each is asked about."""
        return False

    def binds(self, _task: Task, _node: Node) -> int:
        """Each is asked about."""
        return 0

    def placed(self, parcel: Parcel, seats: Mapping[NodeName, int]) -> None:
        """Nothing is remembered."""

    def total(self, parcel: Parcel, area: Area) -> int:
        """Node by node."""
        return sum(self.slots(parcel, node) for node in self.nodes(area))

    def by_zone(self, parcel: Parcel) -> Numbers:
        """Zone by zone."""
        return np.array([self.total(parcel, Area(zone.spec, zone)) for zone in self._world.zones], dtype=np.int64)

    @property
    def zone_ranks(self) -> dict[ZoneId, int]:
        """Counted each time."""
        return zone_ranks(self._world)

    def tightest(self, parcel: Parcel, area: Area, count: int) -> Zone | None:
        """All zones side by side."""
        ranks, zones = self.zone_ranks, self._world.zones.values()
        inside = [z for z in zones if area.spec in (None, z.id.spec) and area.zone in (None, z.id)]
        keyed = [(self.total(parcel, Area(z.id.spec, z.id)), ranks[z.id], z) for z in inside]
        return min(((slots, rank, z) for slots, rank, z in keyed if slots >= count), default=(0, 0, None))[2]

    def lasts(self, _parcel: Parcel, _node: NodeName) -> int:
        """Looked for each time."""
        return 1

    def told(self, _parcel: Parcel, _area: Area, tell: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
        """Told each time."""
        return tell()

    def best(self, parcel: Parcel, area: Area) -> NodeName | None:
        """Of all nodes that do not refuse, side by side."""
        names = [name for name in self.nodes(area) if not self.refusals(parcel, name)]
        rows = [self._world.nodes[name] for name in names]
        if not rows:
            return None
        picked: NodeName | None = self._ask("best", parcel, rows)
        field = Field(rows)
        scores = [self._ask("order", parcel, row, field) + self._ask("batchOrder", parcel, row, field) for row in rows]
        return picked or rows[scores.index(max(scores))].name

    def _ask(self, stage: str, parcel: Parcel, *about: Any) -> Any:
        bundle, who = ("tn", parcel.tasks[0]) if parcel.direct else ("qn", parcel)
        return self._points[f"{bundle}.{stage}"](who, *about)

    def _put(self, trial: Statement, copy: Parcel, node: NodeName) -> None:
        world = self._world
        for task in copy.tasks:
            world.put(world.tasks, task.id, task)
        if copy.direct:
            trial.allocate(copy.tasks[0], node)
        else:
            world.put(world.quotas, copy.quota.name, copy.quota)
            trial.bind_quota(copy.quota.name, node)


def naive_turns(session: Session) -> Iterator[Job]:
    """Each job has its own, whoever is alike; all are compared with each other by jobOrder alone."""
    world, order = session.world, cmp_to_key(session.points["jobOrder"])
    queue_order = cmp_to_key(session.points["queueOrder"])
    waiting: dict[QueueName, list[Job]] = defaultdict(list)
    for id_ in session.holdings.restless:
        waiting[world.jobs[id_].queue].append(world.jobs[id_])
    for name in sorted(waiting.keys() - world.queues.keys()):
        yield from sorted(waiting.pop(name), key=lambda job: job.id)
    for jobs in waiting.values():
        jobs.sort(key=lambda job: (order(job), job.created, job.id), reverse=True)

    def standing(name: QueueName) -> tuple[Any, ...]:
        return (queue_order(world.queues[name]), world.queues[name].created, name)

    while waiting:
        queue = min(waiting, key=standing)
        yield waiting[queue].pop()
        if not waiting[queue]:
            del waiting[queue]


class NaiveShelves:
    """A `Shelving` that looks through all quotas each time."""

    runs = False

    def __init__(self, world: World, now: Instant) -> None:
        """Only the numbers of shelves are kept, by which a job counts what it took of each, and their order."""
        self._world = world
        self._now = now
        quotas = sorted(world.quotas.values(), key=lambda quota: quota.order)
        shapes = dict.fromkeys((quota.spec, quota.shadow) for quota in quotas if not _has_place(quota, self._now))
        self._numbers = {shape: number for number, shape in enumerate(shapes)}

    def homes(self, queue: QueueName, _request: Resources) -> list[QuotaName]:
        """Those that have a place, or will."""
        return [quota.name for quota in self._usable(queue) if _has_place(quota, self._now)]

    def free(self, queue: QueueName) -> list[Shelf]:
        """Those that nobody holds, together where they are of one shape."""
        shelves: dict[int, Shelf] = {}
        for quota in self._usable(queue):
            if _has_place(quota, self._now) or quota.claims:
                continue
            number = self._numbers.setdefault((quota.spec, quota.shadow), len(self._numbers))
            shelves.setdefault(number, Shelf(number, quota.spec, quota.shadow)).names.append(quota.name)
        return [shelves[number] for number in sorted(shelves)]

    def head(self, shelf: Shelf) -> Quota | None:
        """The first that is free still."""
        quotas = (self._world.quotas[name] for name in shelf.names)
        return next((quota for quota in quotas if not _has_place(quota, self._now) and not quota.claims), None)

    def row(self, shelf: Shelf, count: int) -> list[Quota]:
        """The first."""
        head = self.head(shelf) if count else None
        return [head] if head is not None else []

    def left(self, shelf: Shelf) -> int:
        """How many are free still."""
        quotas = (self._world.quotas[name] for name in shelf.names)
        return sum(not _has_place(quota, self._now) and not quota.claims for quota in quotas)

    def suits(self, _shelf: Shelf, _shape: Shape, ask: Callable[[], bool]) -> bool:
        """Asked each time."""
        return ask()

    def put_back(self, quotas: Sequence[QuotaName]) -> None:
        """Seen when next looked for."""

    def _usable(self, queue: QueueName) -> list[Quota]:
        quotas = sorted((q for q in self._world.quotas.values() if not q.pending), key=lambda quota: quota.order)
        return [quota for quota in quotas if queue == quota.spec.queue or queue in quota.spec.shared_queues]


def _has_place(quota: Quota, now: Instant) -> bool:
    return quota.node is not None or quota.spec.static_node is not None or quota.keeps_place(now)


def _inside(node: Node, area: Area) -> bool:
    return area.spec in (None, node.spec) and area.zone in (None, zone_of(node))


def _copy(parcel: Parcel, number: int) -> Parcel:
    """A further quota like the parcel's, claimed by further tasks like its own, which are nowhere yet."""
    name = QuotaName(f"{parcel.quota.name}#{number}")
    state, claimed = (TaskState.PENDING, None) if parcel.direct else (TaskState.ALLOCATED_TO_QUOTA, name)
    tasks = tuple(
        replace(task, id=TaskId(f"{task.id}#{number}"), state=state, quota=claimed, node=None) for task in parcel.tasks
    )
    quota = replace(parcel.quota, name=name, node=None, claims=tuple(map(_claim, tasks)))
    return Parcel(job=parcel.job, quota=quota, tasks=tasks, direct=parcel.direct)


def _claim(task: Task) -> Claim:
    return Claim(
        task=task.id,
        namespace=task.namespace,
        name=task.name,
        job=JobId(str(task.job)),
        place=task.place,
        resources=task.shape.request,
    )
