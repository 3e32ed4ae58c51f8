from typing import Any

import pytest

from sky_core.constraints import Effect, NodeAffinity, Taint, Toleration
from sky_core.model import NodeName, QuotaName, TaskId
from sky_core.plugins.quotapredicates import PLUGIN
from sky_core.reasons import Code, Reason
from sky_core.resources import parse_resources
from sky_core.selectors import equals
from sky_core.states import TaskState
from sky_core.testing.rows import GPU, Row, context, gpus, node, parcel, quota, task, world
from sky_core.world import World

SPEC = "scheduling.infini-ai.com/spec"
MODEL = "nvidia.com/gpu.product"


def code(reason: Reason | None) -> Code | None:
    return None if reason is None else reason.code


SELECTORS: dict[str, tuple[dict[str, str], dict[str, str], Code | None]] = {
    "neither selects": ({}, {}, None),
    "only the task selects": ({SPEC: "a100"}, {}, None),
    "both select the same": ({SPEC: "a100", "zone": "1"}, {SPEC: "a100"}, None),
    "different keys": ({"zone": "1"}, {"rack": "2"}, None),
    "two cards": ({SPEC: "a100"}, {SPEC: "h100"}, Code.SPEC_MISMATCH),
    "two cards by a longer key": ({MODEL + ".full": "a"}, {MODEL + ".full": "b"}, Code.SPEC_MISMATCH),
    "two zones": ({"zone": "1"}, {"zone": "2"}, Code.NODE_SELECTOR_NOT_MATCH),
}


@pytest.mark.parametrize(("pod", "own", "expected"), SELECTORS.values(), ids=SELECTORS)
def test_selectors_of_task_and_quota_may_not_give_one_key_two_values(
    pod: dict[str, str], own: dict[str, str], expected: Code | None
) -> None:
    w = world(quota("q", selector=equals(own)), task("p", selector=equals(pod)))
    ask = PLUGIN.open(context(w), None).tq.predicate
    assert ask is not None
    assert code(ask(w.tasks[TaskId("uid-p")], w.quotas[QuotaName("q")])) == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [({}, None), ({"z": "1"}, None), ({"z": "2"}, Code.NODE_SELECTOR_NOT_MATCH), ({SPEC: "h100"}, Code.SPEC_MISMATCH)],
)
def test_a_quota_selects_nodes_by_label(selector: dict[str, str], expected: Code | None) -> None:
    w = world(node("n0", labels={"z": "1", SPEC: "a100"}), quota("q", selector=equals(selector)))
    ask = PLUGIN.open(context(w), None).qn.select
    assert ask is not None
    assert code(ask(parcel(w, "q"), w.nodes[NodeName("n0")])) == expected


def hop2(w: World) -> Reason | None:
    ask = PLUGIN.open(context(w), None).qn.predicate
    assert ask is not None
    return ask(parcel(w, "q"), w.nodes[NodeName("n0")])


FOREIGN: dict[str, Any] = {"job": None, "node": "n0"}
TAINT = Taint("t", Effect.NO_SCHEDULE)

NODES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Row], Code | None]] = {
    "an empty node": ({}, {}, [], None),
    "a taint": ({"taints": (TAINT,)}, {}, [], Code.TAINT_NOT_TOLERATED),
    "a taint that the quota tolerates": (
        {"taints": (TAINT,)},
        {"tolerations": (Toleration("t", exists=True),)},
        [],
        None,
    ),
    "cordoned": ({"unschedulable": True}, {}, [], Code.NODE_UNSCHEDULABLE),
    "affinity to another node": ({}, {"node_affinity": NodeAffinity(required=())}, [], Code.NODE_AFFINITY_NOT_MATCH),
    "another quota": ({}, {}, [quota("r", 4, node="n0")], Code.INSUFFICIENT_QUOTA_IDLE),
    "another quota, unclaimed": ({}, {"request": gpus(4)}, [quota("r", 4, node="n0")], None),
    "a foreign pod": ({}, {}, [task("o", **FOREIGN)], Code.INSUFFICIENT_QUOTA_IDLE),
    "a foreign pod that terminates": (
        {},
        {},
        [task("o", state=TaskState.RELEASING, **FOREIGN)],
        Code.WAITING_FOR_RELEASE,
    ),
    "one that terminates is not enough": (
        {},
        {},
        [task("o", state=TaskState.RELEASING, **FOREIGN), task("u", **FOREIGN)],
        Code.INSUFFICIENT_QUOTA_IDLE,
    ),
    "a pod on its quota counts with the quota only": (
        {},
        {"request": gpus(7)},
        [quota("r", 1, node="n0"), task("o", node="n0", quota="r")],
        None,
    ),
}


@pytest.mark.parametrize(("machine", "spec", "present", "expected"), NODES.values(), ids=NODES)
def test_a_node_takes_a_quota_that_it_may_take_and_has_promised_room_for(
    machine: dict[str, Any], spec: dict[str, Any], present: list[Row], expected: Code | None
) -> None:
    assert code(hop2(world(node("n0", **machine), quota("q", **spec), *present))) == expected


def test_claims_on_what_a_quota_does_not_name_are_part_of_its_footprint() -> None:
    cores = parse_resources({"cpu": 65, GPU: 1})
    refusal = hop2(world(node("n0"), quota("q"), task("p", quota="q", request=cores)))
    assert refusal is not None
    assert (refusal.needed, refusal.available) == (parse_resources({"cpu": 65}), parse_resources({"cpu": 64}))
    assert refusal.never


def test_a_quota_that_the_trial_has_placed_is_asked_about_as_if_it_came() -> None:
    assert hop2(world(node("n0"), quota("q", node="n0"))) is None
    assert (
        code(hop2(world(node("n0"), quota("q", node="n0"), quota("r", 1, node="n0")))) is Code.INSUFFICIENT_QUOTA_IDLE
    )
