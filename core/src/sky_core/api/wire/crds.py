"""Our own kinds, with every field that they have, but for NodeTopology (`sky_core.api.wire.topology`).

The schemas in `deploy/crds` are made from these structs: types, bounds, defaults and what `extra_json_schema` adds from
their fields, descriptions from their docstrings.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sky_core.api.wire.bounds import NAMES, Bounded, BySpec, Conditions, Label, Left, Name, Request, Sums, Text, Time
from sky_core.api.wire.meta import Count, Int32, LabelSelector, NodeAffinity, ObjectMeta, Toleration
from sky_core.settings import PREFIX

TopologyKey = Annotated[
    str, Meta(max_length=317, extra_json_schema={"enum": ["kubernetes.io/hostname", f"{PREFIX}zone"]})
]
Labels: TypeAlias = Annotated[
    dict[str, str],
    Meta(
        max_length=32,
        extra_json_schema={
            "additionalProperties": {"type": "string", "maxLength": 63},
            "x-kubernetes-map-type": "atomic",
            **NAMES,
        },
    ),
]
Roles: TypeAlias = Annotated[dict[Label, Count], Meta(max_length=64, extra_json_schema=NAMES)]
Seconds = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Epoch = Annotated[int, Meta(ge=0, le=2**53)]


class QuotaAffinityTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Other quotas near which a quota must be, or not.

    Attributes:
        label_selector: Which quotas, by their labels.
        topology_key: What counts as near - the same node or the same zone.
    """

    label_selector: LabelSelector = LabelSelector()
    topology_key: TopologyKey = "kubernetes.io/hostname"


class PreferredQuotaTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A term with its weight.

    Attributes:
        weight: How much it counts, beside the other terms.
        label_selector: Which quotas, by their labels.
        topology_key: What counts as near - the same node or the same zone.
    """

    weight: Annotated[int, Meta(ge=1, le=100)]
    label_selector: LabelSelector = LabelSelector()
    topology_key: TopologyKey = "kubernetes.io/hostname"


class QuotaTerms(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Terms that must hold, and terms that are better met.

    Attributes:
        required: A node is no candidate unless each of them holds.
        preferred: A node scores by the weights of those that hold.
    """

    required: Annotated[tuple[QuotaAffinityTerm, ...], Meta(max_length=16)] = ()
    preferred: Annotated[tuple[PreferredQuotaTerm, ...], Meta(max_length=16)] = ()


class QuotaAffinity(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a quota asks of nodes and of other quotas.

    Attributes:
        node_affinity: As a pod's.
        quota_affinity: Quotas to be near to.
        quota_anti_affinity: Quotas to keep away from.
    """

    node_affinity: NodeAffinity = NodeAffinity()
    quota_affinity: QuotaTerms = QuotaTerms()
    quota_anti_affinity: QuotaTerms = QuotaTerms()


class QuotaSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a quota declares.

    Attributes:
        queue_name: The queue whose jobs may use it.
        request: How much it holds, by resource. Of an extended resource that it does not name it holds nothing; cpu,
            memory and ephemeral-storage that it does not name are bounded by the node.
        node_selector: Labels that its node must have.
        tolerations: Taints of a node that it puts up with.
        affinity: What else it asks of nodes, and of other quotas.
        shared_queues: Further queues whose jobs may use it.
        static_bind_node: The node that people choose for it; the scheduler then places it nowhere else.
    """

    queue_name: Name = "default"
    request: Request = {}
    node_selector: Labels = {}
    tolerations: Annotated[tuple[Toleration, ...], Meta(max_length=32)] = ()
    affinity: QuotaAffinity | None = None
    shared_queues: Annotated[tuple[Name, ...], Meta(max_length=64)] = ()
    static_bind_node: Name = ""


class QuotaTask(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A claim: which pod holds how much.

    Attributes:
        namespace: The pod's.
        name: The pod's.
        uid: The pod's.
        job: The job that the pod belongs to, in its namespace.
        rank: The place in its job to which a successor of the pod may return.
        resources: How much the pod holds.
        reservation_seconds: For how long its place is kept once the pod has ended; 0 - not at all.
        reserved_until: When the reservation that this claim took up would have expired.
    """

    namespace: Name
    name: Name
    uid: Annotated[str, Meta(max_length=600, min_length=1)]
    job: Annotated[str, Meta(max_length=260)] = ""
    rank: Annotated[str, Meta(max_length=400)] = ""
    resources: Bounded = {}
    reservation_seconds: Seconds = 0
    reserved_until: Time = ""


class ReservedTask(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A reservation: whose place is kept, and until when.

    Attributes:
        namespace: The namespace in which somebody may return.
        job: The job that may return.
        task: The pod that held the place.
        rank: The place in its job.
        resources: How much is kept.
        node_name: The node on which the pod ran.
        expires_at: From then on anybody may use it.
    """

    namespace: Name
    job: Annotated[str, Meta(max_length=260)]
    task: Name = ""
    rank: Annotated[str, Meta(max_length=400)] = ""
    resources: Bounded = {}
    node_name: Name = ""
    expires_at: Time


class StaticBindStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What quota-fixer made of `staticBindNode`.

    Attributes:
        node_name: The node that it was bound to.
        bound: Whether it is.
    """

    node_name: Name = ""
    bound: bool = False


class QuotaStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Where a quota is, and who holds what of it.

    Attributes:
        phase: Whether it has a node.
        node_name: The node that keeps room for it.
        allocated: What the claims in `tasks` add up to.
        shadow_resource: What tasks may claim beyond `spec.request`, written by people or an orchestrator.
        static_bind_status: What became of `spec.staticBindNode`.
        tasks: The claims, one for each pod.
        reserved_tasks: The places that are kept for pods to return to.
        epoch: The scheduler's term of office in which this was written; it never falls.
        conditions: Bound, StaticBound, Drifted, OverAllocated.
    """

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
    """A container of resources: so much, for this queue, on this kind of node. The scheduler binds it to one node."""

    metadata: ObjectMeta
    spec: QuotaSpec = QuotaSpec()
    status: QuotaStatus = QuotaStatus()


class PodGroupSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a job asks for.

    Attributes:
        min_member: How many pods must be able to start together; until then none does.
        min_task_member: The same for each role.
        min_resources: What must be left of the queue's capability to let the job in.
        queue: The queue that the job is charged to.
        priority_class_name: The PriorityClass that orders it among jobs.
    """

    min_member: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    min_task_member: Roles = {}
    min_resources: Request = {}
    queue: Name = "default"
    priority_class_name: Name = ""


class PodGroupReason(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One finding of a job's verdict.

    Attributes:
        code: What is amiss, from a closed vocabulary, for programs.
        count: How many objects it is true of.
        needed: What was asked for.
        available: What there was; less than nothing of what is overdrawn.
        examples: Up to three of the objects.
        message: The same for people.
    """

    code: Label
    count: Count = 0
    needed: Bounded = {}
    available: Left = {}
    examples: Annotated[tuple[Text, ...], Meta(max_length=3)] = ()
    message: Text = ""


class PodGroupStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """How far a job is.

    Attributes:
        phase: Pending, Inqueue once it is admitted, Running once enough pods have a place, Unknown where a started job
            lacks some, Completed.
        pending: How many pods wait.
        running: How many pods run.
        succeeded: How many pods have succeeded.
        failed: How many pods have failed.
        conditions: Unschedulable, Scheduled, WaitingForZone.
        rung: How far the last attempt came.
        reasons: Why it came no farther.
        next_attempt_time: When it is tried next, where it backs off.
    """

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
    """A job: the pods of one gang, and how many of them must start together."""

    metadata: ObjectMeta
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class QueueSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Who may use a queue, and how much.

    Attributes:
        weight: Its share beside other queues of its priority.
        priority: Queues of higher priority go first.
        capability: The most that its jobs may hold, by resource.
        namespace_selector: The namespaces that may use it; all, if it is absent.
        state: A closed queue starts no job; what has started is completed.
    """

    weight: Annotated[int, Meta(ge=1, le=2**31 - 1)] = 1
    priority: Int32 = 0
    capability: Request | None = None
    namespace_selector: LabelSelector | None = None
    state: Literal["Open", "Closed"] = "Open"


class QueueStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a queue holds, by spec code: the kind of card.

    Attributes:
        allocated: What its jobs hold, of every kind.
        spec_allocatable: What its quotas hold.
        spec_allocated: What of it is claimed.
        spec_shadow: What may be claimed beyond it.
        pending: How many of its jobs wait.
        running: How many of its jobs run.
    """

    allocated: Sums = {}
    spec_allocatable: BySpec = {}
    spec_allocated: BySpec = {}
    spec_shadow: BySpec = {}
    pending: Count = 0
    running: Count = 0


class Queue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who jobs are charged to, and which namespaces may use it."""

    metadata: ObjectMeta
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class JobQueueSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Which jobs of a queue, and how many of them.

    Attributes:
        queue_name: The queue that it is a part of.
        priority: Its jobs go before those of job queues of lower priority.
        job_selector: Its jobs, by the labels of their PodGroup, or of the pod that has none.
        max_running_jobs: How many of its jobs may run at once.
        capability: The most that its jobs may hold, by resource.
        policy: Whether a job that can't start lets a younger one pass (BestEffortFIFO) or not (StrictFIFO).
        suspend: Lets no further job in.
    """

    queue_name: Name = "default"
    priority: Int32 = 0
    job_selector: LabelSelector = LabelSelector()
    max_running_jobs: Count | None = None
    capability: Request | None = None
    policy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    suspend: bool = False


class JobQueueStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a job queue holds.

    Attributes:
        pending: How many of its jobs wait.
        running: How many of its jobs run.
        allocated: What they hold.
    """

    pending: Count = 0
    running: Count = 0
    allocated: Sums = {}


class JobQueue(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A prioritised part of a queue, which picks its jobs by their labels and admits them."""

    metadata: ObjectMeta
    spec: JobQueueSpec = JobQueueSpec()
    status: JobQueueStatus = JobQueueStatus()
