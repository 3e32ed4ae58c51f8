"""Continuity as a score: where other jobs spare runs of free nodes, the answer depends on the neighbours."""

from sky_core.api.configuration import API_VERSION, KIND, read_configuration
from sky_core.cycle import REGISTRY, schedule
from sky_core.memory import Memory
from sky_core.model import Instant
from sky_core.testing.naive import schedule_naively
from sky_core.testing.objects import GPU, HCA, group, node, pod, queue, quota, world_of


def test_a_score_that_looks_at_neighbours_is_read_anew_after_each_placement() -> None:
    named = {"name": "topology", "args": {"namedzone": 0, "continuity": 100}}
    plugins = [{"name": n} for n in REGISTRY.default if n != "topology"]
    policy = read_configuration({"apiVersion": API_VERSION, "kind": KIND, "plugins": [*plugins, named]}, REGISTRY)
    two = {GPU: "2", HCA: "2"}
    objects = [
        queue("default"),
        *(node(f"n{i}", {GPU: "4", HCA: "4", "pods": "110"}) for i in range(3)),
        *(quota(f"q-{i}", {GPU: "1", HCA: "1"} if i == 0 else two) for i in range(3)),
        group("g", 2),
        *(pod(f"g-{i}", {GPU: "1"}, group="g") for i in range(2)),
        pod("solo-0", {GPU: "1"}),
    ]

    fast, _ = schedule(world_of(objects), Memory(), policy, Instant(0))
    naive, _ = schedule_naively(world_of(objects), Memory(), policy, Instant(0))

    assert fast.decisions == naive.decisions != ()
