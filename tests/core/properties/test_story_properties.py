"""What holds however a small cluster fares: cycle after cycle, with what its decisions and others make of it."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.instants import instant
from sky_core.cycle import default_policy, schedule
from sky_core.memory import Memory
from sky_core.model import SECOND, Instant
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.run import run
from sky_core.simulation.scheduler import Scheduler
from sky_core.simulation.timeline import Apply, Delete, Event, FailNextBind, Finish, events
from sky_core.testing.likeness import likeness
from sky_core.testing.naive import schedule_naively
from sky_core.testing.objects import Object, world_of
from sky_core.testing.strategies import START, scenes, timelines

NOW = instant(START)
POLICY = default_policy()
CYCLES = 25


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[Object], tuple[Event, ...]]:
    objects = draw(scenes())
    return objects, events([draw(timelines(objects))])


@given(stories())
def test_no_decision_breaks_an_invariant_whatever_happens(story: tuple[list[Object], tuple[Event, ...]]) -> None:
    objects, later = story
    report = run(objects, later, POLICY, Settings(), now=NOW, cycles=CYCLES)
    assert report.violations == ()


def happens(cluster: Cluster, event: Event) -> None:
    match event.what:
        case Apply(raw):
            cluster.apply(raw)
        case Delete(key):
            cluster.delete(key)
        case Finish(pod, phase):
            cluster.finish(pod, phase)
        case FailNextBind(pod, status):
            cluster.fail_next_bind(pod, status)


def cycles(story: tuple[list[Object], tuple[Event, ...]]) -> Iterator[tuple[Cluster, Memory]]:
    """A cluster before each of some cycles, with what the one before left; an event between any two."""
    objects, later = story
    cluster, scheduler, memory = Cluster(Settings(), NOW), Scheduler(POLICY), Memory()
    for raw in objects:
        cluster.apply(raw)
    for event in (None, *later):
        if event is not None:
            happens(cluster, event)
        yield cluster, memory
        outcome, memory = schedule(cluster.world, memory, POLICY, cluster.now)
        cluster.step += 1
        scheduler.perform(cluster, outcome)
        cluster.start_pods()
        cluster.clear_away()
        cluster.now = Instant(cluster.now + SECOND)


@given(stories())
def test_a_world_on_which_cycles_have_run_decides_as_a_fresh_one(
    story: tuple[list[Object], tuple[Event, ...]],
) -> None:
    for cluster, _ in cycles(story):
        warm, cold = cluster.world, world_of(cluster.objects.values())
        assert likeness(warm) == likeness(cold)
        assert schedule(warm, Memory(), POLICY, cluster.now)[0] == schedule(cold, Memory(), POLICY, cluster.now)[0]


@given(stories())
def test_every_cycle_decides_and_remembers_as_if_everybody_was_asked_each_time(
    story: tuple[list[Object], tuple[Event, ...]],
) -> None:
    for cluster, memory in cycles(story):
        plain = schedule_naively(cluster.world, memory, POLICY, cluster.now)
        assert schedule(cluster.world, memory, POLICY, cluster.now) == plain
