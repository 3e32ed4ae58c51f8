"""Quotas that people have fixed to a node (behaviour.md 8)."""

import pytest

from sky_core.testing.objects import Object, claim, node, pod, quota
from sky_core.testing.stories import Stage, at, cards, fixed, gang, gone, note, tell

BOUND_TO_N0 = {"phase": "QuotaBound", "nodeName": "n0"}


def test_a_fixed_quota_is_on_its_node_before_the_next_cycle_and_its_job_binds_then() -> None:
    tale = tell(node("n0"), node("n1"), quota("q", cards(8), staticBindNode="n1"), pod("w", cards(8)))
    assert tale.bound == {"w": 2}
    assert tale.place("w") == "n1"


def test_until_then_the_job_is_told_what_it_waits_for() -> None:
    stage = Stage(node("n0"), quota("q", cards(8), staticBindNode="n0"), pod("w", cards(8)))
    stage.cycle()
    assert stage.codes("default/pod/w") == ("StaticBindPending",)
    assert stage.claims("q") == []


def test_the_scheduler_itself_places_it_nowhere() -> None:
    stage = Stage(node("n0"), node("n1"), quota("q", cards(8), staticBindNode="n1"), pod("w", cards(8)))
    stage.cycle(5)
    assert stage.place("w") is None
    assert stage.cluster.world.quotas_on == {}


def test_room_in_its_node_is_not_asked_for_the_quota() -> None:
    promised = fixed("other", 8, "n0")
    tale = tell(node("n0"), promised, quota("q", cards(8), staticBindNode="n0"))
    assert tale.home("q") == "n0"
    assert tale.told["nodes"]["n0"]["quotaIdle"]["nvidia.com/gpu"] == "-8"


@pytest.mark.parametrize(
    "refused",
    [
        {"staticBindNode": "n9"},
        {"staticBindNode": "n0", "nodeSelector": {"disk": "ssd"}},
        {"staticBindNode": "n0", "request": cards(9)},
    ],
)
def test_what_can_not_be_carried_out_is_offered_to_nobody(refused: Object) -> None:
    impossible = quota("a", **{"request": cards(8), **refused})
    tale = tell(node("n0"), node("n1"), impossible, quota("b", cards(8)), pod("w", cards(8)))
    assert tale.quota("w") == "b"
    assert tale.home("a") is None


def test_a_node_that_takes_no_pods_is_no_place_though_the_quota_is_fixed_there() -> None:
    for shut in (node("n0", unschedulable=True), node("n0", conditions=[{"type": "Ready", "status": "False"}])):
        quotas = [quota("a", cards(8), staticBindNode="n0"), quota("b", cards(8))]
        tale = tell(shut, node("n1"), *quotas, pod("w", cards(8)))
        assert (tale.quota("w"), tale.home("a")) == ("b", "n0")


def test_when_its_node_is_ready_again_the_job_binds() -> None:
    down = node("n0", conditions=[{"type": "Ready", "status": "False"}])
    tale = tell(down, quota("q", cards(8), staticBindNode="n0"), pod("w", cards(8)), later=(at(9, apply=node("n0")),))
    assert tale.bound == {"w": 11}


def test_fixed_quotas_come_before_bound_ones_and_bound_ones_before_free_ones() -> None:
    bound = quota("b", cards(4), status=BOUND_TO_N0)
    objects = [node("n0", {"nvidia.com/gpu": "16", "pods": "110"}), quota("a", cards(4)), bound]
    assert tell(*objects, pod("w", cards(4))).quota("w") == "b"
    assert tell(*objects, fixed("c", 4, "n0"), pod("w", cards(4))).quota("w") == "c"


def test_a_quota_that_holds_claims_elsewhere_is_not_moved_and_says_so() -> None:
    held = quota("q", cards(8), status={**BOUND_TO_N0, "tasks": [claim("w", cards(8))]}, staticBindNode="n1")
    stage = Stage(node("n0"), node("n1"), held, pod("w", cards(8), on="n0"))
    stage.repair()
    status = stage.status("Quota", "q")
    assert status["nodeName"] == "n0"
    (said,) = [one for one in status["conditions"] if one["type"] == "StaticBound"]
    assert (said["status"], said["reason"]) == ("False", "InUse")


def test_when_those_claims_have_ended_it_moves() -> None:
    held = quota("q", cards(8), status={**BOUND_TO_N0, "tasks": [claim("w", cards(8))]}, staticBindNode="n1")
    story = (at(10, delete=gone("w")),)
    assert tell(node("n0"), node("n1"), held, pod("w", cards(8), on="n0"), later=story).home("q") == "n1"


def test_a_fixed_quota_stays_when_nobody_claims_it_and_goes_when_the_field_is_cleared() -> None:
    tale = tell(node("n0"), quota("q", cards(8), staticBindNode="n0"), later=(at(20, delete=gone("nobody")),))
    assert tale.home("q") == "n0"
    cleared = at(10, apply=quota("q", cards(8)))
    assert tell(node("n0"), quota("q", cards(8), staticBindNode="n0"), later=(cleared,)).home("q") is None


def test_a_gang_takes_the_zone_in_which_most_of_it_is_fixed() -> None:
    machines = [
        node(f"n{i}", {"nvidia.com/gpu": "8", "rdma/hca": "8", "pods": "110"}, labels={note("zone"): f"roce#s{i // 3}"})
        for i in range(6)
    ]
    each = {"nvidia.com/gpu": "8", "rdma/hca": "8"}
    quotas = [quota(f"f{i}", each, staticBindNode=f"n{i + 3}") for i in range(2)]
    tale = tell(*machines, *quotas, quota("free", each), *gang("w", 3, each))
    assert tale.places("w-0", "w-1", "w-2") == ["n3", "n4", "n5"]


def test_its_status_says_where_it_is_fixed() -> None:
    stage = Stage(node("n0"), quota("q", cards(8), staticBindNode="n0"))
    stage.repair()
    assert stage.status("Quota", "q")["staticBindStatus"] == {"nodeName": "n0", "bound": True}
