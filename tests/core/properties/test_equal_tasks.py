"""Many equal tasks, in gangs or alone: dealing with them at once comes to what one after the other comes to."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sky_core.api.instants import instant
from sky_core.cycle import schedule
from sky_core.memory import Memory
from sky_core.policy import Policy
from sky_core.testing.naive import Naive, NaiveShelves
from sky_core.testing.objects import GPU, HCA, Object, claim, group, namespace, node, pod, queue, quota, world_of
from sky_core.testing.stories import configured
from sky_core.testing.strategies import START
from sky_core.testing.themes import SPEC, ZONE

NOW = instant(START)
POLICIES = [configured(), configured(topology={"ranks": "pack"})]
CARDS = [{GPU: "1"}, {GPU: "1", HCA: "1"}, {GPU: "1", HCA: "1"}, {GPU: "2", HCA: "2"}, {GPU: "1", "cpu": "2"}]
ZONED = {"enable-topology-scheduling": "true"}


@st.composite
def clusters(draw: st.DrawFn) -> list[Object]:
    """Machines of a few cards, rows of equal quotas for one task or several, gangs of up to a dozen, and pods alone."""

    def of(*choices: Any) -> Any:
        return draw(st.sampled_from(choices))

    capability = of({}, {}, {}, {"capability": {GPU: "9"}})
    objects = [namespace("default"), queue("default", **capability)]
    for at in range(draw(st.integers(1, 5))):
        amounts = {GPU: of("8", "4", "2"), HCA: "8", "cpu": of("4", "64"), "pods": of("110", "110", "3")}
        objects.append(
            node(f"n{at}", amounts, labels={SPEC: of("a100", "a100", "h100"), ZONE: of("roce#s1", "roce#s2")})
        )
    for at in range(draw(st.integers(1, 3))):
        cards = of("1", "1", "2", "4")
        request = {GPU: cards, HCA: of(cards, cards, "1")}
        selector = of({}, {}, {"nodeSelector": {SPEC: "a100"}})
        names = [f"{of('p', 'q', 'r')}{at}-{i}" for i in range(draw(st.integers(1, 14)))]
        objects += [quota(name, request, **selector) for name in dict.fromkeys(names)]
    for at in range(draw(st.integers(1, 3))):
        size, cards, notes = draw(st.integers(1, 12)), of(*CARDS), of({}, ZONED)
        objects.append(group(f"g{at}", draw(st.integers(1, size)), notes=notes, queue="default"))
        objects += [pod(f"g{at}-{i}", cards, group=f"g{at}") for i in range(size)]
    alone = of({GPU: "1"}, {GPU: "1", "cpu": "2"})
    objects += [pod(f"s{i}", alone) for i in range(draw(st.integers(0, 6)))]
    if draw(st.booleans()):
        kept: dict[str, Any] = {"status": {"nodeName": "n0", "tasks": [claim("there", {GPU: "1"})]}}
        objects += [quota("held", {GPU: "2", HCA: "2"}, **kept), pod("there", {GPU: "1"}, on="n0")]
    return objects


@given(clusters(), st.sampled_from(POLICIES))
def test_equal_tasks_get_together_what_they_get_one_after_the_other(objects: list[Object], policy: Policy) -> None:
    world = world_of(objects)
    plain = schedule(world, Memory(), policy, NOW, survey=Naive, shelves=NaiveShelves)
    assert schedule(world, Memory(), policy, NOW) == plain
