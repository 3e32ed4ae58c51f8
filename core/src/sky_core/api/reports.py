"""What the scheduler tells of jobs, as the status of their PodGroups."""

from collections.abc import Sequence
from typing import Any

from sky_core.api.conditions import Condition, condition, merged
from sky_core.api.instants import rfc3339
from sky_core.model import Instant
from sky_core.reasons import Code, Finding, Verdict
from sky_core.resources import render_all
from sky_core.status import Counts, JobQueueStatus, Phase, waits_for_zone
from sky_core.wording import sentence

MESSAGE_MAX = 1024


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
