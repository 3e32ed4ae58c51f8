"""What pods and quotas ask of nodes, and what nodes hold against them: rows with Kubernetes' own meaning."""

from enum import StrEnum

import msgspec

from sky_core.selectors import Requirement, Selector


class Effect(StrEnum):
    """What a taint does to those who don't tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Taint(msgspec.Struct, frozen=True, gc=False):
    """A node's taint."""

    key: str
    effect: Effect
    value: str = ""


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """A toleration: an empty key with `exists` tolerates every taint; no effect means every effect."""

    key: str = ""
    exists: bool = False
    value: str = ""
    effect: Effect | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Kubernetes' rule: effect, then key, then value."""
        if self.effect is not None and self.effect is not taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        return self.exists or (bool(self.key) and self.value == taint.value)


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One term of a node selector: labels and fields (`metadata.name`) together. An empty term matches no node."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class PreferredNode(msgspec.Struct, frozen=True, gc=False):
    """A node term worth `weight` (1 to 100) where it matches."""

    weight: int
    term: NodeTerm


class NodeAffinity(msgspec.Struct, frozen=True, gc=False):
    """`required`: any term suffices; None where nothing is required."""

    required: tuple[NodeTerm, ...] | None = None
    preferred: tuple[PreferredNode, ...] = ()


class PodTerm(msgspec.Struct, frozen=True, gc=False):
    """Pods near which to be, or not to be: `topology_key` is the node label that says what near means.

    `namespaces` are those named; `namespace_selector` (None: none) adds those whose labels match. The decoder fills in
    the pod's own namespace where a manifest names neither, and merges matchLabelKeys into the selector.
    """

    topology_key: str
    selector: Selector
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None


class PreferredPod(msgspec.Struct, frozen=True, gc=False):
    """A pod term worth `weight` (1 to 100)."""

    weight: int
    term: PodTerm


class PodAffinity(msgspec.Struct, frozen=True, gc=False):
    """Inter-pod affinity and anti-affinity of one pod."""

    required: tuple[PodTerm, ...] = ()
    preferred: tuple[PreferredPod, ...] = ()
    anti_required: tuple[PodTerm, ...] = ()
    anti_preferred: tuple[PreferredPod, ...] = ()


class Spread(msgspec.Struct, frozen=True, gc=False):
    """A topology spread constraint. `hard`: DoNotSchedule, else ScheduleAnyway."""

    topology_key: str
    max_skew: int
    hard: bool
    selector: Selector
    min_domains: int = 1
    honor_node_affinity: bool = True
    honor_taints: bool = False


class HostPort(msgspec.Struct, frozen=True, gc=False):
    """A port that a pod takes on its node; `ip` 0.0.0.0 stands for all addresses."""

    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # noqa: S104  Kubernetes' name for all addresses, nothing is bound

    def clashes(self, other: "HostPort") -> bool:
        """Whether both cannot be had on one node."""
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        every = "0.0.0.0"  # noqa: S104
        return self.ip == other.ip or every in (self.ip, other.ip)


class QuotaTerm(msgspec.Struct, frozen=True, gc=False):
    """Other quotas near which a quota must be, or not: `zone` means one RDMA zone, else one node."""

    selector: Selector
    zone: bool = False


class PreferredQuota(msgspec.Struct, frozen=True, gc=False):
    """A quota term worth `weight`."""

    weight: int
    term: QuotaTerm


class QuotaAffinity(msgspec.Struct, frozen=True, gc=False):
    """Affinity and anti-affinity among quotas (behaviour.md 7.3)."""

    required: tuple[QuotaTerm, ...] = ()
    preferred: tuple[PreferredQuota, ...] = ()
    anti_required: tuple[QuotaTerm, ...] = ()
    anti_preferred: tuple[PreferredQuota, ...] = ()
