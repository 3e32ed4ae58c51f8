"""The rules that need one node only, and what kube-scheduler's own tests hold of them."""

from typing import Any

import pytest

from sky_core.constraints import Effect, HostPort, NodeAffinity, NodeTerm, PreferredNode, Taint, Toleration
from sky_core.kubernetes import node_affinity, taints
from sky_core.kubernetes.comers import comers, crowded, unfit
from sky_core.reasons import Code
from sky_core.selectors import Operator, Requirement, equals
from sky_core.testing.rows import node, quota, task, world

DEDICATED = Taint("dedicated", Effect.NO_SCHEDULE, "user1")


def requirement(text: str, *values: str) -> Requirement:
    key, operator = text.split()
    return Requirement(key, Operator(operator), values)


def required(*terms: NodeTerm) -> dict[str, Any]:
    return {"node_affinity": NodeAffinity(required=terms)}


def labelled(*requirements: Requirement) -> NodeTerm:
    return NodeTerm(labels=requirements)


NAMED = NodeTerm(fields=(requirement("metadata.name In", "n0"),))
GPU_A100 = {"gpu": "a100", "cards": "8"}

REFUSALS: dict[str, tuple[dict[str, Any], dict[str, Any], Code | None]] = {
    "a plain pod and a plain node": ({}, {}, None),
    "not ready": ({}, {"ready": False}, Code.NODE_NOT_READY),
    "cordoned": ({}, {"unschedulable": True}, Code.NODE_UNSCHEDULABLE),
    "cordoned, and that is tolerated": (
        {"tolerations": (Toleration(key="node.kubernetes.io/unschedulable", effect=Effect.NO_SCHEDULE, exists=True),)},
        {"unschedulable": True},
        None,
    ),
    "cordoned, and everything is tolerated": (
        {"tolerations": (Toleration(exists=True),)},
        {"unschedulable": True},
        None,
    ),
    "a taint": ({}, {"taints": (DEDICATED,)}, Code.TAINT_NOT_TOLERATED),
    "a taint tolerated by value": (
        {"tolerations": (Toleration("dedicated", value="user1", effect=Effect.NO_SCHEDULE),)},
        {"taints": (DEDICATED,)},
        None,
    ),
    "a taint of another value": (
        {"tolerations": (Toleration("dedicated", value="user2"),)},
        {"taints": (DEDICATED,)},
        Code.TAINT_NOT_TOLERATED,
    ),
    "a toleration for another effect": (
        {"tolerations": (Toleration("dedicated", exists=True, effect=Effect.NO_EXECUTE),)},
        {"taints": (DEDICATED,)},
        Code.TAINT_NOT_TOLERATED,
    ),
    "one of two taints tolerated": (
        {"tolerations": (Toleration("dedicated", exists=True),)},
        {"taints": (DEDICATED, Taint("broken", Effect.NO_EXECUTE))},
        Code.TAINT_NOT_TOLERATED,
    ),
    "a taint that only discourages": ({}, {"taints": (Taint("busy", Effect.PREFER_NO_SCHEDULE),)}, None),
    "a selector that is met": ({"selector": equals({"gpu": "a100"})}, {"labels": GPU_A100}, None),
    "a selector with another value": (
        {"selector": equals({"gpu": "h100"})},
        {"labels": GPU_A100},
        Code.NODE_SELECTOR_NOT_MATCH,
    ),
    "a selector for an absent label": ({"selector": equals({"gpu": ""})}, {}, Code.NODE_SELECTOR_NOT_MATCH),
    "In": (required(labelled(requirement("gpu In", "h100", "a100"))), {"labels": GPU_A100}, None),
    "NotIn an absent label": (required(labelled(requirement("x NotIn", "y"))), {"labels": GPU_A100}, None),
    "Exists": (required(labelled(requirement("x Exists"))), {"labels": GPU_A100}, Code.NODE_AFFINITY_NOT_MATCH),
    "DoesNotExist": (required(labelled(requirement("x DoesNotExist"))), {"labels": GPU_A100}, None),
    "Gt": (required(labelled(requirement("cards Gt", "4"))), {"labels": GPU_A100}, None),
    "Gt is strict": (
        required(labelled(requirement("cards Gt", "8"))),
        {"labels": GPU_A100},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "Lt of what is no number": (
        required(labelled(requirement("gpu Lt", "4"))),
        {"labels": GPU_A100},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "Gt of what only Python takes for a number": (
        required(labelled(requirement("cards Gt", "4"))),
        {"labels": {"cards": "1_0"}},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "leading zeros are legal in a label, however many": (
        required(labelled(requirement("cards Lt", f"{9:040}"))),
        {"labels": GPU_A100},
        None,
    ),
    "the largest number of 64 bits": (
        required(labelled(requirement("cards Lt", str(2**63 - 1)))),
        {"labels": GPU_A100},
        None,
    ),
    "what has more than 64 bits is no number": (
        required(labelled(requirement("cards Lt", str(2**63)))),
        {"labels": GPU_A100},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "nor is a label that has more": (
        required(labelled(requirement("cards Gt", "4"))),
        {"labels": {"cards": str(2**63)}},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "nor what has a sign, which no label has": (
        required(labelled(requirement("cards Gt", "-4"))),
        {"labels": GPU_A100},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "requirements of one term are joined by and": (
        required(labelled(requirement("gpu Exists"), requirement("x Exists"))),
        {"labels": GPU_A100},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "terms are joined by or": (
        required(labelled(requirement("x Exists")), labelled(requirement("gpu Exists"))),
        {"labels": GPU_A100},
        None,
    ),
    "an empty term matches nothing": (required(NodeTerm()), {}, Code.NODE_AFFINITY_NOT_MATCH),
    "no terms match nothing": (required(), {}, Code.NODE_AFFINITY_NOT_MATCH),
    "a field names the node": (required(NAMED), {}, None),
    "a field names another node": (
        required(NodeTerm(fields=(requirement("metadata.name In", "n1"),))),
        {},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "labels and fields of a term are joined by and": (
        required(NodeTerm(labels=(requirement("x Exists"),), fields=NAMED.fields)),
        {},
        Code.NODE_AFFINITY_NOT_MATCH,
    ),
    "selector and affinity are joined by and": (
        {"selector": equals({"gpu": "h100"}), **required(labelled(requirement("gpu Exists")))},
        {"labels": GPU_A100},
        Code.NODE_SELECTOR_NOT_MATCH,
    ),
    "a volume that is here": ({"volumes": ((labelled(requirement("gpu In", "a100")),),)}, {"labels": GPU_A100}, None),
    "one of two volumes is elsewhere": (
        {"volumes": ((NAMED,), (labelled(requirement("gpu In", "h100")), labelled(requirement("x Exists"))))},
        {"labels": GPU_A100},
        Code.VOLUME_NODE_AFFINITY_NOT_MATCH,
    ),
}


@pytest.mark.parametrize(("pod", "machine", "code"), REFUSALS.values(), ids=REFUSALS)
def test_a_node_refuses_what_kube_scheduler_would(
    pod: dict[str, Any], machine: dict[str, Any], code: Code | None
) -> None:
    refusal = unfit(task("p", **pod).shape, node("n0", **machine).node)
    assert (refusal and refusal.code) == code


def test_a_refusal_names_the_taint_and_the_label() -> None:
    tainted = unfit(task("p").shape, node("n0", taints=(DEDICATED,)).node)
    unlabelled = unfit(task("p", selector=equals({"gpu": "a100"})).shape, node("n0").node)
    assert tainted is not None
    assert tainted.detail == "dedicated=user1:NoSchedule"
    assert unlabelled is not None
    assert unlabelled.detail == "gpu=a100"


def test_preferred_terms_add_up_and_an_empty_one_is_worth_nothing() -> None:
    likes = (
        PreferredNode(3, labelled(requirement("gpu Exists"))),
        PreferredNode(5, NAMED),
        PreferredNode(7, labelled(requirement("x Exists"))),
        PreferredNode(9, NodeTerm()),
    )
    assert node_affinity.preference(NodeAffinity(preferred=likes), node("n0", labels=GPU_A100).node) == 8


def test_only_discouraging_taints_that_are_not_tolerated_are_counted() -> None:
    busy, slow = Taint("busy", Effect.PREFER_NO_SCHEDULE), Taint("slow", Effect.PREFER_NO_SCHEDULE)
    assert taints.discouraging((Toleration("slow", exists=True),), (busy, slow, DEDICATED)) == 1


PORTS: dict[str, tuple[HostPort, HostPort, bool]] = {
    "another port": (HostPort(8080), HostPort(8081), False),
    "the same port": (HostPort(8080), HostPort(8080), True),
    "another protocol": (HostPort(8080), HostPort(8080, "UDP"), False),
    "another address": (HostPort(80, ip="127.0.0.1"), HostPort(80, ip="127.0.0.2"), False),
    "the same address": (HostPort(80, ip="127.0.0.1"), HostPort(80, ip="127.0.0.1"), True),
    "all addresses there": (HostPort(80, ip="127.0.0.1"), HostPort(80), True),
    "all addresses asked": (HostPort(80), HostPort(80, ip="127.0.0.1"), True),
}


@pytest.mark.parametrize(("mine", "other", "clash"), PORTS.values(), ids=PORTS)
def test_a_host_port_is_taken_once_per_node(mine: HostPort, other: HostPort, clash: bool) -> None:
    n0, pod = node("n0"), task("p", ports=(mine,))
    there = world(n0, task("there", node="n0", ports=(other,)), pod)
    claiming = world(n0, quota("q", node="n0"), task("there", quota="q", ports=(other,)), pod)
    together = world(n0, task("with", ports=(other,)), pod)
    for w, tasks in ((there, [pod]), (claiming, [pod]), (together, [*together.tasks.values()])):
        refusal = crowded(w, comers(tasks), n0.node)
        assert (refusal is not None and refusal.code is Code.PORT_CONFLICT) == clash


def test_a_node_takes_no_more_pods_than_it_says() -> None:
    n0 = node("n0", pods_max=3)
    two, one_more = [task(f"a-{i}", node="n0") for i in range(2)], task("b")
    assert crowded(world(n0, *two, one_more), comers([one_more]), n0.node) is None
    full = world(n0, *two, quota("q", node="n0"), task("c", quota="q"), one_more)
    refusal = crowded(full, comers([one_more]), n0.node)
    assert refusal is not None
    assert (refusal.code, refusal.detail) == (Code.TOO_MANY_PODS, "3 of 3")
    assert crowded(world(n0, *two), comers([task("d-0"), task("d-1")]), n0.node) is not None


def test_claims_of_pods_that_are_on_the_node_count_once() -> None:
    n0 = node("n0", pods_max=3)
    w = world(n0, quota("q", node="n0"), *(task(f"a-{i}", node="n0", quota="q") for i in range(2)))
    assert crowded(w, comers([task("b")]), n0.node) is None


def test_a_task_never_counts_against_itself() -> None:
    n0 = node("n0", pods_max=1)
    pod = task("p", quota="q", ports=(HostPort(80),))
    assert crowded(world(n0, quota("q", node="n0"), pod), comers([pod]), n0.node) is None
