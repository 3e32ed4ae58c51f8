"""What the scheduler tells of jobs, as the status of their PodGroups."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sky_core.api.conditions import Condition, condition, merged
from sky_core.api.instants import rfc3339
from sky_core.model import Instant
from sky_core.reasons import Code, Finding, Verdict, helped_by_a_node
from sky_core.resources import render_all
from sky_core.status import Counts, JobQueueStatus, Phase, QueueStatus, waits_for_zone
from sky_core.wording import sentence

MESSAGE_MAX = 1024
SCHEDULED: Final = "PodScheduled"
GATED: Final = "SchedulingGated"


def reason(finding: Finding) -> dict[str, Any]:
    """One reason, for programs and, in its message, for people."""
    return {
        "code": finding.code.value,
        "count": finding.count,
        "needed": render_all(finding.needed),
        "available": render_all(finding.available),
        "examples": list(finding.examples),
        "message": sentence(finding)[:MESSAGE_MAX],
    }


def job_queue_status(report: JobQueueStatus) -> dict[str, Any]:
    """The status of a JobQueue, whole."""
    counts = {"pending": report.jobs.pending, "running": report.jobs.running}
    return {**counts, "allocated": render_all(report.allocated)}


def queue_shares(report: QueueStatus) -> dict[str, Any]:
    """What a Queue has of each kind of card, as its status and a simulation's output give it."""
    pools = report.pools.items()
    return {
        "specAllocatable": {spec: render_all(pool.allocatable) for spec, pool in pools if pool.allocatable},
        "specAllocated": {spec: render_all(pool.allocated) for spec, pool in pools if pool.allocated},
        "specShadow": {spec: render_all(pool.shadow) for spec, pool in pools if pool.shadow},
    }


def queue_status(report: QueueStatus) -> dict[str, Any]:
    """The status of a Queue, whole."""
    counts = {"pending": report.jobs.pending, "running": report.jobs.running}
    return {**counts, "allocated": render_all(report.allocated), **queue_shares(report)}


def codes(verdict: Verdict) -> tuple[Code, ...]:
    """What a verdict says; that a job backs off is no news (behaviour.md 7.6)."""
    return tuple(code for code in verdict.codes() if code is not Code.BACKING_OFF)


def told(verdict: Verdict) -> str:
    """What people are told of a refusal. It begins with its codes, so that it shows when these change."""
    findings = [finding for finding in verdict.findings if finding.code is not Code.BACKING_OFF]
    said = f"{', '.join(finding.code.value for finding in findings)}: {' '.join(map(sentence, findings))}"
    return said[:MESSAGE_MAX]


def pod_condition(verdict: Verdict, *, gated: bool) -> dict[str, Any]:
    """The condition of a pod whose job was refused; autoscalers act on reason Unschedulable (behaviour.md 9)."""
    reason = GATED if gated else "Unschedulable" if helped_by_a_node(verdict) else "Undetermined"
    return condition(SCHEDULED, holds=False, reason=reason, message=told(verdict))


def is_told(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a pod's condition says what it should but for the numbers. Why a pod is gated its server says itself."""
    if found.get("status") != wanted["status"] or found.get("reason") != wanted["reason"]:
        return False
    first, second = (str(said.get("message", "")).partition(":")[0] for said in (found, wanted))
    return wanted["reason"] == GATED or first == second


def says_the_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two statuses of a PodGroup differ at most in numbers and times of the same refusals."""
    return _said(one) == _said(other)


def _said(status: Mapping[str, Any]) -> tuple[object, ...]:
    counted = tuple(status.get(name, 0) for name in ("pending", "running", "succeeded", "failed"))
    codes = {each.get("code") for each in status.get("reasons", ())}
    return (status.get("phase", ""), status.get("rung", ""), codes, counted)


def pod_group_status(
    phase: Phase, counts: Counts, verdict: Verdict, next_attempt: Instant | None, old: Sequence[Condition], now: Instant
) -> dict[str, Any]:
    """The status of a PodGroup, whole. `old`: the conditions that it has; `next_attempt`: None where it doesn't wait.

    That a job backs off is told by `nextAttemptTime` alone: it is no reason of its own.
    """
    findings = [finding for finding in verdict.findings if finding.code is not Code.BACKING_OFF]
    message = " ".join(map(sentence, findings))[:MESSAGE_MAX]
    first = findings[0].code.value if findings else "Scheduled"
    conditions = merged(old, condition("Unschedulable", holds=bool(findings), reason=first, message=message), now)
    started = phase in (Phase.RUNNING, Phase.COMPLETED)
    conditions = merged(conditions, condition("Scheduled", holds=started, reason=phase.value), now)
    waits = waits_for_zone(verdict)
    if waits or any(one.get("type") == "WaitingForZone" for one in old):
        told = condition("WaitingForZone", holds=waits, reason="Patience" if waits else "Over")
        conditions = merged(conditions, told, now)
    status = {
        "phase": phase.value,
        "pending": counts.pending,
        "running": counts.running,
        "succeeded": counts.succeeded,
        "failed": counts.failed,
        "conditions": conditions,
        "rung": verdict.rung.value,
        "reasons": [reason(finding) for finding in findings],
        "nextAttemptTime": rfc3339(next_attempt) if next_attempt is not None else None,
    }
    return {name: value for name, value in status.items() if value}
