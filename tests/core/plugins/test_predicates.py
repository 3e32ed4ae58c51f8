from typing import Any

import pytest

from sky_core.constraints import Effect, HostPort, PodAffinity, PodTerm, Taint
from sky_core.model import NodeName, Pool, QuotaName, TaskId
from sky_core.plugin import Functions
from sky_core.plugins.predicates import PLUGIN
from sky_core.reasons import Code, Reason
from sky_core.resources import NOTHING
from sky_core.selectors import equals
from sky_core.states import TaskState
from sky_core.testing.rows import Row, context, gpus, node, parcel, quota, spot_task, task, world
from sky_core.world import World


def opened(w: World, frees: int = 0) -> Functions:
    return PLUGIN.open(context(w, frees=lambda _: gpus(frees) if frees else NOTHING), None)


def hop1(w: World, frees: int = 0, name: str = "p") -> Reason | None:
    ask = opened(w, frees).tq.predicate
    assert ask is not None
    return ask(w.tasks[TaskId(f"uid-{name}")], w.quotas[QuotaName("q")])


def hop2(w: World, frees: int = 0) -> Reason | None:
    ask = opened(w, frees).qn.predicate
    assert ask is not None
    return ask(parcel(w, "q"), w.nodes[NodeName("n0")])


def hop3(w: World, frees: int = 0) -> Reason | None:
    ask = opened(w, frees).tn.predicate
    assert ask is not None
    return ask(w.tasks[TaskId("uid-p")], w.nodes[NodeName("n0")])


def code(reason: Reason | None) -> Code | None:
    return None if reason is None else reason.code


FOREIGN: dict[str, Any] = {"job": None, "node": "n0"}
APART = PodAffinity(anti_required=(PodTerm("host", equals({"app": "web"}), ("default",)),))

NODES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Row], Code | None]] = {
    "an empty node": ({}, {}, [], None),
    "not ready": ({"ready": False}, {}, [], Code.NODE_NOT_READY),
    "cordoned": ({"unschedulable": True}, {}, [], Code.NODE_UNSCHEDULABLE),
    "tainted": ({"taints": (Taint("t", Effect.NO_EXECUTE),)}, {}, [], Code.TAINT_NOT_TOLERATED),
    "another label": ({}, {"selector": equals({"z": "1"})}, [], Code.NODE_SELECTOR_NOT_MATCH),
    "a volume elsewhere": ({}, {"volumes": ((),)}, [], Code.VOLUME_NODE_AFFINITY_NOT_MATCH),
    "full of pods": ({"pods_max": 1}, {}, [task("o", **FOREIGN)], Code.TOO_MANY_PODS),
    "a port taken": (
        {},
        {"ports": (HostPort(80),)},
        [task("o", ports=(HostPort(80),), **FOREIGN)],
        Code.PORT_CONFLICT,
    ),
    "a pod to keep away from": (
        {"labels": {"host": "n0"}},
        {"pod_affinity": APART},
        [task("o", labels={"app": "web"}, **FOREIGN)],
        Code.POD_ANTI_AFFINITY_NOT_MATCH,
    ),
    "a pod that keeps it away": (
        {"labels": {"host": "n0"}},
        {"labels": {"app": "web"}},
        [task("o", pod_affinity=APART, **FOREIGN)],
        Code.POD_ANTI_AFFINITY_NOT_MATCH,
    ),
    "no room": ({}, {}, [task("o", request=gpus(8), **FOREIGN)], Code.INSUFFICIENT_IDLE),
}


@pytest.mark.parametrize(("machine", "pod", "present", "expected"), NODES.values(), ids=NODES)
def test_all_hops_refuse_alike(
    machine: dict[str, Any], pod: dict[str, Any], present: list[Row], expected: Code | None
) -> None:
    n0 = node("n0", **machine)
    free = world(n0, quota("q"), task("p", quota="q", **pod), *present)
    bound = world(n0, quota("q", node="n0"), task("p", quota="q", **pod), *present)
    unclaimed = world(n0, quota("q", node="n0"), task("p", **pod), *present)
    assert [code(hop1(unclaimed)), code(hop2(free)), code(hop3(bound))] == [expected] * 3


def test_a_free_quota_is_not_asked_about_nodes() -> None:
    assert hop1(world(node("n0", ready=False), quota("q"), task("p"))) is None


def test_a_quota_on_a_node_that_is_gone_is_unavailable() -> None:
    assert code(hop1(world(quota("q", node="n9"), task("p")))) is Code.QUOTA_UNAVAILABLE


STATIC: dict[str, tuple[dict[str, Any], dict[str, Any], list[Row], Code | None]] = {
    "would be bound": ({}, {}, [], None),
    "the node is gone": ({"static_node": NodeName("n9")}, {}, [], Code.QUOTA_UNAVAILABLE),
    "another label": ({"selector": equals({"z": "1"})}, {}, [], Code.QUOTA_UNAVAILABLE),
    "larger than the node": ({"request": gpus(9)}, {}, [], Code.QUOTA_UNAVAILABLE),
    "room is not asked": ({}, {}, [task("o", request=gpus(8), **FOREIGN)], None),
    "the task's own rules are": ({}, {"ready": False}, [], Code.NODE_NOT_READY),
}


@pytest.mark.parametrize(("spec", "machine", "present", "expected"), STATIC.values(), ids=STATIC)
def test_a_static_quota_without_a_node_is_usable_if_it_would_be_bound(
    spec: dict[str, Any], machine: dict[str, Any], present: list[Row], expected: Code | None
) -> None:
    fixed = quota("q", **{"static_node": NodeName("n0"), **spec})
    assert code(hop1(world(node("n0", **machine), fixed, task("p"), *present))) == expected


def test_a_refusal_for_room_says_what_was_short_of_what() -> None:
    refusal = hop3(
        world(node("n0"), quota("q", node="n0"), task("p", quota="q", request=gpus(4)), spot_task("s", 6, node="n0"))
    )
    assert refusal is not None
    assert (refusal.needed, refusal.available, refusal.never) == (gpus(4), gpus(2), None)


def test_what_the_empty_node_could_not_hold_never_fits() -> None:
    refusal = hop3(world(node("n0"), quota("q", node="n0"), task("p", quota="q", request=gpus(9))))
    assert refusal is not None
    assert refusal.never == Reason(Code.NEVER_FITS, gpus(9), gpus(8))


@pytest.mark.parametrize(("frees", "expected"), [(0, Code.INSUFFICIENT_IDLE), (1, Code.INSUFFICIENT_IDLE), (2, None)])
def test_what_can_still_become_free_counts_for_claims_but_not_for_binds(frees: int, expected: Code | None) -> None:
    rows = (node("n0"), spot_task("s", 6, node="n0"), task("p", quota="q", request=gpus(4)))
    assert code(hop2(world(*rows, quota("q")), frees)) == expected
    unclaimed = world(*rows[:2], task("p", request=gpus(4)), quota("q", node="n0"))
    assert code(hop1(unclaimed, frees)) == expected
    assert code(hop3(world(*rows, quota("q", node="n0")), frees)) is Code.INSUFFICIENT_IDLE


def test_the_tasks_of_a_parcel_need_room_together() -> None:
    pods = [task(f"p-{i}", quota="q", request=gpus(2)) for i in range(2)]
    assert hop2(world(node("n0"), quota("q"), *pods, spot_task("s", 4, node="n0"))) is None
    refusal = hop2(world(node("n0"), quota("q"), *pods, spot_task("s", 5, node="n0")))
    assert refusal is not None
    assert (refusal.needed, refusal.available) == (gpus(4), gpus(3))


def test_room_is_not_given_twice_to_those_who_are_still_to_come() -> None:
    rows: list[Row] = [
        node("n0"),
        spot_task("s", 4, node="n0"),
        quota("r", 4, node="n0"),
        task("o", quota="r", request=gpus(3)),
    ]
    assert code(hop2(world(*rows, quota("q", 4), task("p", quota="q", request=gpus(1))))) is None
    assert code(hop2(world(*rows, quota("q", 4), task("p", quota="q", request=gpus(2))))) is Code.INSUFFICIENT_IDLE
    assert code(hop1(world(*rows, quota("q", 4, node="n0"), task("p", request=gpus(2))))) is Code.INSUFFICIENT_IDLE


def test_a_parcel_that_the_trial_has_placed_is_asked_about_as_if_it_came() -> None:
    pods = [task(f"p-{i}", quota="q", request=gpus(4), ports=(HostPort(80 + i),)) for i in range(2)]
    assert hop2(world(node("n0", pods_max=2), quota("q", node="n0"), *pods)) is None


def test_the_tasks_of_a_parcel_count_against_each_other() -> None:
    same = [task(f"p-{i}", quota="q", ports=(HostPort(80),)) for i in range(2)]
    assert code(hop2(world(node("n0"), quota("q"), *same))) is Code.PORT_CONFLICT
    three = [task(f"p-{i}", quota="q") for i in range(3)]
    assert code(hop2(world(node("n0", pods_max=2), quota("q"), *three))) is Code.TOO_MANY_PODS
    apart = [task(f"p-{i}", quota="q", labels={"app": "web"}, pod_affinity=APART) for i in range(2)]
    n0 = node("n0", labels={"host": "n0"})
    assert code(hop2(world(n0, quota("q"), *apart))) is Code.POD_ANTI_AFFINITY_NOT_MATCH


def test_the_one_task_of_a_parcel_that_does_not_fit_refuses_for_all() -> None:
    pods = [task("p-0", quota="q"), task("p-1", quota="q", selector=equals({"z": "1"}))]
    assert code(hop2(world(node("n0"), quota("q"), *pods))) is Code.NODE_SELECTOR_NOT_MATCH


def test_a_spot_task_takes_the_card_behind_its_unit() -> None:
    w = world(node("n0"), task("o", request=gpus(7), **FOREIGN), spot_task("p", 2))
    refusal = hop3(w)
    assert refusal is not None
    assert (refusal.needed["nvidia.com/gpu"], refusal.available["nvidia.com/gpu"]) == (2000, 1000)
    assert w.tasks[TaskId("uid-p")].shape.spot is Pool.EXCLUSIVE


def test_terminating_pods_still_hold_what_they_hold() -> None:
    going = task("o", request=gpus(8), state=TaskState.RELEASING, **FOREIGN)
    assert code(hop3(world(node("n0"), quota("q", node="n0"), task("p", quota="q"), going))) is Code.INSUFFICIENT_IDLE
