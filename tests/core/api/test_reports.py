from typing import Any

import msgspec
import pytest

from sky_core.api.conditions import condition, merged
from sky_core.api.reports import is_told, pod_condition, pod_group_status, queue_status, says_the_same
from sky_core.api.wire import crds
from sky_core.model import SECOND, Instant
from sky_core.reasons import Code, Finding, Rung, Verdict
from sky_core.resources import parse_resources
from sky_core.status import Counts, Phase, QueueStatus, SpecPool

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
    assert unschedulable["message"].startswith("2 pods find no quota with room in their queue")


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


def refused(rung: Rung, *codes: Code) -> Verdict:
    return Verdict(rung, tuple(Finding(code) for code in codes))


@pytest.mark.parametrize(
    ("verdict", "gated", "reason"),
    [
        (refused(Rung.ALLOCATE_QUOTA, Code.INSUFFICIENT_QUOTA_IDLE), False, "Unschedulable"),
        (refused(Rung.ALLOCATE_ZONE, Code.TOPOLOGY_ZONE_INSUFFICIENT, Code.NEVER_FITS), False, "Unschedulable"),
        (refused(Rung.ALLOCATE_QUOTA, Code.NEVER_FITS), False, "Undetermined"),
        (refused(Rung.ALLOCATE_JOB, Code.INSUFFICIENT_QUOTA, Code.INSUFFICIENT_IDLE), False, "Undetermined"),
        (refused(Rung.ENQUEUE, Code.QUEUE_CLOSED), False, "Undetermined"),
        (refused(Rung.ENQUEUE, Code.SCHEDULING_GATED), True, "SchedulingGated"),
    ],
)
def test_a_pods_condition_says_whether_one_more_node_would_help(verdict: Verdict, gated: bool, reason: str) -> None:
    assert pod_condition(verdict, gated=gated)["reason"] == reason


def test_a_pod_is_told_again_only_when_a_code_changes() -> None:
    wanted = pod_condition(Verdict(Rung.ALLOCATE_JOB, (SHORT,)), gated=False)
    more = msgspec.structs.replace(SHORT, count=4)
    assert is_told(pod_condition(Verdict(Rung.ALLOCATE_JOB, (more, Finding(Code.BACKING_OFF))), gated=False), wanted)
    other = Verdict(Rung.ALLOCATE_JOB, (SHORT, Finding(Code.STORAGE_NOT_READY)))
    assert not is_told(pod_condition(other, gated=False), wanted)
    assert not is_told({}, wanted)
    assert not is_told({**wanted, "status": "True"}, wanted)
    gated = {"status": "False", "reason": "SchedulingGated", "message": "as the server words it"}
    assert is_told(gated, pod_condition(refused(Rung.ENQUEUE, Code.SCHEDULING_GATED), gated=True))


def test_a_pod_groups_status_says_the_same_whatever_its_numbers_and_times() -> None:
    more = msgspec.structs.replace(SHORT, count=4)
    one, other = status(Verdict(Rung.ALLOCATE_JOB, (SHORT,))), status(Verdict(Rung.ALLOCATE_JOB, (more,)), now=TWO)
    assert one != other
    assert says_the_same(one, other)
    assert not says_the_same(one, status(Verdict(Rung.ALLOCATE_QUOTA, (SHORT,))))
    assert not says_the_same(one, {**one, "running": 1})
    assert not says_the_same(one, {})


def test_a_queues_status_is_what_its_crd_holds() -> None:
    report = QueueStatus(
        allocated=parse_resources({"cpu": "2"}),
        pools={"a100": SpecPool(allocatable=parse_resources({"cpu": "4"})), "": SpecPool()},
        jobs=Counts(pending=1, running=2),
    )
    written = queue_status(report)
    assert msgspec.convert(written, crds.QueueStatus).running == 2
    assert written == {
        "allocated": {"cpu": "2"},
        "specAllocatable": {"a100": {"cpu": "4"}},
        "specAllocated": {},
        "specShadow": {},
        "pending": 1,
        "running": 2,
    }
