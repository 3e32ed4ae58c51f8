"""Which of several pods go: what each costs, by which strategy (behaviour.md 7.4)."""

from typing import Any

import pytest

from sky_core.eviction import Candidates, Pricing
from sky_core.model import Book, Instant, Task
from sky_core.resources import Resources
from sky_core.testing.objects import Object, pod, priority_class
from sky_core.testing.rows import GPU, gpus, job, spot_task, world
from sky_core.testing.stories import cards, configured, fixed, gang, spot, spot_node, tell

NOTHING_ELSE = {"priority": 0, "tasks": 0, "resources": 0, "runtime": 0}


def victims(needed: int, *crowd: Object, **pricing: object) -> list[str]:
    """Who goes for a claimant of so many cards when this crowd fills a node of eight; only what is named counts."""
    policy = configured(sylas={**NOTHING_ELSE, **pricing} if pricing else {})
    classes = [priority_class("high", 1000), priority_class("middle", 5)]
    return sorted(
        tell(spot_node("n0"), fixed("q", 8, "n0"), *classes, *crowd, pod("w", cards(needed)), policy=policy).evicted
    )


def test_by_priority_the_lowest_band_goes_first() -> None:
    crowd = [
        spot("a-high", 2, on="n0", priority=1000),
        spot("b-middle", 4, on="n0", priority=999),
        spot("c-low", 2, on="n0"),
    ]
    assert victims(2, *crowd, priority=1) == ["c-low"]
    assert victims(4, *crowd, priority=1) == ["b-middle"]


def test_within_a_band_priority_makes_no_difference() -> None:
    crowd = [spot("a", 4, on="n0", priority=500), spot("b", 4, on="n0", priority=1)]
    assert victims(4, *crowd, priority=1) == ["a"]


def test_where_the_bands_lie_is_configured() -> None:
    crowd = [spot("a", 4, on="n0", priority=50), spot("b", 4, on="n0", priority=49)]
    assert victims(4, *crowd, priority=1, lowBelow=10, highFrom=50) == ["b"]


def test_by_tasks_one_large_pod_goes_rather_than_many_small_ones() -> None:
    crowd = [*(spot(f"a{i}", 1, on="n0") for i in range(4)), spot("z", 4, on="n0")]
    assert victims(4, *crowd, tasks=1) == ["z"]


def test_by_resources_as_few_cards_as_possible_go() -> None:
    crowd = [spot("a", 6, on="n0"), *(spot(f"z{i}", 1, on="n0") for i in range(2))]
    assert victims(2, *crowd, resources=1) == ["z0", "z1"]


@pytest.mark.parametrize(("first", "goes"), [("shortest", "young"), ("longest", "old")])
def test_by_running_time_either_the_shortest_or_the_longest_goes(first: str, goes: str) -> None:
    crowd = [spot("old", 4, on="n0", age=50), spot("young", 4, on="n0", age=10)]
    assert victims(4, *crowd, runtime=1, runtimeFirst=first) == [goes]


def test_of_pods_of_one_cost_the_larger_goes_then_the_younger_then_the_first_by_name() -> None:
    sizes = [spot("a", 2, on="n0"), spot("z", 6, on="n0")]
    assert victims(3, *sizes, tasks=1) == ["z"]
    ages = [
        spot(name, 4, on="n0", metadata={"creationTimestamp": made})
        for name, made in (("a", "2025-12-01T00:00:00Z"), ("z", "2025-12-02T00:00:00Z"))
    ]
    assert victims(4, *ages, tasks=1) == ["z"]
    assert victims(4, spot("z", 4, on="n0"), spot("a", 4, on="n0"), tasks=1) == ["a"]


def test_by_default_priority_comes_before_all_and_few_tasks_before_few_cards() -> None:
    high = [spot("a", 2, on="n0", priorityClassName="high"), *(spot(f"z{i}", 1, on="n0") for i in range(6))]
    assert victims(2, *high) == ["z0", "z1"]
    few = [spot("a", 4, on="n0"), *(spot(f"z{i}", 1, on="n0") for i in range(4))]
    assert victims(2, *few) == ["a"]


def test_who_is_not_needed_is_spared_from_the_dearest_on() -> None:
    """The cheapest alone is not enough, and with the next the first is not needed any more."""
    crowd = [spot("a", 1, on="n0"), spot("b", 3, on="n0", priority=5), spot("c", 4, on="n0", priority=1000)]
    assert victims(3, *crowd, priority=1) == ["b"]


def test_a_single_pod_that_does_it_for_less_goes_alone() -> None:
    crowd = [*(spot(f"a{i}", 2, on="n0") for i in range(2)), spot("z", 4, on="n0", age=50)]
    assert victims(4, *crowd, tasks=100, runtime=1) == ["z"]


def running_gang(name: str, size: int, units: int = 1, least: int | None = None, **fields: Any) -> list[Object]:
    return gang(name, size, {"scheduling.infini-ai.com/spot-gpu": str(units)}, least=least, on="n0", **fields)


def test_a_pod_of_a_gang_that_would_break_costs_its_whole_gang() -> None:
    crowd = [*running_gang("a", 3), *(spot(f"z{i}", 1, on="n0", priority=5) for i in range(5))]
    assert victims(1, *crowd, tasks=1) == ["z0"]
    assert victims(1, *running_gang("a", 3, least=2), *crowd[4:], tasks=1) == ["a-0"]


def test_a_broken_gang_is_paid_for_once() -> None:
    """Once one of its members goes, the others cost nothing more."""
    crowd = [*running_gang("a", 3), spot("y", 1, on="n0", priority=5), spot("z", 4, on="n0", priority=1000)]
    assert victims(3, *crowd, priority=10, tasks=1) == ["a-0", "a-1", "a-2"]


def price(*chosen: str) -> int:
    """What it costs that these go of a gang of three whose minimum is two, two of them here, and of a pod alone."""
    tasks = [spot_task(name, 1, node="n0") for name in ("g-0", "g-1")]
    away, alone = spot_task("g-2", 1, node="n1"), spot_task("x-0", 1, node="n0")
    made = world(job("g", 2), job("x", 1), *tasks, away, alone)
    candidates = Candidates(made, Book(allocatable=gpus(8)), GPU, Pricing(), Instant(0))
    candidates.choose([*tasks, alone], gpus(1), lambda _gone, _task: True)
    return candidates.cost([task for task in made.tasks.values() if task.name in chosen])


def test_a_gang_costs_all_its_members_wherever_they_are_and_only_once_it_is_broken() -> None:
    assert price("g-0") == price("x-0")
    assert price("g-0", "g-1") == 3 * price("x-0")
    assert price("g-0", "g-1", "x-0") == 4 * price("x-0")


def test_sparing_counts_what_the_rest_of_a_gang_is_worth() -> None:
    """A member of a gang that breaks is dearer than it looks: it is spared before a pod of its own."""

    def chosen(tasks: list[Task], short: Resources) -> list[str]:
        made = world(job("g", 2), job("a", 1), job("z", 1), *tasks, spot_task("g-1", 1, node="n1"))
        choice = Candidates(made, Book(allocatable=gpus(8)), GPU, Pricing(resources=0, runtime=0), Instant(0)).choose(
            tasks, short, lambda _gone, _task: True
        )
        assert choice is not None
        return [task.name for task in choice.victims]

    cheap, member, dear = (
        spot_task("a-0", 2, node="n0"),
        spot_task("g-0", 2, node="n0"),
        spot_task("z-0", 3, node="n0", priority=5),
    )
    assert chosen([cheap, member, dear], gpus(5)) == ["z-0", "a-0"]
