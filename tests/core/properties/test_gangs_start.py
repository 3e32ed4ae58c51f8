"""A gang of equals starts where it can, and only there, against counting what each kind of card and each zone holds."""

from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from sky_core.cycle import default_policy, schedule
from sky_core.decisions import BindTask
from sky_core.memory import Memory
from sky_core.model import Instant, Node
from sky_core.testing.objects import GPU, HCA, Object, group, node, pod, queue, quota, world_of
from sky_core.testing.themes import SPEC, ZONE
from sky_core.world import World

POLICY = default_policy()
ONE = {GPU: "1", HCA: "1"}


def cards(count: int) -> Object:
    return {GPU: str(count), HCA: str(count)}


class Machine(NamedTuple):
    """A node: how many of its cards are in use by others, and promised to a quota of which so many are claimed."""

    spec: str
    zone: str
    cards: int
    foreign: int
    bound: int
    claimed: int


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    count = draw(st.integers(0, 4))
    foreign = draw(st.integers(0, count))
    bound = draw(st.integers(0, count - foreign))
    spec, zone = draw(st.sampled_from(["a100", "h100"])), draw(st.sampled_from(["roce#s1", "roce#s2", "ib#t1"]))
    return Machine(spec, zone, count, foreign, bound, draw(st.integers(0, bound)))


def objects_of(cluster: list[Machine], size: int, free: int, notes: Object) -> list[Object]:
    made = [queue("default"), group("w", size, notes=notes)]
    made += [pod(f"w-{i}", ONE, group="w") for i in range(size)]
    made += [quota(f"q-{i}", ONE) for i in range(free)]
    for i, machine in enumerate(cluster):
        labels = {SPEC: machine.spec, ZONE: machine.zone}
        made.append(node(f"n{i}", {**cards(machine.cards), "pods": "30"}, labels=labels))
        if machine.foreign:
            made.append(pod(f"f-{i}", cards(machine.foreign), scheduler="other", on=f"n{i}"))
        if machine.bound:
            holders = [f"r{i}-{k}" for k in range(machine.claimed)]
            made += [pod(name, ONE, on=f"n{i}") for name in holders]
            tasks = [claim(name) for name in holders]
            made.append(quota(f"b-{i}", cards(machine.bound), status={"nodeName": f"n{i}", "tasks": tasks}))
    return made


def claim(name: str) -> Object:
    whose = {"namespace": "default", "name": name, "uid": f"Pod/default/{name}", "job": f"pod/{name}"}
    return {**whose, "rank": name, "resources": ONE}


def can_start(cluster: list[Machine], size: int, free: int, place: Callable[[Machine], Hashable]) -> bool:
    """Whether some place has, in bound quotas and in room for free ones, as many cards as the gang needs."""
    bound: Counter[Hashable] = Counter()
    room: Counter[Hashable] = Counter()
    for machine in cluster:
        bound[place(machine)] += machine.bound - machine.claimed
        room[place(machine)] += machine.cards - machine.foreign - machine.bound
    return any(bound[at] + min(room[at], free) >= size for at in {*bound, *room})


def placed(world: World) -> list[Node]:
    outcome, _ = schedule(world, Memory(), POLICY, Instant(0))
    return [world.nodes[one.node] for one in outcome.decisions if isinstance(one, BindTask)]


clusters = st.lists(machines(), min_size=1, max_size=5)


@given(clusters, st.integers(2, 5), st.integers(0, 5))
def test_without_topology_on_one_kind_of_card(cluster: list[Machine], size: int, free: int) -> None:
    off = {"enable-topology-scheduling": "false"}
    nodes = placed(world_of(objects_of(cluster, size, free, off)))
    assert len(nodes) == (size if can_start(cluster, size, free, lambda machine: machine.spec) else 0)
    assert len({node.spec for node in nodes}) <= 1


@given(clusters, st.integers(1, 5), st.integers(0, 5))
def test_with_a_required_zone_in_one_zone(cluster: list[Machine], size: int, free: int) -> None:
    required = {"topology-policy": "required"}
    nodes = placed(world_of(objects_of(cluster, size, free, required)))
    assert len(nodes) == (size if can_start(cluster, size, free, lambda machine: machine[:2]) else 0)
    assert len({(node.spec, node.zone) for node in nodes}) <= 1


def fabric(zone: str | None) -> str:
    return str(zone).partition("#")[0]


@given(clusters, st.integers(1, 5), st.integers(0, 5))
def test_with_a_preferred_zone_on_one_fabric(cluster: list[Machine], size: int, free: int) -> None:
    nodes = placed(world_of(objects_of(cluster, size, free, {})))
    possible = can_start(cluster, size, free, lambda machine: (machine.spec, fabric(machine.zone)))
    assert len(nodes) == (size if possible else 0)
    assert len({(node.spec, fabric(node.zone)) for node in nodes}) <= 1
