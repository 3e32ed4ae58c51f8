"""While victims are on their way out: what their claimant keeps, and for how long (behaviour.md 5.4, 5.6)."""

import pytest

from sky_core.testing.objects import Object, budget, pod
from sky_core.testing.stories import Stage, cards, fixed, gang, spot, spot_node

CLAIMANT = pod("w", cards(8))
W = "default/pod/w"


def crowded(grace: int = 30) -> list[Object]:
    """A quota on a node that spot pods fill."""
    fill = [spot(f"s{i}", 4, on="n0", terminationGracePeriodSeconds=grace) for i in range(2)]
    return [spot_node("n0"), fixed("q", 8, "n0"), *fill]


def test_the_claim_is_kept_in_every_cycle_until_the_room_is_there() -> None:
    stage = Stage(*crowded(), CLAIMANT)
    for _ in range(60):
        stage.cycle()
        assert stage.claims("q") == ["w"]
        assert stage.codes(W) == ("WaitingForRelease",)
    stage.clear()
    stage.cycle()
    assert stage.place("w") == "n0"
    assert sorted(stage.evicted) == ["s0", "s1"]


def test_while_victims_are_leaving_no_others_are_chosen() -> None:
    stage = Stage(
        spot_node("n0"), fixed("q0", 2, "n0"), fixed("q1", 2, "n0"), *(spot(f"s{i}", 2, on="n0") for i in range(4))
    )
    stage.cluster.apply(pod("v", cards(2), notes={"quota-name": "q0"}))
    stage.cycle(3)
    stage.cluster.apply(pod("w", cards(2), notes={"quota-name": "q1"}))
    stage.cycle(20)
    assert len(stage.evicted) == 1
    assert stage.claims("q1") == ["w"]
    stage.clear()
    stage.cycle()
    assert stage.place("v") == "n0"
    assert len(stage.evicted) == 2


def test_pods_that_leave_for_another_reason_are_waited_for_too() -> None:
    leaving = spot("s", 8, on="n0", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    stage = Stage(spot_node("n0"), fixed("q", 8, "n0"), leaving, CLAIMANT)
    stage.cycle(10)
    assert stage.evicted == []
    stage.clear()
    stage.cycle()
    assert stage.place("w") == "n0"


@pytest.mark.parametrize("grace", [0, 30])
def test_after_the_longest_grace_and_a_minute_the_claim_goes_back(grace: int) -> None:
    stage = Stage(*crowded(grace), CLAIMANT)
    stage.cycle(60 + grace)
    assert stage.claims("q") == ["w"]
    stage.cycle()
    assert stage.claims("q") == []
    assert "EvictionBlocked" in stage.codes(W)


def test_a_job_that_gave_up_tries_again_and_evicts_nobody_twice() -> None:
    stage = Stage(*crowded(0), CLAIMANT)
    stage.cycle(70)
    assert stage.claims("q") == ["w"]
    assert len(stage.evicted) == 2
    stage.clear()
    stage.cycle()
    assert stage.place("w") == "n0"


def test_a_second_choice_of_victims_is_waited_for_as_long_as_the_first() -> None:
    stage = Stage(*crowded(0), CLAIMANT)
    stage.cycle(50)
    stage.clear()
    stage.cluster.apply(spot("t", 8, on="n0", terminationGracePeriodSeconds=120))
    stage.cycle(180)
    assert sorted(stage.evicted) == ["s0", "s1", "t"]
    assert stage.claims("q") == ["w"]
    stage.cycle()
    assert "EvictionBlocked" in stage.codes(W)


def test_who_may_not_be_evicted_after_all_is_evicted_as_soon_as_it_may_and_nobody_in_its_place() -> None:
    guarded = [spot(f"g{i}", 2, on="n0", metadata={"labels": {"app": "guarded"}}) for i in range(2)]
    dearer = [spot(f"s{i}", 2, on="n0", priority=5) for i in range(2)]
    stage = Stage(spot_node("n0"), fixed("q", 4, "n0"), *guarded, *dearer, pod("w", cards(4)))
    stage.cycle(meanwhile=(budget("b", {"app": "guarded"}, maxUnavailable=1),))
    assert len(stage.evicted) == 1
    stage.cycle(5)
    assert len(stage.evicted) == 1
    stage.cluster.apply(budget("b", {"app": "guarded"}, maxUnavailable=2))
    stage.cycle()
    assert sorted(stage.evicted) == ["g0", "g1"]
    stage.clear()
    stage.cycle()
    assert stage.place("w") == "n0"


def test_a_gang_waits_on_all_its_nodes_and_holds_what_is_free_already() -> None:
    quotas = [fixed(f"q{i}", 8, f"n{i}") for i in range(2)]
    stage = Stage(spot_node("n0"), spot_node("n1"), *quotas, spot("s", 8, on="n0"), *gang("w", 2, cards(8)))
    stage.cycle(2)
    stage.cluster.apply(spot("late", 8))
    stage.cycle(10)
    assert stage.place("late") is None
    stage.clear()
    stage.cycle()
    assert [stage.place(name) for name in ("w-0", "w-1")] == ["n0", "n1"]


def test_after_a_restart_the_wait_is_read_off_the_objects() -> None:
    first = Stage(*crowded(), CLAIMANT)
    first.cycle(3)
    second = Stage(*(dict(raw) for key, raw in first.cluster.objects.items() if key.kind not in ("Queue", "Namespace")))
    second.cycle(20)
    assert second.evicted == []
    assert second.claims("q") == ["w"]
    second.clear()
    second.cycle()
    assert second.place("w") == "n0"
