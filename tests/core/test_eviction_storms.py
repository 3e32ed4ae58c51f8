"""Troubles with evictions that were reported of Volcano: nothing storms, and as many go as are needed.

Victims are spot pods, claimants hold quotas; the numbers are the reports'.
"""

import pytest

from sky_core.testing.objects import SPOT, Object, pod, queue, quota
from sky_core.testing.stories import at, cards, ended, fixed, gang, gone, reborn, spot, spot_node, tell

CYCLES = 50
"""So long nothing may begin to storm."""


def whole(index: int = 0) -> list[Object]:
    """A node that lends its cards, and a quota of all of them that stays there."""
    return [spot_node(f"n{index}"), fixed(f"q{index}", 8, f"n{index}")]


def watched(seconds: int = CYCLES) -> Object:
    """An event that changes nothing, so that time goes on until then."""
    return at(seconds, delete=gone("nobody"))


def test_377_equal_jobs_take_turns_without_evictions() -> None:
    """24 equal jobs for 12 places: 12 run to their end, then the other 12."""
    quotas = [quota(f"q-{i}", cards(1)) for i in range(12)]
    jobs = [pod(f"j-{i:02}", cards(1)) for i in range(24)]
    machines = [spot_node("n0"), spot_node("n1", exclusive=0)]
    first = tell(*machines, *quotas, *jobs, later=(watched(),), cycles=CYCLES)
    assert first.evicted == []
    assert list(first.bound.values()) == [1] * 12
    ends = tuple(at(CYCLES, finish=ended(name)) for name in first.bound)
    second = tell(*machines, *quotas, *jobs, later=ends, cycles=3 * CYCLES)
    assert second.evicted == []
    assert len(second.bound) == 24


def test_377_equal_spot_jobs_do_not_evict_each_other() -> None:
    jobs = [spot(f"j-{i:02}", 1) for i in range(16)]
    tale = tell(spot_node("n0"), *jobs, later=(watched(),), cycles=CYCLES)
    assert tale.evicted == []
    assert list(tale.bound.values()) == [1] * 8


def test_3869_elastic_jobs_with_their_minimum_evict_nobody() -> None:
    """Pending extras are no reason to evict: only a member that is needed is."""
    quotas = [fixed(f"q-{i}", 2, "n0") for i in range(4)]
    elastic = [each for name in ("a", "b") for each in gang(name, 4, cards(2), least=1)]
    fill = [spot(f"s-{i}", 2, on="n0") for i in range(2)]
    tale = tell(spot_node("n0"), *quotas, *elastic, *fill, later=(watched(30),), cycles=30)
    assert tale.evicted == []
    assert sorted(tale.bound) == ["a-0", "b-0"]


@pytest.mark.parametrize("again", [0, 1, 5])
def test_4947_the_victim_made_again_waits_and_is_not_evicted_twice(again: int) -> None:
    victim = spot("s", 8, on="n0")
    later = (*(at(again, apply=reborn(spot("s", 8), life)) for life in (2,)), watched(20))
    tale = tell(*whole(), victim, pod("w", cards(8)), later=later, cycles=20)
    assert tale.evicted == ["s"]
    assert tale.places("w", "s") == ["n0", None]


def test_4947_the_victims_queue_having_nothing_left_makes_no_difference() -> None:
    lent: Object = {"notes": {"queue-name": "poor"}}
    story = (at(1, apply=reborn(spot("s", 8, **lent))), watched(20))
    objects = [queue("poor", weight=100, priority=100), *whole(), spot("s", 8, on="n0", **lent), pod("w", cards(8))]
    tale = tell(*objects, later=story, cycles=20)
    assert tale.evicted == ["s"]
    assert tale.place("w") == "n0"


@pytest.mark.parametrize("least", [1, 2, 4])
def test_4643_4808_a_gangs_minimum_protects_no_pod_so_all_four_go(least: int) -> None:
    lenders = gang("s", 4, {SPOT: "2"}, least=least, on="n0")
    tale = tell(*whole(), *lenders, pod("w", cards(8)), later=(watched(),), cycles=CYCLES)
    assert sorted(tale.evicted) == ["s-0", "s-1", "s-2", "s-3"]
    assert tale.place("w") == "n0"


def test_4643_4808_if_one_of_four_is_protected_none_goes() -> None:
    lenders = [spot(f"s-{i}", 2, on="n0", namespace="kube-system" if i == 3 else "default") for i in range(4)]
    tale = tell(*whole(), *lenders, pod("w", cards(8)), later=(watched(),), cycles=CYCLES)
    assert tale.evicted == []
    assert tale.place("w") is None


def test_two_gangs_do_not_evict_for_each_other_in_turns() -> None:
    """Mutual reclaim: each wants both nodes, one gets them, and the spot pods go once."""
    machines = [*whole(0), *whole(1)]
    fill = [spot(f"s-{i}", 8, on=f"n{i}") for i in range(2)]
    again = tuple(at(3, apply=reborn(spot(f"s-{i}", 8))) for i in range(2))
    both = [*gang("a", 2, cards(8)), *gang("b", 2, cards(8))]
    tale = tell(*machines, *fill, *both, later=(*again, watched()), cycles=CYCLES)
    assert sorted(tale.evicted) == ["s-0", "s-1"]
    assert sorted(tale.bound) == ["a-0", "a-1"]


def test_victims_that_come_back_at_once_are_never_chased_round_the_cluster() -> None:
    """Each victim is made again a cycle after it went; every claimant costs as many evictions as it needs."""
    machines = [each for i in range(3) for each in whole(i)]
    fill = [spot(f"s-{i}", 8, on=f"n{i}") for i in range(3)]
    again = tuple(
        at(at_, apply=reborn(spot(f"s-{i}", 8), life)) for i in range(3) for life, at_ in enumerate((4, 12, 20), 2)
    )
    claimants = tuple(at(5 * i, apply=pod(f"w-{i}", cards(8), notes={"quota-name": f"q{i}"})) for i in range(3))
    tale = tell(*machines, *fill, later=(*again, *claimants, watched()), cycles=CYCLES)
    assert tale.places("w-0", "w-1", "w-2") == ["n0", "n1", "n2"]
    assert len(tale.evicted) == 3
