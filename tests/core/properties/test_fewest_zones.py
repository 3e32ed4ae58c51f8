"""A preferred gang takes the fewest zones that there are, against trying every set of them."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from sky_core.cycle import default_policy, schedule
from sky_core.decisions import BindTask
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.testing.objects import GPU, HCA, Object, group, node, pod, queue, quota, world_of
from sky_core.testing.themes import SPEC, ZONE
from sky_core.world import World

POLICY = default_policy()
ONE = {GPU: "1", HCA: "1"}


class Machine(NamedTuple):
    spec: str
    zone: str
    cards: int


machines = st.builds(
    Machine,
    spec=st.sampled_from(["a100", "a100", "h100"]),
    zone=st.sampled_from(["roce#s1", "roce#s2", "roce#s3", "ib#t1", "ib#t2", ""]),
    cards=st.integers(1, 4),
)


def cluster_world(cluster: list[Machine], size: int) -> World:
    """These machines, a gang of so many members of one card, and as many quotas."""
    objects: list[Object] = [queue("default"), group("w", size)]
    for i, machine in enumerate(cluster):
        labels = {SPEC: machine.spec, **({ZONE: machine.zone} if machine.zone else {})}
        objects.append(node(f"n{i}", {GPU: str(machine.cards), HCA: str(machine.cards)}, labels=labels))
    objects += [pod(f"w-{i}", ONE, group="w") for i in range(size)]
    objects += [quota(f"q-{i}", ONE) for i in range(size)]
    return world_of(objects)


def fabrics(cluster: list[Machine], spec: str) -> Iterator[tuple[list[int], list[int]]]:
    """What the zones of each fabric hold, and what nodes without a zone hold, which join any."""
    zones: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for machine in cluster:
        if machine.spec == spec and machine.zone:
            zones[machine.zone.partition("#")[0]][machine.zone] += machine.cards
    alone = [machine.cards for machine in cluster if machine.spec == spec and not machine.zone]
    for of_fabric in zones.values():
        yield list(of_fabric.values()), alone


def least(cluster: list[Machine], spec: str, size: int) -> int | None:
    """How many zones of one fabric hold so many at least; nodes without a zone only beside all of its zones."""
    found = []
    for zones, alone in fabrics(cluster, spec):
        sets = [one for n in range(1, len(zones) + 1) for one in combinations(zones, n)]
        sets += [(*zones, *one) for n in range(1, len(alone) + 1) for one in combinations(alone, n)]
        found += [len(one) for one in sets if sum(one) >= size]
    return min(found, default=None)


@given(st.lists(machines, min_size=1, max_size=7), st.integers(1, 9))
def test_no_smaller_set_of_zones_holds_a_preferred_gang(cluster: list[Machine], size: int) -> None:
    world = cluster_world(cluster, size)
    outcome, _ = schedule(world, Memory(), POLICY, Instant(0))
    taken = [world.nodes[one.node] for one in outcome.decisions if isinstance(one, BindTask)]
    specs = {node.spec for node in taken}
    zones = {node.zone or node.name for node in taken}

    possible = {spec: least(cluster, spec, size) for spec in ("a100", "h100")}
    if not taken:
        assert set(possible.values()) == {None}
        return
    assert len(taken) == size
    (spec,) = specs
    assert len(zones) == possible[spec]
