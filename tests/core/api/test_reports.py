from typing import Any

import msgspec

from sky_core.api.conditions import condition, merged
from sky_core.api.reports import pod_group_status
from sky_core.api.wire import crds
from sky_core.model import SECOND, Instant
from sky_core.reasons import Code, Finding, Rung, Verdict
from sky_core.resources import parse_resources
from sky_core.status import Counts, Phase

ONE, TWO = Instant(SECOND), Instant(2 * SECOND)
FIRST, SECOND_TIME = "1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"
SHORT = Finding(Code.INSUFFICIENT_QUOTA, 2, parse_resources({"cpu": "2"}), examples=("w-0", "w-1"))


def status(verdict: Verdict, *, old: list[dict[str, Any]] | None = None, now: Instant = ONE) -> dict[str, Any]:
    return pod_group_status(Phase.INQUEUE, Counts(pending=2), verdict, TWO, old or [], now)


def told(of: dict[str, Any], type_: str) -> dict[str, Any] | None:
    return next((one for one in of["conditions"] if one["type"] == type_), None)


def test_a_transition_is_now_only_where_the_status_changes() -> None:
    before = merged([], condition("A", holds=True, reason="x"), ONE)
    same = merged(before, condition("A", holds=True, reason="y"), TWO)
    other = merged(same, condition("A", holds=False), TWO)
    assert [(c["reason"], c["lastTransitionTime"]) for c in (*before, *same, *other)] == [
        ("x", FIRST),
        ("y", FIRST),
        ("", SECOND_TIME),
    ]


def test_a_condition_keeps_its_place_in_the_list() -> None:
    both = merged(merged([], condition("A", holds=True), ONE), condition("B", holds=True), ONE)
    assert [c["type"] for c in merged(both, condition("A", holds=False), TWO)] == ["A", "B"]


def test_a_refused_job_is_told_rung_reasons_and_when_it_is_tried_again() -> None:
    found = status(Verdict(Rung.ALLOCATE_JOB, (SHORT, Finding(Code.BACKING_OFF))))
    assert (found["rung"], found["phase"], found["pending"], found["nextAttemptTime"]) == (
        "AllocateJob",
        "Inqueue",
        2,
        SECOND_TIME,
    )
    assert [reason["code"] for reason in found["reasons"]] == ["InsufficientQuota"]
    unschedulable = told(found, "Unschedulable")
    assert unschedulable is not None
    assert (unschedulable["status"], unschedulable["reason"]) == ("True", "InsufficientQuota")
    assert unschedulable["message"].startswith("2 pods find no quota with room")


def test_the_wait_for_a_zone_is_told_from_its_beginning_to_its_end() -> None:
    waits = Verdict(Rung.ALLOCATE_ZONE, (Finding(Code.WAITING_FOR_ZONE),))
    assert told(status(Verdict(Rung.DONE)), "WaitingForZone") is None
    first = status(waits)
    later = status(waits, old=first["conditions"], now=TWO)
    over = status(Verdict(Rung.DONE), old=later["conditions"], now=TWO)
    times = [
        (c["status"], c["lastTransitionTime"]) for each in (first, later, over) if (c := told(each, "WaitingForZone"))
    ]
    assert times == [("True", FIRST), ("True", FIRST), ("False", SECOND_TIME)]


def test_what_is_told_is_within_the_schema() -> None:
    many = tuple(Finding(code, 3, SHORT.needed, SHORT.needed, ("x" * 253,) * 3) for code in Code)
    msgspec.convert(status(Verdict(Rung.BIND, many)), crds.PodGroupStatus)
