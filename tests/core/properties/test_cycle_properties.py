"""What holds of every cycle, in whatever small cluster."""

from hypothesis import given
from hypothesis import strategies as st

from sky_core import invariants
from sky_core.api.instants import instant
from sky_core.cycle import default_policy, schedule
from sky_core.memory import Memory
from sky_core.policy import Policy
from sky_core.testing.likeness import likeness
from sky_core.testing.naive import schedule_naively
from sky_core.testing.objects import Object, world_of
from sky_core.testing.stories import configured
from sky_core.testing.strategies import START, scenes

NOW = instant(START)
POLICY = default_policy()
POLICIES = [
    POLICY,
    configured(topology={"namedzone": 0, "continuity": 100}),
    configured(topology={"ranks": "pack"}, rescheduling={"act": True}),
]


@given(scenes(), st.sampled_from(POLICIES))
def test_what_is_kept_and_counted_decides_as_asking_everybody_each_time(objects: list[Object], policy: Policy) -> None:
    world = world_of(objects)
    plain = schedule_naively(world, Memory(), policy, NOW)
    assert schedule(world, Memory(), policy, NOW) == plain


@given(scenes(), st.sampled_from(POLICIES))
def test_no_cycle_breaks_an_invariant(objects: list[Object], policy: Policy) -> None:
    world = world_of(objects)
    assert invariants.check(world) == ()
    outcome, _ = schedule(world, Memory(), policy, NOW)
    assert outcome.defects == ()
    assert invariants.check_decisions(world, outcome.decisions, NOW) == ()


@given(scenes())
def test_a_cycle_hands_the_world_back_as_it_found_it(objects: list[Object]) -> None:
    world = world_of(objects)
    before = likeness(world)
    schedule(world, Memory(), POLICY, NOW)
    assert likeness(world) == before
    assert world.mark() == 0


@given(scenes(), st.data())
def test_the_order_in_which_objects_came_decides_nothing(objects: list[Object], draw: st.DataObject) -> None:
    others = draw.draw(st.permutations(objects))
    assert schedule(world_of(objects), Memory(), POLICY, NOW) == schedule(world_of(others), Memory(), POLICY, NOW)
