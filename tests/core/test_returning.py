"""Returning to one's place: who may take up what is kept, where, and for how long (behaviour.md 8)."""

from typing import Any

import pytest

from sky_core.api.identity import Key
from sky_core.model import SECOND, QuotaName
from sky_core.testing.objects import HCA, Object, group, node, pod, queue, quota
from sky_core.testing.stories import Stage, at, cards, ended, fixed, gang, gone, note, reborn, tell

KEEP: Object = {"notes": {"reservation-ttl": "60s"}}
TWO_NODES = [node("n0"), node("n1")]
QUOTAS = [quota("q-0", cards(8)), quota("q-1", cards(8))]


def lost(name: str, seconds: int = 5) -> Object:
    return at(seconds, delete=gone(name))


def back(raw: Object, seconds: int = 20) -> Object:
    return at(seconds, apply=reborn(raw))


def test_a_deleted_task_returns_to_its_place_and_nobody_takes_it_meanwhile() -> None:
    head, *pods = gang("w", 2, cards(8), group=KEEP)
    thief = at(10, apply=pod("thief", cards(8)))
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(lost("w-1"), thief, back(pods[1])))
    assert (tale.place("w-1"), tale.quota("w-1")) == ("n1", "q-1")
    assert tale.place("thief") is None
    assert tale.kept("q-1") == []


def test_what_is_kept_is_refused_to_others_with_its_own_code() -> None:
    head, *pods = gang("w", 2, cards(8), group=KEEP)
    thief = at(10, apply=pod("thief", cards(8)))
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(lost("w-1"), thief), cycles=30)
    assert tale.kept("q-1") == ["w-1"]
    assert "ReservedForOther" in tale.codes("thief")


def test_nothing_is_kept_without_a_ttl() -> None:
    head, *pods = gang("w", 2, cards(8))
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(lost("w-1"), at(10, apply=pod("thief", cards(8)))))
    assert tale.place("thief") == "n1"


@pytest.mark.parametrize(("phase", "kept"), [("Failed", ["w-1"]), ("Succeeded", [])])
def test_the_place_of_a_failed_task_is_kept_and_not_that_of_one_that_is_done(phase: str, kept: list[str]) -> None:
    head, *pods = gang("w", 2, cards(8), group=KEEP)
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(at(5, finish=ended("w-1", phase)),), cycles=20)
    assert tale.kept("q-1") == kept


def test_the_time_counts_from_the_write_that_ends_the_claim() -> None:
    head, *pods = gang("w", 2, cards(8), group=KEEP)
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(lost("w-1"), at(10, apply=pod("next", cards(8)))), cycles=200)
    ended_in = next(step.cycle for step in tale.report.steps if step.cycle > 1 and step.writes)
    assert ended_in == 8  # deleted in 6, gone in 7
    assert tale.bound["next"] == ended_in + 60 + 1  # reservation-gc ends the next one's back-off


def test_an_expired_place_is_ignored_at_once_though_nobody_has_collected_it() -> None:
    stage = Stage(node("n0"), quota("q", cards(8)), pod("w", cards(8), notes={"reservation-ttl": "10s"}))
    stage.cycle()
    stage.cluster.delete(Key("Pod", "default", "w"))
    stage.clear()
    stage.cycle(9)
    assert stage.cluster.world.quotas[QuotaName("q")].node == "n0"
    stage.cycle(3)
    assert stage.cluster.world.quotas[QuotaName("q")].node is None
    stage.cluster.apply(pod("next", cards(8)))
    stage.cycle()
    assert stage.place("next") == "n0"


def test_a_ttl_is_cut_to_the_longest_that_is_allowed() -> None:
    stage = Stage(node("n0"), quota("q", cards(8)), pod("w", cards(8), notes={"reservation-ttl": "10h"}))
    stage.cycle()
    stage.cluster.delete(Key("Pod", "default", "w"))
    stage.clear()
    before = stage.cluster.now
    stage.cycle()
    (kept,) = stage.cluster.world.quotas[QuotaName("q")].reservations
    assert kept.expires - before == 3600 * SECOND


def test_one_of_a_job_with_another_rank_does_not_take_the_place() -> None:
    head, *pods = gang("w", 3, cards(8), least=1, group=KEEP)
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(lost("w-1"),), cycles=30)
    assert tale.place("w-2") is None
    assert tale.kept("q-1") == ["w-1"]


def test_two_roles_of_one_number_are_two_places() -> None:
    workers = [
        pod(f"w-{role}-0", cards(8), group="w", notes={"volcano.sh/task-spec": role}) for role in ("master", "worker")
    ]
    other = pod("again-0", cards(8), group="w", notes={"volcano.sh/task-spec": "worker"})
    story = (lost("w-master-0"), at(10, apply=other))
    tale = tell(*TWO_NODES, *QUOTAS, group("w", 1, **KEEP), *workers, later=story, cycles=40)
    assert tale.place("again-0") is None


def test_the_rank_makes_the_returner_and_not_the_name() -> None:
    head, *pods = gang("w", 2, cards(8), group=KEEP)
    again = pod("other-name-1", cards(8), group="w")
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(lost("w-1"), at(20, apply=again)))
    assert tale.quota("other-name-1") == "q-1"


def heir(name: str, queue: str = "default", **fields: Any) -> Object:
    return pod(name, cards(8), notes={"inherit-resource-from": "old", "queue-name": queue}, **fields)


def test_who_names_its_predecessor_takes_over_its_place() -> None:
    old = pod("old", cards(8), notes={"reservation-ttl": "60s"})
    tale = tell(node("n0"), quota("q", cards(8)), old, later=(lost("old"), at(20, apply=heir("new"))))
    assert (tale.place("new"), tale.quota("new")) == ("n0", "q")


def test_nobody_inherits_across_namespaces_or_queues() -> None:
    old = pod("old", cards(8), notes={"reservation-ttl": "600s"})
    shared = quota("q", cards(8), sharedQueues=["other"])
    far = at(20, apply=heir("far", namespace="elsewhere"))
    aside = at(20, apply=heir("aside", "other"))
    tale = tell(node("n0"), queue("other"), shared, old, later=(lost("old"), far, aside), cycles=60)
    assert tale.places("elsewhere/far", "aside") == [None, None]
    assert "ReservedForOther" in tale.codes("aside")


def test_the_returner_may_use_what_is_idle_besides_its_place() -> None:
    small, large = (pod("w", cards(n), notes={"reservation-ttl": "60s"}) for n in (2, 6))
    tale = tell(node("n0"), quota("q", cards(8)), small, later=(lost("w"), back(large)))
    assert tale.place("w") == "n0"


def test_others_may_use_what_is_idle_besides_what_is_kept() -> None:
    small = pod("w", cards(4), notes={"reservation-ttl": "600s"})
    beside = (at(20, apply=pod("a", cards(4))), at(20, apply=pod("b", cards(1))))
    tale = tell(node("n0"), quota("q", cards(8)), small, later=(lost("w"), *beside), cycles=60)
    assert tale.places("a", "b") == ["n0", None]


def test_a_place_ends_with_its_job() -> None:
    head, *pods = gang("w", 2, cards(8), least=1, group={"notes": {"reservation-ttl": "50m"}})
    story = (lost("w-1"), at(20, finish=ended("w-0")), at(25, apply=pod("next", cards(8))))
    tale = tell(*TWO_NODES, *QUOTAS, head, *pods, later=story)
    assert tale.place("next") is not None
    assert tale.kept("q-1") == []


def test_a_deleted_or_failed_pod_does_not_finish_its_job() -> None:
    for end in (at(5, delete=gone("w")), at(5, finish=ended("w", "Failed"))):
        alone = pod("w", cards(8), notes={"reservation-ttl": "60s"})
        tale = tell(
            node("n0"), quota("q", cards(8)), alone, later=(end, at(10, apply=pod("next", cards(8)))), cycles=30
        )
        assert tale.kept("q") == ["w"]
        assert tale.place("next") is None


def test_a_place_survives_refused_bindings_and_keeps_its_time() -> None:
    alone = pod("w", cards(8), notes={"reservation-ttl": "60s"})
    refusals = [at(15, failNextBind={"pod": "default/w", "status": 409}) for _ in range(4)]
    story = (lost("w"), *refusals, back(alone), at(22, apply=pod("thief", cards(8))))
    tale = tell(node("n0"), quota("q", cards(8)), alone, later=story)
    assert tale.place("w") == "n0"
    assert "thief" not in tale.bound


def test_a_place_that_is_given_back_has_its_old_expiry() -> None:
    alone = pod("w", cards(8), notes={"reservation-ttl": "60s"})
    refusals = [at(15, failNextBind={"pod": "default/w", "status": 409}) for _ in range(300)]
    story = (lost("w"), *refusals, back(alone), at(30, delete=gone("w")), at(30, apply=pod("next", cards(8))))
    tale = tell(node("n0"), quota("q", cards(8)), alone, later=story, cycles=200)
    assert tale.bound["next"] <= 8 + 60 + 30


def test_a_job_with_a_kept_place_is_let_in_whatever_its_queue_says() -> None:
    head, *pods = gang("w", 1, cards(8), group=KEEP)
    story = (lost("w-0"), at(10, apply=queue("default", state="Closed", capability={})), back(pods[0]))
    assert tell(node("n0"), quota("q", cards(8)), head, *pods, later=story).place("w-0") == "n0"


def test_a_node_that_is_gone_gives_no_place_back_and_the_quota_moves() -> None:
    alone = pod("w", cards(8), notes={"reservation-ttl": "60s"})
    story = (lost("w"), at(10, delete=gone("n0", "Node")), back(alone))
    tale = tell(node("n0"), node("n1"), quota("q", cards(8)), alone, later=story)
    assert (tale.place("w"), tale.quota("w"), tale.home("q")) == ("n1", "q", "n1")


@pytest.mark.parametrize("shut", [{"unschedulable": True}, {"taints": [{"key": "k", "effect": "NoSchedule"}]}])
def test_a_place_is_waited_for_where_the_quota_can_not_move(shut: Object) -> None:
    alone = pod("w", cards(8), notes={"reservation-ttl": "10m"})
    story = (lost("w"), at(10, apply=node("n0", **shut)), back(alone), at(40, apply=node("n0")))
    waiting = tell(node("n0"), quota("q", cards(8)), alone, later=story, cycles=35)
    assert (waiting.place("w"), waiting.home("q"), waiting.kept("q")) == (None, "n0", ["w"])
    assert tell(node("n0"), quota("q", cards(8)), alone, later=story).place("w") == "n0"


def test_a_quota_that_others_hold_does_not_move_and_the_place_is_void() -> None:
    mine, theirs = pod("w", cards(4), notes={"reservation-ttl": "10m"}), pod("v", cards(4))
    held = quota("q-0", cards(8), status={"phase": "QuotaBound", "nodeName": "n0"})
    story = (lost("w"), at(10, apply=node("n0", unschedulable=True)), back(mine))
    tale = tell(node("n0"), node("n1"), held, quota("q-1", cards(4)), mine, theirs, later=story)
    assert (tale.place("w"), tale.quota("w")) == ("n1", "q-1")
    assert tale.kept("q-0") == []
    assert tale.place("v") == "n0"


def wired(*switches: str, **odd: Any) -> list[Object]:
    amounts = {"nvidia.com/gpu": "8", HCA: "8", "cpu": "64", "pods": "110"}
    return [
        node(f"n{i}", amounts, labels={note("zone"): f"roce#{switch}"}, **odd.get(f"n{i}", {}))
        for i, switch in enumerate(switches)
    ]


CARDS_WITH_HCA = {"nvidia.com/gpu": "8", HCA: "8"}


def shut(name: str, *switches: str, seconds: int = 10) -> Object:
    """A node of `wired(*switches)` takes nobody any more."""
    at_fault = {name: {"unschedulable": True}}
    return at(seconds, apply=next(n for n in wired(*switches, **at_fault) if n["metadata"]["name"] == name))


def test_a_rank_whose_node_is_shut_moves_within_its_zone_in_order() -> None:
    switches = ("s1", "s1", "s1", "s1", "s2")
    quotas = [quota(f"q-{i}", CARDS_WITH_HCA) for i in range(3)]
    head, *pods = gang("w", 3, CARDS_WITH_HCA, group=KEEP)
    tale = tell(*wired(*switches), *quotas, head, *pods, later=(lost("w-2"), shut("n2", *switches), back(pods[2])))
    assert tale.places("w-0", "w-1", "w-2") == ["n0", "n1", "n3"]
    assert tale.home("q-2") == "n3"


def test_a_rank_moves_within_its_zone_out_of_order_rather_than_out_of_it() -> None:
    switches = ("s1", "s1", "s1", "s1", "s2")
    quotas = [quota(f"q-{i}", CARDS_WITH_HCA) for i in range(3)]
    head, *pods = gang("w", 3, CARDS_WITH_HCA, group=KEEP)
    story = (lost("w-0"), shut("n0", *switches), back(pods[0]))
    tale = tell(*wired(*switches), *quotas, head, *pods, later=story)
    assert tale.places("w-0", "w-1", "w-2") == ["n3", "n1", "n2"]


@pytest.mark.parametrize(("policy", "place"), [("preferred", "n2"), ("required", None)])
def test_a_rank_leaves_its_zone_only_if_the_job_does_not_require_one(policy: str, place: str | None) -> None:
    switches = ("s1", "s1", "s2")
    quotas = [quota(f"q-{i}", CARDS_WITH_HCA) for i in range(2)]
    wish = {"notes": {"reservation-ttl": "10m", "topology-policy": policy}}
    head, *pods = gang("w", 2, CARDS_WITH_HCA, group=wish)
    story = (lost("w-1"), shut("n1", *switches), back(pods[1]))
    tale = tell(*wired(*switches), *quotas, head, *pods, later=story, cycles=60)
    assert tale.place("w-1") == place
    assert tale.kept("q-1") == ([] if place else ["w-1"])


def test_a_whole_gang_returns_to_its_zone_but_for_the_rank_whose_node_is_shut() -> None:
    switches = ("s1", "s1", "s1", "s1", "s2", "s2", "s2", "s2", "s2")
    quotas = [quota(f"q-{i}", CARDS_WITH_HCA) for i in range(3)]
    head, *pods = gang("w", 3, CARDS_WITH_HCA, group=KEEP)
    story = (*(lost(f"w-{i}") for i in range(3)), shut("n1", *switches), *(back(each) for each in pods))
    tale = tell(*wired(*switches), *quotas, head, *pods, later=story)
    assert tale.places("w-0", "w-1", "w-2") == ["n0", "n3", "n2"]


def test_an_extra_returns_and_moves_like_any_other() -> None:
    head, *pods = gang("w", 2, cards(8), least=1, group=KEEP)
    again = tell(*TWO_NODES, *QUOTAS, head, *pods, later=(lost("w-1"), back(pods[1])))
    assert again.quota("w-1") == "q-1"
    story = (lost("w-1"), at(10, apply=node("n1", unschedulable=True)), back(pods[1]))
    moved = tell(*TWO_NODES, node("n2"), *QUOTAS, head, *pods, later=story)
    assert (moved.place("w-1"), moved.home("q-1")) == ("n2", "n2")


def test_a_static_bound_quota_keeps_its_node_and_its_place() -> None:
    alone = pod("w", cards(8), notes={"reservation-ttl": "10m"})
    story = (lost("w"), at(10, apply=node("n0", unschedulable=True)), back(alone))
    tale = tell(node("n0"), node("n1"), fixed("q", 8, "n0"), alone, later=story, cycles=60)
    assert (tale.place("w"), tale.home("q"), tale.kept("q")) == (None, "n0", ["w"])
