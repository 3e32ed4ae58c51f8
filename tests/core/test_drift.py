from typing import Any

import pytest

from sky_core.drift import Kind, Mend, plan
from sky_core.model import Instant, Quota
from sky_core.selectors import equals
from sky_core.states import TaskState
from sky_core.testing.rows import Row, claim, gpus, job, kept, node, quota, spot_task, task, world

NOW = Instant(1_000)


def mend(*rows: Row) -> Mend:
    """What becomes of the quota `q`."""
    return next(m for m in plan(world(node("n0"), node("n1"), *rows), NOW) if m.write.quota == "q")


def says(m: Mend, type_: str) -> tuple[bool, str] | None:
    return next(((c.holds, c.reason) for c in m.conditions if c.type == type_), None)


def test_what_is_in_place_has_not_drifted() -> None:
    pod = task("w-0", node="n0")
    m = mend(job("w"), pod, quota("q", node="n0", claims=(claim(pod),)))
    assert m.drifted == ()
    assert says(m, "Drifted") == (False, "InPlace")


def test_a_quota_follows_its_pods() -> None:
    pod, lost = task("w-0", node="n1"), task("w-1")
    held = quota("q", node="n0", claims=(claim(pod),), reservations=(kept(lost, "n0", 2_000),))
    m = mend(job("w", 2), pod, held)
    assert (m.write.node, m.drifted) == ("n1", (Kind.NODE,))
    assert m.write.reservations == (kept(lost, "n1", 2_000),)


def test_a_quota_whose_status_was_lost_gets_it_back_from_its_pods() -> None:
    pods = [task(f"w-{i}", node="n1", required_quota="q") for i in range(2)]
    m = mend(job("w", 2), *pods, quota("q"))
    assert (m.write.node, m.drifted) == ("n1", (Kind.NODE, Kind.TASKS))
    assert m.write.claims == tuple(claim(pod) for pod in pods)


def test_pods_on_several_nodes_are_reported_and_nothing_changes() -> None:
    pods = [task(f"w-{i}", node=f"n{i}") for i in range(2)]
    gone = claim(task("w-2"))
    m = mend(job("w", 3), *pods, quota("q", node="n0", claims=(*map(claim, pods), gone)))
    assert (m.write.node, len(m.write.claims), m.drifted) == ("n0", 3, ())
    assert says(m, "Drifted") == (True, "SplitPods")


def test_claims_of_pods_that_are_gone_end() -> None:
    m = mend(job("w"), quota("q", node="n0", claims=(claim(task("w-0")),)))
    assert (m.write.claims, m.drifted) == ((), (Kind.TASKS,))


@pytest.mark.parametrize(
    ("whose", "fields"),
    [
        ("another queue's job", {"job": "default/far"}),
        ("a pod of another scheduler", {"job": None}),
        ("a spot pod", {"shape": spot_task("s-0", 1).shape}),
        ("a finished pod", {"state": TaskState.SUCCEEDED}),
    ],
)
def test_a_pod_without_a_right_to_the_quota_moves_nothing(whose: str, fields: dict[str, Any]) -> None:
    pod = task("w-0", node="n1", required_quota="q", **fields)
    m = mend(job("w"), job("far", queue="elsewhere"), pod, quota("q", node="n0"))
    assert (m.write.node, m.write.claims, m.drifted) == ("n0", (), ()), whose


def test_while_one_job_holds_a_quota_another_jobs_pods_do_not_count() -> None:
    mine, other = task("w-0", node="n0"), task("v-0", node="n1", required_quota="q")
    sibling = task("w-1", node="n0", required_quota="q")
    m = mend(job("w", 2), job("v"), mine, other, sibling, quota("q", node="n0", claims=(claim(mine),)))
    assert [c.name for c in m.write.claims] == ["w-0", "w-1"]
    assert says(m, "Drifted") == (False, "InPlace")


def fixed(**fields: Any) -> Quota:
    return quota("q", static_node="n1", **fields)


def test_a_static_bind_is_carried_out_whatever_quota_idle_says() -> None:
    m = mend(quota("full", 8, node="n1"), fixed())
    assert (m.write.node, m.static, m.drifted) == ("n1", "n1", (Kind.NODE, Kind.STATIC_BIND))
    assert says(m, "StaticBound") == (True, "Bound")
    assert mend(fixed(node="n1", static_bound=True)).drifted == ()


def test_a_quota_without_claims_moves_to_its_fixed_node() -> None:
    assert mend(fixed(node="n0")).write.node == "n1"


def test_a_quota_with_claims_elsewhere_is_not_moved() -> None:
    pod = task("w-0", node="n0")
    m = mend(job("w"), pod, fixed(node="n0", claims=(claim(pod),)))
    assert (m.write.node, m.static, m.drifted) == ("n0", None, ())
    assert says(m, "StaticBound") == (False, "InUse")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"static_node": "n9"}, "NodeNotFound"),
        ({"static_node": "n1", "selector": equals({"disk": "fast"})}, "NodeSelectorNotMatch"),
        ({"static_node": "n1", "request": gpus(9)}, "InsufficientAllocatable"),
    ],
)
def test_a_static_bind_that_cannot_be_is_refused_with_its_reason(spec: dict[str, Any], reason: str) -> None:
    m = mend(quota("q", **spec))
    assert (m.write.node, m.static, m.drifted) == (None, None, ())
    assert says(m, "StaticBound") == (False, reason)


def test_a_cleared_static_bind_is_cleared_in_status_too() -> None:
    m = mend(quota("q", node="n1", static_bound=True))
    assert (m.write.node, m.static, m.drifted) == ("n1", None, (Kind.STATIC_BIND,))


def test_a_request_that_became_smaller_than_its_claims_is_reported() -> None:
    pods = [task(f"w-{i}", node="n0") for i in range(2)]
    small = quota("q", 1, node="n0", claims=tuple(map(claim, pods)))
    assert says(mend(job("w", 2), *pods, small), "OverAllocated") == (True, "ClaimsExceedRequest")
    raised = quota("q", 1, node="n0", claims=tuple(map(claim, pods)), shadow=gpus(1))
    assert says(mend(job("w", 2), *pods, raised), "OverAllocated") == (False, "WithinRequest")
