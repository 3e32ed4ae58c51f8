"""Decisions as what is written to the API server: the inverse of `sky_core.api.quotas`."""

from collections.abc import Sequence
from typing import Any

from sky_core.api.conditions import Condition, condition, merged
from sky_core.api.identity import job_name
from sky_core.api.instants import rfc3339
from sky_core.decisions import WriteQuota
from sky_core.model import SECOND, Claim, Instant, Quota, Reservation
from sky_core.resources import NOTHING, render_all

BOUND = "Bound"
"""The condition that says whether a quota has a node."""


def quota_status(write: WriteQuota, quota: Quota, now: Instant, conditions: Sequence[Condition] = ()) -> dict[str, Any]:
    """The status of a quota, whole, after this write. Keys stand in a fixed order.

    `nodeName`, `phase`, `tasks`, `reservedTasks` and `allocated` are the write's; shadowResource, staticBindStatus and
    epoch are kept as the quota has them, `conditions` as they are given, but for `Bound`.
    """
    claimed = NOTHING
    for claim in write.claims:
        claimed += claim.resources
    status: dict[str, Any] = {
        "phase": "QuotaBound" if write.node is not None else "QuotaEmpty",
        "nodeName": write.node,
        "allocated": render_all(claimed),
        "shadowResource": render_all(quota.shadow),
        "staticBindStatus": {"nodeName": quota.spec.static_node or quota.node, "bound": True}
        if quota.static_bound
        else {},
        "tasks": [_task(claim) for claim in write.claims],
        "reservedTasks": [_reserved(reservation) for reservation in write.reservations],
        "epoch": quota.epoch,
        "conditions": merged(conditions, _bound(write), now),
    }
    return {name: value for name, value in status.items() if value}


def _task(claim: Claim) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.task,
        "job": job_name(claim.job),
        "rank": claim.place,
        "resources": render_all(claim.resources),
        "reservationSeconds": -(-claim.reservation // SECOND),
        "reservedUntil": None if claim.reserved_until is None else rfc3339(claim.reserved_until),
    }
    return {name: value for name, value in entry.items() if value}


def _reserved(reservation: Reservation) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "namespace": reservation.namespace,
        "job": job_name(reservation.job),
        "task": reservation.task,
        "rank": reservation.place,
        "resources": render_all(reservation.resources),
        "nodeName": reservation.node,
        "expiresAt": rfc3339(reservation.expires),
    }
    return {name: value for name, value in entry.items() if value}


def _bound(write: WriteQuota) -> dict[str, Any]:
    if write.node is None:
        return condition(BOUND, holds=False, reason="QuotaEmpty", message="on no node")
    return condition(BOUND, holds=True, reason="QuotaBound", message=f"bound to node {write.node}")
