"""Gangs that have begun: a lost rank gets its place back, before others, and next to its neighbours."""

import pytest

from sky_core.testing.objects import GPU, HCA, Object, node, priority_class, quota
from sky_core.testing.stories import at, cards, ended, gang, gone, note, reborn, tell

PAIR = {GPU: "1", HCA: "1"}
OLDER = {"metadata": {"creationTimestamp": "2025-12-31T00:00:00Z"}}


def zone(*cards_each: int, first: int = 0, switch: str = "s1") -> list[Object]:
    """Nodes behind one switch, each with so many cards and adapters."""
    return [
        node(
            f"n{first + i}",
            {GPU: str(count), HCA: str(count), "cpu": "64", "pods": "110"},
            labels={note("zone"): f"roce#{switch}"},
        )
        for i, count in enumerate(cards_each)
    ]


def quotas(count: int, request: Object = PAIR, prefix: str = "q") -> list[Object]:
    return [quota(f"{prefix}-{i}", request) for i in range(count)]


def names(count: int, job: str = "w") -> list[str]:
    return [f"{job}-{i}" for i in range(count)]


def test_ranks_of_which_several_share_a_node_stay_in_order() -> None:
    tale = tell(*zone(4, 4), *quotas(8), *gang("w", 8, PAIR))
    assert tale.places(*names(8)) == ["n0"] * 4 + ["n1"] * 4


def test_several_ranks_share_a_quota_and_follow_it() -> None:
    tale = tell(*zone(4, 4), *quotas(2, {GPU: "4", HCA: "4"}), *gang("w", 8, PAIR))
    assert tale.places(*names(8)) == ["n0"] * 4 + ["n1"] * 4
    assert [tale.quota(name) for name in names(8)] == ["q-0"] * 4 + ["q-1"] * 4


@pytest.mark.parametrize("lost", [0, 3, 5, 7])
def test_one_of_several_ranks_on_a_node_returns_to_its_quota(lost: int) -> None:
    head, *pods = gang("w", 8, PAIR)
    story = (at(5, delete=gone(f"w-{lost}")), at(10, apply=reborn(pods[lost])))
    tale = tell(*zone(4, 4), *quotas(2, {GPU: "4", HCA: "4"}), head, *pods, later=story)
    assert tale.places(*names(8)) == ["n0"] * 4 + ["n1"] * 4


@pytest.mark.parametrize("strict", [False, True])
def test_a_lost_rank_goes_to_the_lowest_index_between_its_neighbours_both_ends_included(strict: bool) -> None:
    wish: Object = {"notes": {"enable-topology-scheduling": "true"}} if strict else {}
    head, *pods = gang("w", 4, PAIR, group=wish)
    filler = gang("x", 1, PAIR, group={"notes": {"enable-topology-scheduling": "false"}})
    story = (at(5, delete=gone("w-2")), at(7, apply=filler[0]), at(7, apply=filler[1]), at(10, apply=reborn(pods[2])))
    tale = tell(*zone(2, 2, 2, 2), *quotas(5), head, *pods, later=story)
    places = tale.places(*names(4))
    assert places[2] in ("n1", "n2", "n3")
    assert places == sorted(str(place) for place in places)


def test_where_nothing_is_free_between_them_only_a_strict_gang_waits() -> None:
    """n2 is shut after its pod was lost; only n4 behind the last rank is free."""
    switched = zone(1, 1, 1, 1, 1)
    shut = zone(1, 1, 1)[2]
    shut["spec"]["unschedulable"] = True

    def replaced(wish: Object) -> tuple[str | None, set[str]]:
        head, *pods = gang("w", 4, PAIR, group={"notes": wish})
        story = (at(5, delete=gone("w-2")), at(6, apply=shut), at(10, apply=reborn(pods[2])))
        tale = tell(*switched, *quotas(5), head, *pods, later=story)
        return tale.place("w-2"), tale.codes("w")

    assert replaced({}) == ("n4", set())
    place, codes = replaced({"enable-topology-scheduling": "true"})
    assert place is None
    assert "RankOrderBroken" in codes


def test_a_broken_gang_comes_before_a_fresh_job_of_its_priority() -> None:
    head, *pods = gang("z-broken", 2, cards(8))
    fresh = gang("a-fresh", 1, cards(8), group=OLDER)
    story = (at(5, delete=gone("z-broken-1")), at(8, apply=reborn(pods[1])), *(at(8, apply=each) for each in fresh))
    tale = tell(node("n0"), node("n1"), *quotas(2, cards(8)), head, *pods, later=story)
    assert tale.places("z-broken-1", "a-fresh-0") == ["n1", None]


def test_a_fresh_job_of_higher_priority_comes_before_a_broken_gang() -> None:
    head, *pods = gang("z-broken", 2, cards(8))
    fresh = gang("a-fresh", 1, cards(8), group={"priorityClassName": "high"})
    story = (at(5, delete=gone("z-broken-1")), at(8, apply=reborn(pods[1])), *(at(8, apply=each) for each in fresh))
    tale = tell(priority_class("high", 10), node("n0"), node("n1"), *quotas(2, cards(8)), head, *pods, later=story)
    assert tale.places("z-broken-1", "a-fresh-0") == [None, "n1"]


def test_a_running_gang_goes_on_with_the_members_that_are_made_again() -> None:
    """Two are lost and one comes back: it need not wait for the other."""
    head, *pods = gang("w", 3, cards(8))
    story = (at(5, delete=gone("w-1")), at(5, delete=gone("w-2")), at(9, apply=reborn(pods[2])))
    tale = tell(*(node(f"n{i}") for i in range(3)), *quotas(3, cards(8)), head, *pods, later=story)
    assert tale.place("w-2") is not None


def test_members_that_have_succeeded_count_and_those_that_failed_do_not() -> None:
    head, *pods = gang("w", 2, cards(8))
    done = (at(5, finish=ended("w-0")), at(5, finish=ended("w-1", "Failed")), at(8, delete=gone("w-1")))
    tale = tell(node("n0"), node("n1"), *quotas(2, cards(8)), head, *pods, later=(*done, at(10, apply=reborn(pods[1]))))
    assert tale.place("w-1") is not None


def test_patience_is_for_the_first_start_and_no_lost_rank_waits_for_it() -> None:
    wish: Object = {"notes": {"topology-patience": "10m"}}
    head, *pods = gang("w", 2, PAIR, group=wish)
    shut = zone(1, 1)[1]
    shut["spec"]["unschedulable"] = True
    story = (at(5, delete=gone("w-1")), at(6, apply=shut), at(10, apply=reborn(pods[1])))
    machines = [*zone(1, 1), *zone(1, first=2, switch="s2")]
    tale = tell(*machines, *quotas(2), head, *pods, later=story, cycles=60)
    assert tale.places("w-0", "w-1") == ["n0", "n2"]
