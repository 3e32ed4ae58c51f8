"""Why not: the closed vocabulary of refusals, and what a job is told of its last attempt."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from sky_core.resources import NOTHING, Resources


class Code(StrEnum):
    """Every reason that a job can be given (behaviour.md 10). Programs read these."""

    BLOCKED_BY_JOB_QUEUE = "BlockedByJobQueue"
    QUEUE_NOT_FOUND = "QueueNotFound"
    QUEUE_CLOSED = "QueueClosed"
    QUEUE_FORBIDDEN = "QueueForbidden"
    QUEUE_CAPABILITY_EXCEEDED = "QueueCapabilityExceeded"
    POD_GROUP_NOT_FOUND = "PodGroupNotFound"
    NOT_ENOUGH_TASKS = "NotEnoughTasks"
    SCHEDULING_GATED = "SchedulingGated"
    BACKING_OFF = "BackingOff"
    INSUFFICIENT_QUOTA = "InsufficientQuota"
    QUOTA_NOT_FOUND = "QuotaNotFound"
    QUOTA_FORBIDDEN = "QuotaForbidden"
    QUOTA_UNAVAILABLE = "QuotaUnavailable"
    STATIC_BIND_PENDING = "StaticBindPending"
    POD_QUOTA_AFFINITY_NOT_MATCH = "PodQuotaAffinityNotMatch"
    QUOTA_AFFINITY_NOT_MATCH = "QuotaAffinityNotMatch"
    SPEC_MISMATCH = "SpecMismatch"
    NODE_SELECTOR_NOT_MATCH = "NodeSelectorNotMatch"
    NODE_AFFINITY_NOT_MATCH = "NodeAffinityNotMatch"
    POD_AFFINITY_NOT_MATCH = "PodAffinityNotMatch"
    POD_ANTI_AFFINITY_NOT_MATCH = "PodAntiAffinityNotMatch"
    TOPOLOGY_SPREAD_NOT_MATCH = "TopologySpreadNotMatch"
    PORT_CONFLICT = "PortConflict"
    TOO_MANY_PODS = "TooManyPods"
    VOLUME_NODE_AFFINITY_NOT_MATCH = "VolumeNodeAffinityNotMatch"
    TAINT_NOT_TOLERATED = "TaintNotTolerated"
    NODE_NOT_READY = "NodeNotReady"
    NODE_UNSCHEDULABLE = "NodeUnschedulable"
    INSUFFICIENT_QUOTA_IDLE = "InsufficientQuotaIdle"
    INSUFFICIENT_IDLE = "InsufficientIdle"
    NEVER_FITS = "NeverFits"
    WAITING_FOR_RELEASE = "WaitingForRelease"
    STORAGE_NOT_READY = "StorageNotReady"
    TOPOLOGY_UNKNOWN = "TopologyUnknown"
    TOPOLOGY_ZONE_INSUFFICIENT = "TopologyZoneInsufficient"
    WAITING_FOR_ZONE = "WaitingForZone"
    RANK_ORDER_BROKEN = "RankOrderBroken"
    GANG_NOT_READY = "GangNotReady"
    SPOT_INSUFFICIENT = "SpotInsufficient"
    EVICTION_BLOCKED = "EvictionBlocked"
    RESERVED_FOR_OTHER = "ReservedForOther"
    BIND_REFUSED = "BindRefused"
    INVALID_OBJECT = "InvalidObject"
    INTERNAL_ERROR = "InternalError"


class Rung(StrEnum):
    """How far an attempt got: the article's FitAction ladder, in this order."""

    ENQUEUE = "Enqueue"
    ALLOCATE_JOB = "AllocateJob"
    ALLOCATE_ZONE = "AllocateZone"
    ALLOCATE_QUOTA = "AllocateQuota"
    BIND = "Bind"
    RECLAIM = "Reclaim"
    BACKFILL = "Backfill"
    DONE = "Done"


class Topic(StrEnum):
    """What can change in a way that lets a waiting job in (behaviour.md 7.6)."""

    QUOTA = "quota"
    NODE = "node"
    QUEUE = "queue"
    JOB_QUEUE = "job queue"
    NAMESPACE = "namespace"
    POD = "pod"  # a pod has ended, or left its node
    JOB = "job"  # the job itself: its PodGroup or its pods


class Reason(msgspec.Struct, frozen=True, gc=False):
    """One refusal, by one object, with its numbers.

    `needed` and `available` are amounts of what was short, where something was. `detail` says what no number can
    (a label, a taint, a mount). `never`: why the object could not hold it even when empty, if it could not; it takes
    the place of the two Insufficient codes when it is so for all that refused.
    """

    code: Code
    needed: Resources = NOTHING
    available: Resources = NOTHING
    detail: str = ""
    never: "Reason | None" = None


def never_fits(needed: Resources, whole: Resources) -> Reason | None:
    """The refusal of an object that has too little of something even when it is empty; None: it has enough."""
    if needed.fits_in(whole):
        return None
    lacking = needed.shortfall(whole).units
    return Reason(Code.NEVER_FITS, needed=needed.only(lacking), available=whole.only(lacking))


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One line of a verdict: how many objects refused with this code, and up to three of them by name."""

    code: Code
    count: int = 1
    needed: Resources = NOTHING
    available: Resources = NOTHING
    examples: tuple[str, ...] = ()


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What came of a job's last attempt: the rung that it reached, and why it got no further (empty when Done)."""

    rung: Rung
    findings: tuple[Finding, ...] = ()

    def codes(self) -> tuple[Code, ...]:
        """The codes, in the order of the findings."""
        return tuple(finding.code for finding in self.findings)


_NODES: Final = frozenset({Topic.NODE, Topic.POD, Topic.QUOTA})
_QUOTAS: Final = frozenset({Topic.QUOTA, Topic.POD, Topic.NODE})

CURES: Final[Mapping[Code, frozenset[Topic]]] = {
    Code.BLOCKED_BY_JOB_QUEUE: frozenset({Topic.JOB_QUEUE, Topic.POD}),
    Code.QUEUE_NOT_FOUND: frozenset({Topic.QUEUE}),
    Code.QUEUE_CLOSED: frozenset({Topic.QUEUE}),
    Code.QUEUE_FORBIDDEN: frozenset({Topic.QUEUE, Topic.NAMESPACE}),
    Code.QUEUE_CAPABILITY_EXCEEDED: frozenset({Topic.QUEUE, Topic.POD, Topic.QUOTA}),
    Code.POD_GROUP_NOT_FOUND: frozenset(),
    Code.NOT_ENOUGH_TASKS: frozenset(),
    Code.SCHEDULING_GATED: frozenset(),
    Code.INSUFFICIENT_QUOTA: _QUOTAS,
    Code.QUOTA_NOT_FOUND: frozenset({Topic.QUOTA}),
    Code.QUOTA_FORBIDDEN: frozenset({Topic.QUOTA}),
    Code.QUOTA_UNAVAILABLE: _QUOTAS,
    Code.STATIC_BIND_PENDING: _QUOTAS,
    Code.POD_QUOTA_AFFINITY_NOT_MATCH: frozenset({Topic.QUOTA}),
    Code.RESERVED_FOR_OTHER: _QUOTAS,
    Code.INVALID_OBJECT: frozenset(Topic),
    Code.INTERNAL_ERROR: frozenset({Topic.JOB}),
}
"""Which changes may cure a refusal: a back-off is cut short by these. A code that is not here: nodes, pods, quotas.
What is the job's own (its pods, its PodGroup) always counts."""


HELPED_BY_A_NODE: Final = frozenset(
    {
        Code.NODE_SELECTOR_NOT_MATCH,
        Code.NODE_AFFINITY_NOT_MATCH,
        Code.QUOTA_AFFINITY_NOT_MATCH,
        Code.POD_AFFINITY_NOT_MATCH,
        Code.POD_ANTI_AFFINITY_NOT_MATCH,
        Code.TOPOLOGY_SPREAD_NOT_MATCH,
        Code.PORT_CONFLICT,
        Code.TOO_MANY_PODS,
        Code.VOLUME_NODE_AFFINITY_NOT_MATCH,
        Code.TAINT_NOT_TOLERATED,
        Code.NODE_NOT_READY,
        Code.NODE_UNSCHEDULABLE,
        Code.INSUFFICIENT_QUOTA_IDLE,
        Code.INSUFFICIENT_IDLE,
        Code.STORAGE_NOT_READY,
        Code.TOPOLOGY_UNKNOWN,
        Code.TOPOLOGY_ZONE_INSUFFICIENT,
        Code.WAITING_FOR_ZONE,
        Code.SPOT_INSUFFICIENT,
        Code.EVICTION_BLOCKED,
    }
)
"""What one more node like those there are would help against: refusals by nodes, once there are quotas."""

_BY_NODES: Final = frozenset({Rung.ALLOCATE_ZONE, Rung.ALLOCATE_QUOTA, Rung.BIND, Rung.RECLAIM, Rung.BACKFILL})


def helped_by_a_node(verdict: Verdict) -> bool:
    """Whether a job might start if the cluster had one more node."""
    return verdict.rung in _BY_NODES and not HELPED_BY_A_NODE.isdisjoint(verdict.codes())


def cures(code: Code) -> frozenset[Topic]:
    """The topics whose change makes another attempt worth while."""
    return CURES.get(code, _NODES) | {Topic.JOB}
