"""What holds of where a gang starts, whatever else is in the cluster (behaviour.md 1 and 7.2)."""

from collections import defaultdict
from collections.abc import Iterator

from hypothesis import given

from sky_core.api.instants import instant
from sky_core.cycle import default_policy, schedule
from sky_core.decisions import BindTask
from sky_core.memory import Memory
from sky_core.model import Job, JobId, Node, Task
from sky_core.testing.objects import Object, world_of
from sky_core.testing.strategies import START, scenes
from sky_core.topology import homes, in_group, zone_of
from sky_core.world import World

NOW = instant(START)
POLICY = default_policy()


def starts(world: World) -> Iterator[tuple[Job, list[tuple[Task, Node]]]]:
    """The jobs that start in this cycle, of which no member has a place before, with who of them goes where."""
    outcome, _ = schedule(world, Memory(), POLICY, NOW)
    bound: dict[JobId, list[tuple[Task, Node]]] = defaultdict(list)
    for one in outcome.decisions:
        if isinstance(one, BindTask):
            bound[one.job].append((world.tasks[one.task], world.nodes[one.node]))
    for id_, places in bound.items():
        if not homes(world, world.jobs[id_], zoned=False):
            yield world.jobs[id_], sorted(places, key=lambda place: place[0].rank)


def names_card(task: Task) -> bool:
    return any(
        requirement.key.startswith(POLICY.settings.spec_labels) for requirement in task.shape.selector.requirements
    )


@given(scenes())
def test_a_gang_never_mixes_cards(objects: list[Object]) -> None:
    world = world_of(objects)
    for job, places in starts(world):
        if job.min_member > 1 and job.topology.on:
            assert len({node.spec for task, node in places if in_group(world, job, task)}) <= 1
        elif job.min_member > 1:
            carded = [place for place in places if place[0].shape.request.extended() and not names_card(place[0])]
            assert len({node.spec for _, node in carded}) <= 1


@given(scenes())
def test_a_communication_group_is_on_one_fabric_and_if_required_in_one_zone(objects: list[Object]) -> None:
    world = world_of(objects)
    for job, places in starts(world):
        if not job.topology.on:
            continue
        zones = {zone_of(node) for task, node in places if in_group(world, job, task)}
        assert len({world.zones[zone].fabric for zone in zones if zone is not None}) <= 1
        if job.topology.required:
            assert len(zones) <= 1
            assert None not in zones


@given(scenes())
def test_the_index_of_a_strict_gang_never_falls_with_its_rank(objects: list[Object]) -> None:
    world = world_of(objects)
    for job, places in starts(world):
        if job.topology.on and job.topology.strict:
            line = [node.order for task, node in places if in_group(world, job, task)]
            assert line == sorted(line)
