"""The kinds of Kubernetes itself that the scheduler reads, as far as it reads them."""

import msgspec

from sky_core.api.wire.meta import (
    Amounts,
    Condition,
    Int32,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    ObjectMeta,
    Toleration,
    Weight,
)
from sky_core.constraints import Effect


class ContainerPort(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A port of a container."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    protocol: str = ""
    host_ip: str = msgspec.field(default="", name="hostIP")


class ResourceRequirements(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What is asked for, and the limit."""

    requests: Amounts = {}
    limits: Amounts = {}


class Container(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A container; an init container with `restartPolicy: Always` is a sidecar."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""


class PodAffinityTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Pods near which to be, or not to be."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A pod term with its weight."""

    weight: Weight
    pod_affinity_term: PodAffinityTerm


class PodAffinity(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Affinity, or anti-affinity, among pods."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A pod's affinities."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class TopologySpreadConstraint(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """How evenly pods must be spread."""

    topology_key: str
    max_skew: Int32 = 1
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int32 = 1
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimSource(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A volume's PersistentVolumeClaim."""

    claim_name: str = ""


class EphemeralSource(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A volume whose claim is made with the pod."""


class Volume(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """A volume, if it comes from a claim."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class SchedulingGate(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What must be taken away before the pod is tried."""

    name: str = ""


class PodSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Amounts = {}
    resources: ResourceRequirements = ResourceRequirements()
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    host_network: bool = False
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    termination_grace_period_seconds: int = 30


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What a running container has."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Amounts = {}


class PodStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What has become of a pod."""

    phase: str = ""
    start_time: str = ""
    conditions: tuple[Condition, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: Amounts = {}
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """v1 Pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What keeps pods off a node."""

    key: str
    effect: Effect
    value: str = ""


class NodeSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What people say about a node."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a node reports."""

    capacity: Amounts = {}
    allocatable: Amounts = {}
    conditions: tuple[Condition, ...] = ()


class Node(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """v1 Node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class Namespace(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """v1 Namespace."""

    metadata: ObjectMeta


class PriorityClass(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: ObjectMeta
    value: Int32 = 0
    preemption_policy: str = ""


class VolumeNodeAffinity(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """Where a volume is."""

    node_affinity: VolumeNodeAffinity | None = None


class PersistentVolume(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """v1 PersistentVolume."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()


class PersistentVolumeClaimSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """The volume that a claim is bound to."""

    volume_name: str = ""


class PersistentVolumeClaim(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """v1 PersistentVolumeClaim."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class PodDisruptionBudgetSpec(msgspec.Struct, frozen=True, gc=False, kw_only=True, rename="camel"):
    """How many pods must stay."""

    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None


class PodDisruptionBudget(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
