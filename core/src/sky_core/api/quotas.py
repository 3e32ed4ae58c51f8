"""Quotas: what they declare, and what their status says of claims and reservations."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sky_core.api import identity
from sky_core.api.amounts import bounded, resources
from sky_core.api.decoding import decoded
from sky_core.api.faults import Invalid
from sky_core.api.identity import Key
from sky_core.api.instants import instant_at
from sky_core.api.names import natural
from sky_core.api.selection import node_affinity, selector, tolerations
from sky_core.api.wire import crds
from sky_core.constraints import PreferredQuota, QuotaAffinity, QuotaTerm
from sky_core.model import (
    BY_NODE,
    SECOND,
    Claim,
    Duration,
    NodeName,
    QueueName,
    Quota,
    QuotaName,
    QuotaSpec,
    Reservation,
    TaskId,
)
from sky_core.quantity import shown
from sky_core.resources import Resources
from sky_core.selectors import equals
from sky_core.settings import PREFIX

HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = f"{PREFIX}zone"
_IS_ZONE: Final = {HOSTNAME: False, ZONE: True}
_LONGEST: Final = 600  # what bounds these texts tighter is their schema
_NO_AFFINITY: Final = crds.QuotaAffinity()


def read(key: Key, raw: Mapping[str, Any]) -> Quota:
    """A quota. Its node is `status.nodeName`, whatever the phase says; what its claims add up to is counted.

    Raises:
        Invalid: It is malformed, its status included.
    """
    written = decoded(raw, crds.Quota)
    meta, status = written.metadata, written.status
    name = identity.name("metadata.name", meta.name)
    spec = _spec(written.spec, meta.labels)
    claims = _claims(status.tasks)
    claimed = Resources.total(claim.resources for claim in claims)
    shadow = resources("status.shadowResource", status.shadow_resource)
    bounded("status.tasks", claimed)
    return Quota(
        name=QuotaName(name),
        uid=identity.uid(key, meta.uid),
        spec=spec,
        created=instant_at("metadata.creationTimestamp", meta.creation_timestamp),
        order=natural(name),
        node=NodeName(identity.name("status.nodeName", status.node_name)) if status.node_name else None,
        static_bound=status.static_bind_status.bound,
        shadow=shadow,
        claims=claims,
        claimed=claimed,
        reservations=tuple(_reservations(status.reserved_tasks)),
        epoch=status.epoch,
        over_allocated=not _by_the_quota(claimed, spec.named).fits_in(spec.request + shadow),
    )


def _by_the_quota(claimed: Resources, named: frozenset[str]) -> Resources:
    """What of the claims the quota bounds itself: what it names, and every extended resource."""
    return claimed.without(BY_NODE - named)


def _spec(spec: crds.QuotaSpec, labels: Mapping[str, str]) -> QuotaSpec:
    affinity = spec.affinity or _NO_AFFINITY
    static = spec.static_bind_node
    shared = {QueueName(identity.name(f"spec.sharedQueues[{i}]", queue)) for i, queue in enumerate(spec.shared_queues)}
    return QuotaSpec(
        queue=QueueName(identity.name("spec.queueName", spec.queue_name)),
        request=resources("spec.request", spec.request),
        named=frozenset(spec.request),
        labels=labels,
        shared_queues=tuple(sorted(shared)),
        selector=equals(spec.node_selector),
        tolerations=tolerations(spec.tolerations),
        node_affinity=node_affinity("spec.affinity.nodeAffinity", affinity.node_affinity),
        quota_affinity=_quota_affinity(affinity),
        static_node=NodeName(identity.name("spec.staticBindNode", static)) if static else None,
    )


def _quota_affinity(affinity: crds.QuotaAffinity) -> QuotaAffinity:
    near, apart = "spec.affinity.quotaAffinity", "spec.affinity.quotaAntiAffinity"
    return QuotaAffinity(
        required=_terms(f"{near}.required", affinity.quota_affinity.required),
        preferred=_preferred(f"{near}.preferred", affinity.quota_affinity.preferred),
        anti_required=_terms(f"{apart}.required", affinity.quota_anti_affinity.required),
        anti_preferred=_preferred(f"{apart}.preferred", affinity.quota_anti_affinity.preferred),
    )


def _terms(field: str, terms: tuple[crds.QuotaAffinityTerm, ...]) -> tuple[QuotaTerm, ...]:
    return tuple(_term(f"{field}[{i}]", term) for i, term in enumerate(terms))


def _preferred(field: str, terms: tuple[crds.PreferredQuotaTerm, ...]) -> tuple[PreferredQuota, ...]:
    return tuple(PreferredQuota(term.weight, _term(f"{field}[{i}]", term)) for i, term in enumerate(terms))


def _term(field: str, term: crds.QuotaAffinityTerm | crds.PreferredQuotaTerm) -> QuotaTerm:
    if term.topology_key not in _IS_ZONE:
        raise Invalid(f"{field}.topologyKey", f"{shown(term.topology_key)} is neither {HOSTNAME} nor {ZONE}")
    return QuotaTerm(selector(f"{field}.labelSelector", term.label_selector), _IS_ZONE[term.topology_key])


def _claims(tasks: tuple[crds.QuotaTask, ...]) -> tuple[Claim, ...]:
    claims = []
    for i, entry in enumerate(tasks):
        try:
            claims.append(_claim(entry))
        except Invalid as error:
            raise error.under(f"status.tasks[{i}]") from None
    if len({claim.task for claim in claims}) < len(claims):
        raise Invalid("status.tasks", "names one uid twice")
    return tuple(claims)


def _claim(entry: crds.QuotaTask) -> Claim:
    name = identity.name("name", entry.name)
    return Claim(
        task=TaskId(identity.plain("uid", entry.uid, _LONGEST)),
        namespace=identity.shared_name("namespace", entry.namespace),
        name=name,
        job=identity.shared_job_id(entry.namespace, identity.plain("job", entry.job, _LONGEST) or identity.lone(name)),
        place=identity.plain("rank", entry.rank, _LONGEST),
        resources=resources("resources", entry.resources),
        reservation=Duration(entry.reservation_seconds * SECOND),
        reserved_until=instant_at("reservedUntil", entry.reserved_until) if entry.reserved_until else None,
    )


def _reservations(entries: tuple[crds.ReservedTask, ...]) -> Iterator[Reservation]:
    for i, entry in enumerate(entries):
        try:
            yield _reservation(entry)
        except Invalid as error:
            raise error.under(f"status.reservedTasks[{i}]") from None


def _reservation(entry: crds.ReservedTask) -> Reservation:
    return Reservation(
        namespace=identity.name("namespace", entry.namespace),
        job=identity.job_id(entry.namespace, identity.plain("job", entry.job, _LONGEST)),
        task=identity.plain("task", entry.task),
        place=identity.plain("rank", entry.rank, _LONGEST),
        resources=resources("resources", entry.resources),
        node=NodeName(entry.node_name and identity.name("nodeName", entry.node_name)),
        expires=instant_at("expiresAt", entry.expires_at),
    )
