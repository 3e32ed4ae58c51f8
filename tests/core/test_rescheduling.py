"""What would free a zone for a spot gang that waits for one (behaviour.md 7.6)."""

import pytest

from sky_core.api.instants import instant
from sky_core.cycle import Outcome, schedule
from sky_core.memory import Memory
from sky_core.model import JobId
from sky_core.policy import Policy
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.testing.objects import CREATED, HCA, SPOT, Object, budget, priority_class, queue
from sky_core.testing.stories import Stage, at, configured, gang, note, reborn, spot, spot_node, tell

SHOWN = configured(rescheduling={})
ACTS = configured(rescheduling={"act": True})
HIGH = priority_class("high", 100)
WHOLE = {SPOT: "8", HCA: "8"}


def zones(count: int = 2, each: int = 2, **odd: Object) -> list[Object]:
    """So many zones of so many lenders."""
    return [
        spot_node(
            f"n{i}",
            more={HCA: "8"},
            labels={note("zone"): f"roce#s{i // each}"},
            **odd.get(f"n{i}", {}),
        )
        for i in range(count * each)
    ]


def waiting(priority: str = "high") -> list[Object]:
    """A gang of two whole nodes that wants them behind one switch."""
    wish = {"notes": {"topology-policy": "required"}, "priorityClassName": priority}
    return gang("w", 2, WHOLE, group=wish)


CROWD = [spot("a", 8, on="n0"), *(spot(f"b{i}", 4, on="n1") for i in range(2)), spot("c", 8, on="n2")]


def decided(*objects: Object, policy: Policy) -> Outcome:
    cluster = Cluster(Settings(), instant(CREATED))
    for each in (queue("default"), *objects):
        cluster.apply(each)
    return schedule(cluster.world, Memory(), policy, cluster.now)[0]


def test_the_fewest_pods_that_would_free_a_zone_are_listed() -> None:
    outcome = decided(HIGH, *zones(), *CROWD, *waiting(), policy=SHOWN)
    proposal = outcome.proposals[JobId("default/w")]
    assert proposal.zone == "roce#s1"
    assert {node: [task.name for task in tasks] for node, tasks in proposal.victims.items()} == {"n2": ["c"]}
    assert not outcome.decisions


def test_it_is_off_by_default() -> None:
    assert decided(HIGH, *zones(), *CROWD, *waiting(), policy=configured()).proposals == {}


def test_told_to_act_it_evicts_them_and_the_gang_runs_there() -> None:
    tale = tell(HIGH, *zones(), *CROWD, *waiting(), policy=ACTS)
    assert tale.evicted == ["c"]
    assert tale.places("w-0", "w-1") == ["n2", "n3"]


def test_victims_that_are_made_again_do_not_take_the_zone_back() -> None:
    later = (at(1, apply=reborn(spot("c", 8))),)
    tale = tell(HIGH, *zones(), *CROWD, *waiting(), policy=ACTS, later=later)
    assert tale.evicted == ["c"]
    assert tale.places("w-0", "w-1") == ["n2", "n3"]


def test_while_they_are_leaving_no_others_are_chosen() -> None:
    stage = Stage(HIGH, *zones(), *CROWD, *waiting(), policy=ACTS)
    stage.cycle(30)
    assert stage.evicted == ["c"]
    stage.clear()
    stage.cycle(3)
    assert [stage.place(name) for name in ("w-0", "w-1")] == ["n2", "n3"]


def test_pods_of_equal_priority_are_left_alone() -> None:
    crowd = [spot("a", 8, on="n0", priority=100), spot("c", 8, on="n2", priority=100)]
    assert tell(HIGH, *zones(), *crowd, *waiting(), policy=ACTS, cycles=20).evicted == []


def test_a_budget_that_does_not_let_them_go_together_keeps_them_all() -> None:
    guarded: Object = {"labels": {"app": "guarded"}}
    crowd = [spot(f"c{i}", 8, on=f"n{i}", metadata=guarded) for i in range(4)]
    allows_one = budget("b", {"app": "guarded"}, maxUnavailable=1)
    assert tell(HIGH, *zones(), *crowd, allows_one, *waiting(), policy=ACTS, cycles=20).evicted == []


@pytest.mark.parametrize("odd", [{"unschedulable": True}, {"conditions": [{"type": "Ready", "status": "False"}]}])
def test_a_zone_that_refuses_the_gang_for_something_else_is_not_freed(odd: Object) -> None:
    tale = tell(HIGH, *zones(n3=odd), *CROWD, *waiting(), policy=ACTS)
    assert sorted(tale.evicted) == ["a", "b0", "b1"]
    assert tale.places("w-0", "w-1") == ["n0", "n1"]


def test_a_gang_that_has_not_been_let_in_proposes_nothing() -> None:
    shut = queue("shut", state="Closed")
    wish = {"notes": {"topology-policy": "required"}, "queue": "shut"}
    assert decided(shut, *zones(), *CROWD, *gang("w", 2, WHOLE, group=wish), policy=SHOWN).proposals == {}
