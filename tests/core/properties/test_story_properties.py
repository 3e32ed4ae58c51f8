"""What holds however a small cluster fares: cycle after cycle, with what its decisions and others make of it."""

from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.instants import instant
from sky_core.cycle import default_policy, schedule
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.settings import Settings
from sky_core.simulation.cluster import Cluster
from sky_core.simulation.run import run
from sky_core.simulation.scheduler import Scheduler
from sky_core.simulation.timeline import Apply, Delete, Event, FailNextBind, Finish, events
from sky_core.testing.likeness import likeness
from sky_core.testing.objects import Object, world_of
from sky_core.testing.strategies import START, scenes, timelines
from sky_core.world import World

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


def anew(cluster: Cluster) -> World:
    """A world of the cluster's objects on which no cycle has run."""
    return world_of(cluster.objects.values())


@given(stories())
def test_a_world_on_which_cycles_have_run_decides_as_a_fresh_one(
    story: tuple[list[Object], tuple[Event, ...]],
) -> None:
    objects, later = story
    cluster, scheduler = Cluster(Settings(), NOW), Scheduler(POLICY)
    for raw in objects:
        cluster.apply(raw)
    for event in (None, *later):
        if event is not None:
            happens(cluster, event)
        cold = anew(cluster)
        assert likeness(cluster.world) == likeness(cold)
        told = schedule(cluster.world, Memory(), POLICY, cluster.now)[0]
        assert told == schedule(cold, Memory(), POLICY, cluster.now)[0]
        cluster.step += 1
        scheduler.perform(cluster, scheduler.decide(cluster))
        cluster.start_pods()
        cluster.clear_away()
        cluster.now = Instant(cluster.now + 1_000_000_000)
