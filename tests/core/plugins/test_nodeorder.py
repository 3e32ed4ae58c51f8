from typing import Any

from sky_core.constraints import (
    Effect,
    NodeAffinity,
    NodeTerm,
    PodAffinity,
    PodTerm,
    PreferredNode,
    PreferredPod,
    Spread,
    Taint,
    Toleration,
)
from sky_core.model import TaskId
from sky_core.plugin import Field
from sky_core.plugins.nodeorder import PLUGIN
from sky_core.selectors import Operator, Requirement, equals
from sky_core.testing.rows import context, node, parcel, quota, task, world
from sky_core.world import World

BUSY, SLOW = Taint("busy", Effect.PREFER_NO_SCHEDULE), Taint("slow", Effect.PREFER_NO_SCHEDULE)
QUARTER = 25_000


def likes(**weights: int) -> NodeAffinity:
    terms = {name: NodeTerm(fields=(Requirement("metadata.name", Operator.IN, (name,)),)) for name in weights}
    return NodeAffinity(preferred=tuple(PreferredNode(weight, terms[name]) for name, weight in weights.items()))


def three(**taints: tuple[Taint, ...]) -> list[Any]:
    return [node(n, labels={"host": n, "zone": n[0]}, taints=taints.get(n, ())) for n in ("a1", "a2", "b1")]


def by_parcel(w: World) -> list[int]:
    order = PLUGIN.open(context(w), None).qn.order
    assert order is not None
    field, asked = Field(tuple(w.nodes.values())), parcel(w, "q")
    return [order(asked, row, field) for row in field.nodes]


def by_task(w: World) -> list[int]:
    order = PLUGIN.open(context(w), None).tn.order
    assert order is not None
    field = Field(tuple(w.nodes.values()))
    return [order(w.tasks[TaskId("uid-p")], row, field) for row in field.nodes]


def both(*machines: Any, present: tuple[Any, ...] = (), **pod: Any) -> list[int]:
    """The scores of a pod, which are those of a quota that holds it alone."""
    scores = by_task(world(*machines, *present, task("p", **pod)))
    assert scores == by_parcel(world(*machines, *present, quota("q"), task("p", quota="q", **pod)))
    return scores


def test_where_nobody_prefers_anything_nodes_are_alike() -> None:
    assert both(*three()) == [QUARTER] * 3


def test_node_affinity_counts_relative_to_the_best_candidate() -> None:
    scores = both(*three(), node_affinity=likes(a1=50, a2=25))
    assert scores == [QUARTER + 25_000, QUARTER + 12_500, QUARTER]


def test_discouraging_taints_count_relative_to_the_worst_candidate() -> None:
    machines = three(a1=(BUSY, SLOW), a2=(BUSY,))
    assert both(*machines) == [0, 12_500, QUARTER]
    assert both(*machines, tolerations=(Toleration("busy", exists=True),)) == [0, QUARTER, QUARTER]


def test_pod_affinity_is_stretched_between_worst_and_best() -> None:
    near = PreferredPod(10, PodTerm("zone", equals({"app": "web"}), ("default",)))
    apart = PreferredPod(10, PodTerm("host", equals({"app": "web"}), ("default",)))
    web = (task("w", node="a1", labels={"app": "web"}),)
    liked = PodAffinity(preferred=(near,), anti_preferred=(apart, apart))
    assert both(*three(), present=web, pod_affinity=liked) == [QUARTER, QUARTER + 25_000, QUARTER + 12_500]


def test_soft_spread_prefers_the_emptiest_domain_and_ignores_nodes_without_the_key() -> None:
    even = Spread(topology_key="host", max_skew=1, hard=False, selector=equals({"app": "web"}))
    web = tuple(task(f"w-{i}", node=name, labels={"app": "web"}) for i, name in enumerate(("a1", "a1", "a2")))
    scores = both(*three(), node("n"), present=web, spread=(even,))
    assert scores == [QUARTER, QUARTER + 12_500, QUARTER + 25_000, QUARTER]


def test_a_quota_prefers_nodes_as_its_tasks_do() -> None:
    w = world(*three(), quota("q", node_affinity=likes(b1=30)), task("p", quota="q", node_affinity=likes(a1=60)))
    assert by_parcel(w) == [QUARTER + 25_000, QUARTER, QUARTER + 12_500]


def test_every_task_of_a_parcel_has_a_say() -> None:
    tasks = [task(f"p-{i}", quota="q", node_affinity=likes(a1=10)) for i in range(2)]
    w = world(*three(), quota("q"), *tasks, task("r-0", quota="q", node_affinity=likes(b1=20)))
    assert by_parcel(w) == [QUARTER + 25_000, QUARTER, QUARTER + 25_000]
