"""Findings as sentences for people. Programs read codes; these texts may change."""

from collections.abc import Mapping
from typing import Final

from sky_core.reasons import Code, Finding

SENTENCES: Final[Mapping[Code, str]] = {
    Code.BLOCKED_BY_JOB_QUEUE: "No JobQueue of its queue lets it in",
    Code.QUEUE_NOT_FOUND: "Its queue does not exist",
    Code.QUEUE_CLOSED: "Its queue is closed to new jobs",
    Code.QUEUE_FORBIDDEN: "Its queue does not admit its namespace",
    Code.QUEUE_CAPABILITY_EXCEEDED: "Its queue would hold more than its capability",
    Code.POD_GROUP_NOT_FOUND: "The PodGroup that its pods name does not exist",
    Code.NOT_ENOUGH_TASKS: "It has fewer pods than it needs to start",
    Code.SCHEDULING_GATED: "{n} pod{s} {is} held by scheduling gates",
    Code.BACKING_OFF: "It waits before its next attempt",
    Code.INSUFFICIENT_QUOTA: "{n} pod{s} find{v} no quota with room",
    Code.QUOTA_NOT_FOUND: "{n} pod{s} name{v} a quota that does not exist",
    Code.QUOTA_FORBIDDEN: "{n} quota{s} {is} neither its queue's nor shared with it",
    Code.QUOTA_UNAVAILABLE: "{n} quota{s} that it must use cannot take it",
    Code.STATIC_BIND_PENDING: "{n} quota{s} {is} still to be bound to the fixed node",
    Code.POD_QUOTA_AFFINITY_NOT_MATCH: "{n} quota{s} do{es} not match its quota-affinity",
    Code.QUOTA_AFFINITY_NOT_MATCH: "{n} node{s} do{es} not suit the quota's affinity to other quotas",
    Code.SPEC_MISMATCH: "{n} quota{s} {is} for another kind of card",
    Code.NODE_SELECTOR_NOT_MATCH: "{n} time{s} a nodeSelector did not match",
    Code.NODE_AFFINITY_NOT_MATCH: "{n} node{s} do{es} not match the node affinity",
    Code.POD_AFFINITY_NOT_MATCH: "{n} node{s} do{es} not satisfy the pod affinity",
    Code.POD_ANTI_AFFINITY_NOT_MATCH: "{n} node{s} {is} ruled out by pod anti-affinity",
    Code.TOPOLOGY_SPREAD_NOT_MATCH: "{n} node{s} would break a topology spread constraint",
    Code.PORT_CONFLICT: "{n} node{s} {has} no free host port",
    Code.TOO_MANY_PODS: "{n} node{s} {is} at the limit of pods",
    Code.VOLUME_NODE_AFFINITY_NOT_MATCH: "{n} node{s} cannot reach its volumes",
    Code.TAINT_NOT_TOLERATED: "{n} node{s} {has} a taint that is not tolerated",
    Code.NODE_NOT_READY: "{n} node{s} {is} not ready",
    Code.NODE_UNSCHEDULABLE: "{n} node{s} {is} cordoned",
    Code.INSUFFICIENT_QUOTA_IDLE: "{n} node{s} {has} too little left to promise",
    Code.INSUFFICIENT_IDLE: "{n} node{s} {is} too full",
    Code.NEVER_FITS: "{n} node{s} {is} too small, even when empty",
    Code.WAITING_FOR_RELEASE: "{n} node{s} will have room once what terminates there is gone",
    Code.STORAGE_NOT_READY: "{n} node{s} {has} not mounted what it needs",
    Code.TOPOLOGY_UNKNOWN: "None of the {n} node{s} that would do is in a known RDMA zone",
    Code.TOPOLOGY_ZONE_INSUFFICIENT: "No RDMA zone holds the whole job",
    Code.WAITING_FOR_ZONE: "It waits for room in a single RDMA zone",
    Code.RANK_ORDER_BROKEN: "Its pods would not stand in rank order",
    Code.GANG_NOT_READY: "{n} pod{s} would fit, but not the rest of the job",
    Code.SPOT_INSUFFICIENT: "{n} node{s} {has} too few spot cards free",
    Code.EVICTION_BLOCKED: "{n} node{s} {has} room only under pods that may not be evicted",
    Code.RESERVED_FOR_OTHER: "{n} quota{s} {is} kept for others who may return",
    Code.BIND_REFUSED: "The API server refused to bind {n} pod{s}",
    Code.INVALID_OBJECT: "It is malformed",
    Code.INTERNAL_ERROR: "The scheduler made a mistake, and sets it aside until it changes",
}
"""What each code says. `{n}` counts the objects that refused; the other fields make the words agree with it."""

_ONE: Final = {"s": "", "v": "s", "es": "es", "is": "is", "has": "has"}
_MANY: Final = {"s": "s", "v": "", "es": "", "is": "are", "has": "have"}


def sentence(finding: Finding) -> str:
    """What a finding says: what, how many, with which numbers, and for example where."""
    agreement = _ONE if finding.count == 1 else _MANY
    text = SENTENCES[finding.code].format(n=finding.count, **agreement)
    if finding.needed:
        text += f": {finding.needed} needed, {finding.available or 'nothing'} there"
    if finding.examples:
        more = finding.count - len(finding.examples)
        text += f" ({'; '.join(finding.examples)}{f'; and {more} more' if more > 0 else ''})"
    return f"{text}."
