"""The same nodes are feasible for a plain pod by `predicates` as by kube-scheduler's own filter plugins.

Worlds are random. We judge each twice: as its manifests are written, and as an API server stores them. Different on
purpose, and therefore not asked, or not counted:

- A node that is not Ready takes nobody here. kube-scheduler knows the taint alone, which can be tolerated: what it says
  of such a node is not counted; the taint itself is there for both.
- A node that does not say how many pods it takes, takes 110 here and none there. Nodes always say so.
- Fractions of a byte round up by container here and by pod there. Nobody means them.
- Volumes, device claims, features that nodes declare, gangs and preemption are no business of `predicates`.

What kube-scheduler gets wrong is not asked either; the last test says what that is, and when to ask again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings

from sky_control_plane import Binaries, Filters, NotAtHandError
from sky_core.api.intake import Intake
from sky_core.plugins.predicates import PLUGIN
from sky_core.settings import Settings
from sky_core.testing.crowds import Crowd, crowds
from sky_core.testing.objects import namespace, node, pod
from sky_core.testing.rows import context

KINDS = {"namespaces": "Namespace", "nodes": "Node", "bound": "Pod", "pending": "Pod"}
Objects = Mapping[str, Sequence[Mapping[str, Any]]]
Verdicts = Mapping[tuple[str, str], str]
"""By pod and node: why not, or nothing."""


@pytest.fixture(scope="module")
def filters(binaries: Binaries) -> Iterator[Filters]:
    try:
        program = Filters(binaries)
    except NotAtHandError as reason:
        pytest.skip(str(reason))
    with program:
        yield program


def ours(objects: Objects) -> Verdicts:
    intake = Intake(Settings())
    for part, kind in KINDS.items():
        for one in objects[part]:
            intake.put({**one, "kind": kind})
    world = intake.world()
    assert intake.invalid == ()
    ask = PLUGIN.open(context(world), None).tn.predicate
    assert ask is not None
    verdicts: dict[tuple[str, str], str] = {}
    for task in world.tasks.values():
        if task.node is None:
            for machine in world.nodes.values():
                refusal = ask(task, machine)
                text = "" if refusal is None else f"{refusal.code} {refusal.detail}"
                verdicts[f"{task.namespace}/{task.name}", machine.name] = text
    return verdicts


def theirs(verdicts: Mapping[str, Mapping[str, str]], objects: Objects) -> Verdicts:
    ready = {one["metadata"]["name"]: one["status"]["conditions"][0]["status"] == "True" for one in objects["nodes"]}
    return {
        (asked, name): verdict if ready[name] else "not Ready"
        for asked, by_node in verdicts.items()
        for name, verdict in by_node.items()
    }


def disagreements(mine: Verdicts, other: Verdicts) -> list[str]:
    assert mine.keys() == other.keys()
    return [
        f"{asked} on {name}: {mine[asked, name] or 'fits'}, but for kube-scheduler: {other[asked, name] or 'fits'}"
        for asked, name in mine
        if bool(mine[asked, name]) != bool(other[asked, name])
    ]


def lines(objects: Objects) -> list[str]:
    return [f"{part}: {json.dumps(one)}" for part in KINDS for one in objects[part]]


@settings(max_examples=3 * settings().max_examples)
@given(crowd=crowds())
def test_the_same_nodes_are_feasible_as_by_kube_schedulers_own_filters(filters: Filters, crowd: Crowd) -> None:
    stored, verdicts = filters.judge(crowd)
    expected = theirs(verdicts, crowd)
    for form, objects in (("as written", crowd), ("as stored", stored)):
        found = disagreements(ours(objects), expected)
        assert not found, "\n".join([form, *found, *lines(objects)])


def test_kube_scheduler_takes_a_namespace_selector_that_excludes_for_one_that_selects_every_namespace(
    filters: Filters,
) -> None:
    """As of 1.36, of the pod that comes: it selects the namespaces, then asks the selector again without any labels.

    Once it does as its API says, `sky_core.testing.wishes` may exclude namespaces too.
    """
    others = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]}
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": others}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    container = [{"name": "c", "image": "i"}]
    crowd = {
        "nodes": [node("n0", labels={"zone": "a"})],
        "bound": [pod("b", on="n0", containers=container)],
        "pending": [pod("p", containers=container, affinity=affinity)],
        "namespaces": [namespace("default", team="red")],
    }
    verdicts = theirs(filters.judge(crowd).verdicts, crowd)
    assert verdicts["default/p", "n0"].startswith("InterPodAffinity")
    assert ours(crowd)["default/p", "n0"] == ""
