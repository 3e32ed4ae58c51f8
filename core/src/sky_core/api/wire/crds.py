"""Our own kinds, with every field that they have; the bounds are those of their schemas (contracts.md)."""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sky_core.api.wire.meta import Amounts, Condition, Count, Int32, LabelSelector, NodeAffinity, ObjectMeta, Toleration

Name = Annotated[str, Meta(max_length=253)]
Label = Annotated[str, Meta(max_length=63)]
Time = Annotated[str, Meta(max_length=64)]
Text = Annotated[str, Meta(max_length=1024)]
Sums: TypeAlias = Annotated[Amounts, Meta(max_length=64)]
Bounded: TypeAlias = Annotated[Amounts, Meta(max_length=16)]
BySpec: TypeAlias = Annotated[dict[str, Bounded], Meta(max_length=64)]
Conditions: TypeAlias = Annotated[tuple[Condition, ...], Meta(max_length=16)]
Seconds = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Epoch = Annotated[int, Meta(ge=0, le=2**53)]


class QuotaAffinityTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Other quotas near which a quota must be, or not."""

    label_selector: LabelSelector = LabelSelector()
    topology_key: Annotated[str, Meta(max_length=317)] = "kubernetes.io/hostname"


class PreferredQuotaTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A term with its weight."""

    weight: Annotated[int, Meta(ge=1, le=100)]
    label_selector: LabelSelector = LabelSelector()
    topology_key: Annotated[str, Meta(max_length=317)] = "kubernetes.io/hostname"


class QuotaTerms(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Terms that must hold, and terms that are better met."""

    required: Annotated[tuple[QuotaAffinityTerm, ...], Meta(max_length=16)] = ()
    preferred: Annotated[tuple[PreferredQuotaTerm, ...], Meta(max_length=16)] = ()


class QuotaAffinity(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a quota asks of nodes and of other quotas."""

    node_affinity: NodeAffinity = NodeAffinity()
    quota_affinity: QuotaTerms = QuotaTerms()
    quota_anti_affinity: QuotaTerms = QuotaTerms()


class QuotaSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a quota declares."""

    queue_name: Name = "default"
    request: Bounded = {}
    node_selector: Annotated[dict[str, str], Meta(max_length=32)] = {}
    tolerations: Annotated[tuple[Toleration, ...], Meta(max_length=32)] = ()
    affinity: QuotaAffinity | None = None
    shared_queues: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    static_bind_node: Name = ""


class QuotaTask(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A claim: which pod holds how much."""

    namespace: Name
    name: Name
    uid: Annotated[str, Meta(max_length=600, min_length=1)]
    job: Annotated[str, Meta(max_length=260)] = ""
    rank: Annotated[str, Meta(max_length=400)] = ""
    resources: Bounded = {}
    reservation_seconds: Seconds = 0
    reserved_until: Time = ""


class ReservedTask(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A reservation: whose place is kept, and until when."""

    namespace: Name
    job: Annotated[str, Meta(max_length=260)]
    task: Name = ""
    rank: Annotated[str, Meta(max_length=400)] = ""
    resources: Bounded = {}
    node_name: Name = ""
    expires_at: Time


class StaticBindStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What quota-fixer made of `staticBindNode`."""

    node_name: Name = ""
    bound: bool = False


class QuotaStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Where a quota is, and who holds what of it."""

    phase: Literal["", "QuotaEmpty", "QuotaBound"] = ""
    node_name: Name = ""
    allocated: Sums = {}
    shadow_resource: Bounded = {}
    static_bind_status: StaticBindStatus = StaticBindStatus()
    tasks: Annotated[tuple[QuotaTask, ...], Meta(max_length=256)] = ()
    reserved_tasks: Annotated[tuple[ReservedTask, ...], Meta(max_length=256)] = ()
    epoch: Epoch = 0
    conditions: Conditions = ()


class Quota(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A container of resources."""

    metadata: ObjectMeta
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class PodGroupSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a job asks for."""

    min_member: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    min_task_member: Annotated[dict[Label, Count], Meta(max_length=64)] = {}
    min_resources: Bounded = {}
    queue: Name = "default"
    priority_class_name: Name = ""


class PodGroupReason(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One finding of a job's verdict."""

    code: Label
    count: Count = 0
    needed: Bounded = {}
    available: Bounded = {}
    examples: Annotated[tuple[Text, ...], Meta(max_length=3)] = ()
    message: Text = ""


class PodGroupStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """How far a job is."""

    phase: Literal["", "Pending", "Inqueue", "Running", "Unknown", "Completed"] = ""
    pending: Count = 0
    running: Count = 0
    succeeded: Count = 0
    failed: Count = 0
    conditions: Conditions = ()
    rung: Label = ""
    reasons: Annotated[tuple[PodGroupReason, ...], Meta(max_length=64)] = ()
    next_attempt_time: Time = ""


class PodGroup(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A job."""

    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class QueueSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Who may use a queue, and how much."""

    weight: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    priority: Int32 = 0
    capability: Bounded | None = None
    namespace_selector: LabelSelector | None = None
    state: Literal["Open", "Closed"] = "Open"


class QueueStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a queue holds, by spec code."""

    allocated: Sums = {}
    spec_allocatable: BySpec = {}
    spec_allocated: BySpec = {}
    spec_shadow: BySpec = {}
    pending: Count = 0
    running: Count = 0


class Queue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who jobs are charged to."""

    metadata: ObjectMeta
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class JobQueueSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Which jobs of a queue, and how many of them."""

    queue_name: Name = "default"
    priority: Int32 = 0
    job_selector: LabelSelector = LabelSelector()
    max_running_jobs: Count | None = None
    capability: Bounded | None = None
    policy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    suspend: bool = False


class JobQueueStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a job queue holds."""

    pending: Count = 0
    running: Count = 0
    allocated: Sums = {}


class JobQueue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A prioritised part of a queue."""

    metadata: ObjectMeta
    spec: JobQueueSpec = JobQueueSpec()
    status: JobQueueStatus = JobQueueStatus()


class Nic(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """An RDMA NIC, and the switch that it is plugged into."""

    name: Name
    switch_name: Name = ""
    switch_id: Name = ""
    rdma_device: Name = ""
    switch_port: Name = ""
    stale: bool = False


class Net(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The NICs of a node, by fabric."""

    roce: Annotated[tuple[Nic, ...], Meta(max_length=64)] = ()
    ib: Annotated[tuple[Nic, ...], Meta(max_length=64)] = ()


class NodeTopologySpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What was discovered about a node's network."""

    net: Net = Net()


class Hca(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """An InfiniBand adapter by its GUIDs."""

    device: Name
    node_guid: Label = ""
    port_guids: Annotated[tuple[Label, ...], Meta(max_length=16)] = ()


class NodeTopologyStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a node's agent saw last."""

    hcas: Annotated[tuple[Hca, ...], Meta(max_length=64)] = ()
    last_seen: Time = ""


class NodeTopology(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Which switch each RDMA NIC of a node is plugged into."""

    metadata: ObjectMeta
    spec: NodeTopologySpec = NodeTopologySpec()
    status: NodeTopologyStatus = NodeTopologyStatus()
