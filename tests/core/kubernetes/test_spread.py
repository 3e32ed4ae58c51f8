"""Topology spread, case by case as kube-scheduler's tests have them: which nodes take the pod."""

from typing import Any

import pytest

from sky_core.constraints import Effect, NodeAffinity, NodeTerm, Spread, Taint, Toleration
from sky_core.kubernetes import spread
from sky_core.kubernetes.comers import comers
from sky_core.model import NodeName, Task
from sky_core.reasons import Code
from sky_core.selectors import EVERYTHING, Operator, Requirement, equals
from sky_core.states import TaskState
from sky_core.testing.rows import Machine, node, quota, task, world
from sky_core.world import World

HOST, ZONE = "node", "zone"
WEB = equals({"app": "web"})


def machine(name: str, zone: str, **fields: Any) -> Machine:
    return node(name, labels={HOST: name, ZONE: zone}, **fields)


A, B, X, Y = machine("a", "z1"), machine("b", "z1"), machine("x", "z2"), machine("y", "z2")
FOUR = (A, B, X, Y)


def evenly(key: str = ZONE, skew: int = 1, **fields: Any) -> Spread:
    return Spread(**{"topology_key": key, "max_skew": skew, "hard": True, "selector": WEB, **fields})


def pod(*constraints: Spread, app: str = "web", **fields: Any) -> Task:
    return task("p", labels={"app": app}, spread=constraints, **fields)


def web(where: str, **fields: Any) -> list[Task]:
    """`a2 x1`: two pods on a, one on x."""
    names = [name for group in where.split() for name in group[0] * int(group[1:])]
    return [task(f"w-{i}", labels={"app": "web"}, node=name, **fields) for i, name in enumerate(names)]


def takers(w: World, *tasks: Task) -> str:
    refusal = spread.required(w)
    return " ".join(str(n.name) for n in w.nodes.values() if refusal(comers(tasks), n) is None)


TAINTED = (A, B, X, machine("y", "z2", taints=(Taint("t", Effect.NO_SCHEDULE),)))
ONLY_AX = NodeAffinity(required=(NodeTerm(labels=(Requirement(HOST, Operator.IN, ("a", "x")),)),))
NOT_Y = NodeAffinity(required=(NodeTerm(labels=(Requirement(HOST, Operator.NOT_IN, ("y",)),)),))

CASES: dict[str, tuple[Task, tuple[Machine, ...], list[Task], str]] = {
    "no constraint": (pod(), FOUR, web("a9"), "a b x y"),
    "nobody is there": (pod(evenly()), FOUR, [], "a b x y"),
    "the fuller zone is refused": (pod(evenly()), FOUR, web("a2 b1 x1"), "x y"),
    "equal zones both take it": (pod(evenly()), FOUR, web("a1 b1 x2"), "a b x y"),
    "a larger skew is allowed": (pod(evenly(skew=3)), FOUR, web("a2 b1 x1"), "a b x y"),
    "by node": (pod(evenly(HOST)), FOUR, web("a1 b1 x1"), "y"),
    "by node, all equal": (pod(evenly(HOST)), FOUR, web("a1 b1 x1 y1"), "a b x y"),
    "by zone and by node": (pod(evenly(), evenly(HOST)), FOUR, web("a2 b1 x2 y1"), "b y"),
    "by zone and by node at odds": (pod(evenly(), evenly(HOST)), FOUR, web("a1 b1 x4"), NONE := ""),
    "a pod that does not count itself": (pod(evenly(), app="db"), FOUR, web("a1"), "a b x y"),
    "a pod that does not count itself, skew two": (pod(evenly(), app="db"), FOUR, web("a2"), "x y"),
    "pods of other labels": (pod(evenly(selector=equals({"app": "db"}))), FOUR, web("a2"), "a b x y"),
    "pods of other namespaces": (pod(evenly()), FOUR, web("a2", namespace="other"), "a b x y"),
    "terminating pods": (pod(evenly()), FOUR, web("a2", state=TaskState.RELEASING), "a b x y"),
    "a selector without requirements counts nobody": (pod(evenly(selector=EVERYTHING)), FOUR, web("a2"), "a b x y"),
    "a node without the key": (pod(evenly()), (A, X, node("n")), web("x1"), "a"),
    "a node without one of two keys makes no domain": (
        pod(evenly(), evenly(HOST)),
        (A, X, node("n", labels={ZONE: "z3"})),
        web("a1 x1"),
        "a x",
    ),
    "nor does it count with one of two keys, though the other's selector counts nobody": (
        pod(evenly(), evenly(HOST, selector=EVERYTHING)),
        (A, X, node("n", labels={ZONE: "z1"})),
        web("n3"),
        "a x",
    ),
    "too few domains: the emptiest counts as empty": (pod(evenly(min_domains=3)), FOUR, web("a1 x1"), NONE),
    "too few domains, and room under the skew": (pod(evenly(skew=2, min_domains=3)), FOUR, web("a1 x1"), "a b x y"),
    "domains enough": (pod(evenly(min_domains=2)), FOUR, web("a1 x1"), "a b x y"),
    "nodes that the pod may not use make no domain": (
        pod(evenly(HOST), node_affinity=ONLY_AX),
        FOUR,
        web("a1 x1"),
        "a b x y",
    ),
    "unless affinity is ignored": (
        pod(evenly(HOST, honor_node_affinity=False), node_affinity=ONLY_AX),
        FOUR,
        web("a1 x1"),
        "b y",
    ),
    "the plain selector counts as affinity": (
        pod(evenly(HOST), selector=equals({ZONE: "z1"})),
        FOUR,
        web("a1"),
        "b x y",
    ),
    "pods on nodes that the pod may not use don't count": (
        pod(evenly(), node_affinity=NOT_Y),
        FOUR,
        web("a1 y5"),
        "x y",
    ),
    "tainted nodes make a domain": (pod(evenly(HOST)), TAINTED, web("a1 b1 x1"), "y"),
    "unless taints are honoured": (pod(evenly(HOST, honor_taints=True)), TAINTED, web("a1 b1 x1"), "a b x y"),
    "a tainted node that is tolerated": (
        pod(evenly(HOST, honor_taints=True), tolerations=(Toleration("t", exists=True),)),
        TAINTED,
        web("a1 b1 x1"),
        "y",
    ),
    "soft constraints refuse nobody": (pod(evenly(hard=False)), FOUR, web("a9"), "a b x y"),
}


@pytest.mark.parametrize(("asker", "machines", "present", "expected"), CASES.values(), ids=CASES)
def test_pods_are_spread_as_in_kubernetes(
    asker: Task, machines: tuple[Machine, ...], present: list[Task], expected: str
) -> None:
    assert takers(world(*machines, *present, asker), asker) == expected


def test_those_who_come_together_count() -> None:
    pods = [task(f"p-{i}", labels={"app": "web"}, spread=(evenly(),)) for i in range(3)]
    w = world(*FOUR, *web("x1"), *pods)
    assert takers(w, *pods[:1]) == "a b"
    assert takers(w, *pods[:2]) == "a b"
    assert takers(w, *pods) == ""


def test_filling_the_emptiest_domain_raises_the_floor_for_those_who_fill_it() -> None:
    pods = [task(f"p-{i}", labels={"app": "web"}, spread=(evenly(HOST),)) for i in range(2)]
    assert takers(world(A, B, *web("a1 b1"), *pods), *pods) == ""
    assert takers(world(A, B, *web("a2 b1"), *pods), *pods) == "b"


def test_a_claim_counts_where_its_quota_is_but_not_for_its_own_task() -> None:
    asker = pod(evenly(), quota="q")
    w = world(*FOUR, *web("x1"), quota("q", node="a"), asker)
    assert takers(w, asker) == "a b"
    other = task("o", labels={"app": "web"}, spread=(evenly(),))
    w = world(*FOUR, *web("x1"), quota("q", node="a"), asker, other)
    assert takers(w, other) == "a b x y"


def test_the_refusal_names_the_domain() -> None:
    asker = pod(evenly())
    w = world(*FOUR, *web("a2"), asker)
    refusal = spread.required(w)(comers([asker]), w.nodes[NodeName("b")])
    assert refusal is not None
    assert refusal.code is Code.TOPOLOGY_SPREAD_NOT_MATCH
    assert refusal.detail == "zone=z1 would have 3 more than the emptiest"


def test_soft_constraints_cost_what_the_domain_holds_and_small_topologies_weigh_less() -> None:
    asker = pod(evenly(hard=False), evenly(HOST, hard=False, skew=2))
    w = world(*FOUR, node("n"), *web("a2 x1"), asker)
    costs = spread.preferred(w)(asker, tuple(w.nodes.values()))
    once = 1000  # for the skew of two that is tolerated
    assert costs == [
        2772 + 3583 + once,  # two of ln(2 + 2) and two of ln(4 + 2), in whole thousandths
        2772 + once,
        1386 + 1791 + once,
        1386 + once,
        None,
    ]
