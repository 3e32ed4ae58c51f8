"""What a job that hop 2 will refuse claims on the way is not kept from those after it, not even within the cycle."""

from collections.abc import Iterable

from sky_core.testing.objects import Object, budget, group, job_queue, node, pod, queue, quota
from sky_core.testing.stories import Tale, at, cards, gang, gone, reborn, spot, spot_node, tell

NOWHERE: Object = {"nodeSelector": {"no": "where"}}
REQUIRED = {"enable-topology-scheduling": "true", "topology-policy": "required"}


def zoned(name: str, zone: str) -> Object:
    return node(name, labels={"scheduling.infini-ai.com/zone": zone})


def after_ten_minutes(*objects: Object) -> Tale:
    return tell(*objects, later=(at(600, delete=gone("nobody")),), cycles=700)


def capped(*jobs: Iterable[Object]) -> list[Object]:
    quotas = [quota(f"q-{i}", cards(8), queue="capped") for i in range(2)]
    return [node("n0"), queue("capped", capability=cards(8)), *quotas, *(each for job in jobs for each in job)]


def test_a_hopeless_gang_does_not_use_up_its_queues_capability() -> None:
    hopeless = gang("a", 2, cards(4), group={"queue": "capped"}, **NOWHERE)
    tale = after_ten_minutes(*capped(hopeless, gang("b", 1, cards(8), group={"queue": "capped"})))
    assert tale.bound == {"b-0": 1}


def test_a_hopeless_pod_does_not_use_up_its_queues_capability() -> None:
    notes = {"queue-name": "capped"}
    tale = after_ten_minutes(*capped([pod("a", cards(8), notes=notes, **NOWHERE), pod("b", cards(8), notes=notes)]))
    assert tale.bound == {"b": 1}


def test_a_gang_that_no_zone_holds_does_not_use_up_its_queues_capability() -> None:
    zones = [queue("capped", capability=cards(16)), zoned("n0", "A"), zoned("n1", "B")]
    quotas = [quota(f"q-{i}", cards(8), queue="capped") for i in range(3)]
    waits = gang("a", 2, cards(8), group={"queue": "capped", "notes": REQUIRED})
    tale = after_ten_minutes(*zones, *quotas, *waits, *gang("b", 1, cards(8), group={"queue": "capped"}))
    assert tale.bound == {"b-0": 1}


def test_a_hopeless_gang_does_not_take_the_turn_of_its_job_queue() -> None:
    lane = job_queue("lane", queueName="default", maxRunningJobs=1, jobSelector={})
    quotas = [quota("q-0", cards(8)), quota("q-1", cards(8))]
    tale = tell(node("n0"), node("n1"), lane, *quotas, *gang("a", 2, cards(8), **NOWHERE), *gang("b", 1, cards(8)))
    assert tale.bound == {"b-0": 1}


def test_a_gang_that_waits_for_its_zone_leaves_the_free_quota_to_others() -> None:
    """It has started, so that it never backs off: in every cycle it comes before the others."""
    pods = [pod(f"a-{i}", cards(4), group="a") for i in range(2)]
    tale = tell(
        zoned("n0", "A"),
        zoned("n1", "B"),
        quota("q-0", cards(4)),
        quota("q-1", cards(4)),
        group("a", 2, notes=REQUIRED),
        *pods,
        later=(
            at(3, delete=gone("a-1")),
            at(5, delete=gone("q-1", "Quota")),
            at(5, apply=pod("foreign", cards(4), scheduler="other", on="n0")),
            at(7, apply=quota("q-2", cards(4))),
            at(8, apply=reborn(pods[1])),
            at(12, apply=pod("b", cards(4))),
        ),
    )
    assert tale.place("b") == "n1"
    assert tale.cycles < 20


def test_what_hop_two_says_of_claims_that_are_not_kept_is_told() -> None:
    tale = tell(node("n0"), quota("q-0", cards(8)), *gang("a", 1, cards(8), **NOWHERE))
    assert (tale.rung("a"), tale.codes("a")) == ("AllocateQuota", {"NodeSelectorNotMatch"})


def test_a_gang_that_may_not_evict_all_its_victims_gives_way_to_who_needs_one() -> None:
    """It takes both nodes in hop 2, and only reclaim finds that the budget lets one pod go, not two."""
    crowd = [spot(f"s{i}", 8, on=f"n{i}", metadata={"labels": {"app": "s"}}) for i in range(2)]
    quotas = [quota(f"q-{i}", cards(8)) for i in range(3)]
    nodes = [spot_node("n0"), spot_node("n1"), budget("b", {"app": "s"}, minAvailable=1)]
    tale = tell(*nodes, *crowd, *quotas, *gang("a", 2, cards(8)), *gang("b", 1, cards(8)))
    assert list(tale.bound) == ["b-0"]
    assert len(tale.evicted) == 1


def test_a_simulation_ends_in_which_an_extra_waits_for_room_that_spot_pods_fill() -> None:
    pods = [pod(f"a-{i}", cards(1), group="a") for i in range(2)]
    late = (at(5, apply=pods[1]), at(7, apply=pod("b", cards(4))))
    tale = tell(
        spot_node("n0", 4, more=cards(4)),
        spot("s", 3, on="n0"),
        quota("q-0", cards(4)),
        group("a", 1),
        pods[0],
        later=late,
    )
    assert tale.codes("a") == {"InsufficientIdle"}
    assert tale.cycles < 20


def test_who_fits_on_no_node_is_told_the_limit_and_not_what_is_left() -> None:
    small = [quota("q-small", cards(2)), pod("small", cards(2))]
    tale = tell(node("n0"), quota("q-huge", {**cards(16), "cpu": "8"}), pod("huge", {**cards(16), "cpu": "8"}), *small)
    (said,) = (one for one in tale.told["jobs"]["default/huge"]["reasons"] if one["code"] == "NeverFits")
    assert (said["needed"], said["available"]) == (cards(16), cards(8))
    assert said["examples"] == ["n0: nvidia.com/gpu=8 of nvidia.com/gpu=16"]
