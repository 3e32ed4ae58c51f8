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
    Code.INSUFFICIENT_QUOTA: "{n} pod{s} find{v} no quota with room in {their} queue",
    Code.QUOTA_NOT_FOUND: "{n} pod{s} name{v} a quota that does not exist",
    Code.QUOTA_FORBIDDEN: "{n} quota{s} {is} neither its queue's nor shared with it",
    Code.QUOTA_UNAVAILABLE: "{n} quota{s} that it must use cannot take it",
    Code.STATIC_BIND_PENDING: "{n} quota{s} {is} still to be bound to the node that it is fixed to",
    Code.POD_QUOTA_AFFINITY_NOT_MATCH: "{n} quota{s} do{es} not match its quota-affinity",
    Code.QUOTA_AFFINITY_NOT_MATCH: "{n} place{s} do{es} not suit the quota's affinity to other quotas",
    Code.SPEC_MISMATCH: "{n} place{s} {has} another kind of card",
    Code.NODE_SELECTOR_NOT_MATCH: "{n} place{s} do{es} not match the nodeSelector",
    Code.NODE_AFFINITY_NOT_MATCH: "{n} place{s} do{es} not match the node affinity",
    Code.POD_AFFINITY_NOT_MATCH: "{n} place{s} do{es} not satisfy the pod affinity",
    Code.POD_ANTI_AFFINITY_NOT_MATCH: "{n} place{s} {is} ruled out by pod anti-affinity",
    Code.TOPOLOGY_SPREAD_NOT_MATCH: "{n} place{s} would break a topology spread constraint",
    Code.PORT_CONFLICT: "{n} place{s} {has} the host port in use",
    Code.TOO_MANY_PODS: "{n} place{s} {is} on a node that takes no more pods",
    Code.VOLUME_NODE_AFFINITY_NOT_MATCH: "{n} place{s} cannot reach its volumes",
    Code.TAINT_NOT_TOLERATED: "{n} place{s} {is} on a node with a taint that is not tolerated",
    Code.NODE_NOT_READY: "{n} place{s} {is} on a node that is not ready",
    Code.NODE_UNSCHEDULABLE: "{n} place{s} {is} on a cordoned node",
    Code.INSUFFICIENT_QUOTA_IDLE: "{n} place{s} {has} too little left to promise",
    Code.INSUFFICIENT_IDLE: "{n} place{s} {is} too full",
    Code.NEVER_FITS: "{n} place{s} {is} too small, even when empty",
    Code.WAITING_FOR_RELEASE: "{n} place{s} will have room once what terminates there is gone",
    Code.STORAGE_NOT_READY: "{n} place{s} {has} not mounted what it needs",
    Code.TOPOLOGY_UNKNOWN: "No place that would do is in a known RDMA zone",
    Code.TOPOLOGY_ZONE_INSUFFICIENT: "No RDMA zone holds the whole job",
    Code.WAITING_FOR_ZONE: "It waits for room in a single RDMA zone",
    Code.RANK_ORDER_BROKEN: "Its pods would not stand in rank order",
    Code.GANG_NOT_READY: "{n} pod{s} would fit, but not the rest of the job",
    Code.SPOT_INSUFFICIENT: "{n} place{s} {has} too few spot cards free",
    Code.EVICTION_BLOCKED: "{n} place{s} {has} room only under pods that may not be evicted",
    Code.RESERVED_FOR_OTHER: "{n} quota{s} {is} kept for others who may return",
    Code.BIND_REFUSED: "The API server refused to bind {n} pod{s}",
    Code.INVALID_OBJECT: "It is malformed",
    Code.INTERNAL_ERROR: "The scheduler made a mistake, and sets it aside until it changes",
}
"""What each code says. `{n}` counts the objects that refused, the other fields make the words agree with it. A place is
a node, or a quota that is on one or is to be.
"""

NOBODY: Final = "There is no place to ask"
"""What is said instead where nothing was there to refuse."""

_ONE: Final = {"s": "", "v": "s", "es": "es", "is": "is", "has": "has", "their": "its"}
_MANY: Final = {"s": "s", "v": "", "es": "", "is": "are", "has": "have", "their": "their"}


def sentence(finding: Finding) -> str:
    """What a finding says: what, how many, with which numbers, and for example where."""
    agreement = _ONE if finding.count == 1 else _MANY
    form = SENTENCES[finding.code]
    text = form.format(n=finding.count, **agreement) if finding.count or "{n}" not in form else NOBODY
    if finding.needed:
        text += f": {finding.needed} needed, {finding.available or 'nothing'} there"
    if finding.examples:
        more = finding.count - len(finding.examples)
        text += f" ({'; '.join(finding.examples)}{f'; and {more} more' if more > 0 else ''})"
    return f"{text}."
