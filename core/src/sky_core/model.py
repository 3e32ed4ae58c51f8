"""The rows of the world. All are immutable: a change is a new row, and rows name each other by id, never by reference.

Instants are nanoseconds since 1970-01-01T00:00:00Z, durations nanoseconds. Amounts are `Resources`.
`Shape` and `QuotaSpec` are compared by identity: the intake makes one object of equal ones, so that what is asked of
one member of a class holds for all of them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NewType

import msgspec

from sky_core.constraints import (
    HostPort,
    NodeAffinity,
    NodeTerm,
    PodAffinity,
    QuotaAffinity,
    Spread,
    Taint,
    Toleration,
)
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import EVERYTHING, Labels, Selector
from sky_core.states import FINISHED, ON_NODE, Move, TaskState, after

TaskId = NewType("TaskId", str)  # a pod's uid
JobId = NewType("JobId", str)  # namespace/name of the PodGroup; of a pod without one, of the pod: see `Job.key`
QuotaName = NewType("QuotaName", str)
NodeName = NewType("NodeName", str)
QueueName = NewType("QueueName", str)
Instant = NewType("Instant", int)
Duration = NewType("Duration", int)

SECOND: Final = Duration(1_000_000_000)


class Pool(StrEnum):
    """The two pools into which a node splits its spot cards (behaviour.md 7.4)."""

    EXCLUSIVE = "exclusive"
    SHARED = "shared"


class Shape(msgspec.Struct, frozen=True, gc=False, kw_only=True, eq=False):
    """What decides where a task may go, its own identity and labels aside.

    `request` is what Kubernetes counts for the pod, `load` what it takes from its node's idle: an exclusive spot unit
    also takes the card behind it. `spot_units` is what it takes of its pool, in thousandths.
    """

    request: Resources
    load: Resources
    namespace: str
    selector: Selector = EVERYTHING
    node_affinity: NodeAffinity = NodeAffinity()
    tolerations: tuple[Toleration, ...] = ()
    pod_affinity: PodAffinity = PodAffinity()
    spread: tuple[Spread, ...] = ()
    ports: tuple[HostPort, ...] = ()
    volumes: tuple[tuple[NodeTerm, ...], ...] = ()
    mounts: tuple[str, ...] = ()
    spot: Pool | None = None
    spot_units: int = 0
    rdma: bool = False
    quota_affinity: Selector | None = None
    preferred_quota_affinity: Selector | None = None

    @property
    def looks_around(self) -> bool:
        """Whether its answer about one node depends on what other nodes hold."""
        return bool(self.spread) or self.pod_affinity != _NO_POD_AFFINITY


_NO_POD_AFFINITY: Final = PodAffinity()


class Task(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One pod, ours or foreign (`job` None). `rank` orders the tasks of a job; `place` is its rank in reservations.

    `quota` is the quota that it claims. `node` is the node that it is on or, while Allocated or Binding, will be on;
    a task that only claims a bound quota has none.
    """

    id: TaskId
    namespace: str
    name: str
    job: JobId | None
    shape: Shape
    labels: Labels
    created: Instant
    state: TaskState
    rank: tuple[object, ...] = ()
    place: str = ""
    role: str = ""
    priority: int = 0
    preempts: bool = True
    quota: QuotaName | None = None
    node: NodeName | None = None
    required_quota: QuotaName | None = None
    inherits: str | None = None
    gated: bool = False
    evicted: bool = False
    critical: bool = False
    reservation: Duration = Duration(0)
    started: Instant | None = None
    grace: Duration = Duration(0)

    @property
    def key(self) -> str:
        """Namespace/name, for people."""
        return f"{self.namespace}/{self.name}"

    @property
    def placed(self) -> bool:
        """Binding, Bound, Running, or Succeeded unless we evicted it (behaviour.md 1)."""
        return self.state in ON_NODE or (self.state is TaskState.SUCCEEDED and not self.evicted)

    @property
    def ready(self) -> bool:
        """Placed, or Allocated in this trial."""
        return self.state is TaskState.ALLOCATED or self.placed

    @property
    def unfinished(self) -> bool:
        """Whether it still takes what it requests."""
        return self.state not in FINISHED

    def moved(
        self, move: Move, *, quota: QuotaName | None = None, node: NodeName | None = None, evicted: bool = False
    ) -> "Task":
        """The row after a move, or `IllegalMove`. Its quota and node are those given, none where none is given."""
        state = after(self.key, self.state, move)
        return msgspec.structs.replace(self, state=state, quota=quota, node=node, evicted=evicted)


class Claim(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One pod's tie to one quota: an entry of the quota's `status.tasks`.

    `reservation` is how long its place is kept when the pod is lost; `reserved_until` the old expiry of a reservation
    that this claim took up, to which it returns when given back before the bind.
    """

    task: TaskId
    namespace: str
    name: str
    job: JobId
    place: str
    resources: Resources
    reservation: Duration = Duration(0)
    reserved_until: Instant | None = None


class Reservation(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A place kept for a lost task until `expires`: an entry of the quota's `status.reservedTasks`."""

    namespace: str
    job: JobId
    task: str
    place: str
    resources: Resources
    node: NodeName
    expires: Instant


class QuotaSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, eq=False):
    """What a quota declares. `named`: the resources that its request names, zeros too."""

    queue: QueueName
    request: Resources
    named: frozenset[str]
    labels: Labels
    shared_queues: tuple[QueueName, ...] = ()
    selector: Selector = EVERYTHING
    tolerations: tuple[Toleration, ...] = ()
    node_affinity: NodeAffinity = NodeAffinity()
    quota_affinity: QuotaAffinity = QuotaAffinity()
    static_node: NodeName | None = None

    @property
    def looks_around(self) -> bool:
        """Whether its answer about one node depends on what other quotas hold."""
        return self.quota_affinity != _NO_QUOTA_AFFINITY


_NO_QUOTA_AFFINITY: Final = QuotaAffinity()
BY_NODE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources that a quota need not name: then its node bounds them (behaviour.md 2)."""


class Quota(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A container of resources, and who holds what of it. `order` is its natural name (q-2 before q-10).

    `claimed` is the sum of `claims`: a column, so that idle is read off and never stored.
    """

    name: QuotaName
    uid: str
    spec: QuotaSpec
    created: Instant
    order: tuple[tuple[int, int, str], ...]
    node: NodeName | None = None
    static_bound: bool = False
    shadow: Resources = NOTHING
    claims: tuple[Claim, ...] = ()
    claimed: Resources = NOTHING
    reservations: tuple[Reservation, ...] = ()
    epoch: int = 0
    over_allocated: bool = False

    @property
    def capacity(self) -> Resources:
        """What tasks may claim: request + shadowResource."""
        return self.spec.request + self.shadow if self.shadow else self.spec.request

    @property
    def footprint(self) -> Resources:
        """What it takes of its node's quotaIdle: its request, and the claims on what it does not name."""
        if not self.claims:
            return self.spec.request
        return self.spec.request + self.claimed.only(BY_NODE).without(self.spec.named)

    def held(self, now: Instant) -> Resources:
        """What live reservations keep."""
        total = NOTHING
        for reservation in self.reservations:
            if reservation.expires > now:
                total += reservation.resources
        return total

    def idle(self, now: Instant) -> Resources:
        """Capacity less claims and live reservations. Unnamed cpu, memory and ephemeral-storage come out negative."""
        return self.capacity - self.claimed - self.held(now) if self.reservations else self.capacity - self.claimed

    def with_claim(self, claim: Claim) -> "Quota":
        """With one claim more."""
        return msgspec.structs.replace(self, claims=(*self.claims, claim), claimed=self.claimed + claim.resources)

    def without_claim(self, task: TaskId) -> "Quota":
        """Without this task's claim."""
        gone = next(claim for claim in self.claims if claim.task == task)
        rest = tuple(claim for claim in self.claims if claim is not gone)
        return msgspec.structs.replace(self, claims=rest, claimed=self.claimed - gone.resources)

    def with_reservations(self, reservations: tuple[Reservation, ...]) -> "Quota":
        """With these reservations in the place of its own."""
        return msgspec.structs.replace(self, reservations=reservations)

    def on(self, node: NodeName | None) -> "Quota":
        """Bound to this node, or to none."""
        return msgspec.structs.replace(self, node=node)


class Mount(msgspec.Struct, frozen=True, gc=False):
    """What a node's `infiniai-fs-<id>` condition says."""

    ready: bool
    heartbeat: Instant


class Node(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a node is. What it has left stands in its `Book`.

    `index` is its physical order (None: last); `spec` what card it has (empty: unknown); `zone` its RDMA topology key.
    """

    name: NodeName
    uid: str
    labels: Labels
    created: Instant
    index: int | None = None
    spec: str = ""
    zone: str | None = None
    fabric: str = ""
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    ready_since: Instant = Instant(0)
    unschedulable: bool = False
    mounts: Mapping[str, Mount] = {}
    pods_max: int = 110
    shared: int = 0
    exclusive: int = 0

    @property
    def order(self) -> tuple[bool, int, str]:
        """Index order; nodes without an index last; equal indexes by name."""
        return (self.index is None, self.index or 0, self.name)


class Book(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A node's two ledgers, as columns (behaviour.md 4). Idle amounts are read off them and may be negative.

    `used`: every unfinished pod on the node; `outside`: of these, what is neither spot nor holds a claim on a quota
    bound here; `releasing`: of `used`, what terminating pods will give back; `releasing_outside`: of `outside`,
    likewise; `promised`: the footprints of the quotas bound here; `pipelined`: what waits for room here;
    `pods` counts; `shared` and `exclusive` are spot units in use, in thousandths.
    """

    allocatable: Resources
    used: Resources = NOTHING
    outside: Resources = NOTHING
    releasing: Resources = NOTHING
    releasing_outside: Resources = NOTHING
    promised: Resources = NOTHING
    pipelined: Resources = NOTHING
    pods: int = 0
    shared: int = 0
    exclusive: int = 0

    @property
    def idle(self) -> Resources:
        """Free for a pod now."""
        return self.allocatable - self.used

    @property
    def quota_idle(self) -> Resources:
        """Free for a promise now."""
        return self.allocatable - self.promised - self.outside

    @property
    def future_idle(self) -> Resources:
        """Free when what terminates is gone and who waits for it has come."""
        return self.allocatable - self.used + self.releasing - self.pipelined


class Topology(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How a job wants its communication group placed (behaviour.md 5.2, 7.2). `on` False: it has none."""

    on: bool = False
    strict: bool = False
    required: bool = False
    patience: Duration = Duration(0)
    affinity_key: str = ""


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A gang: the tasks of a PodGroup, or one pod without a group. `tasks` are in rank order.

    `waiting_since`: since when it waits for a single zone (its WaitingForZone condition). `fault`: the job is
    malformed, with the field and the fault. `known` False: pods name a PodGroup that does not exist. `version` counts
    the changes of the job itself: of its PodGroup, and of which pods it has.
    """

    id: JobId
    namespace: str
    name: str
    queue: QueueName
    created: Instant
    tasks: tuple[TaskId, ...] = ()
    labels: Labels = {}
    min_member: int = 1
    min_task_member: tuple[tuple[str, int], ...] = ()
    min_resources: Resources = NOTHING
    priority: int = 0
    preempts: bool = True
    topology: Topology = Topology()
    grouped: bool = True
    known: bool = True
    fault: str = ""
    phase: str = ""
    waiting_since: Instant | None = None
    version: int = 0

    @property
    def key(self) -> str:
        """Namespace/name, for people."""
        return f"{self.namespace}/{self.name}"


class Queue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who a job is charged to. `capability` caps what it names; `namespaces` None: every namespace may use it."""

    name: QueueName
    created: Instant
    weight: int = 1
    priority: int = 0
    capability: Mapping[str, int] | None = None
    namespaces: Selector | None = None
    open: bool = True
    fault: str = ""


class JobQueue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A prioritised sub-queue of a Queue, which picks its jobs by label."""

    name: str
    queue: QueueName
    created: Instant
    priority: int = 0
    jobs: Selector = EVERYTHING
    running_max: int | None = None
    capability: Mapping[str, int] | None = None
    strict: bool = False
    suspended: bool = False


class Budget(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A PodDisruptionBudget: how many pods it lets go now."""

    namespace: str
    name: str
    pods: Selector
    allowed: int


class ZoneId(msgspec.Struct, frozen=True, gc=False):
    """A zone is a topology key within one spec code, so that cards never mix."""

    spec: str
    key: str


class Zone(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The nodes of one RDMA switch domain with one kind of card, in index order."""

    id: ZoneId
    fabric: str
    nodes: tuple[NodeName, ...]
