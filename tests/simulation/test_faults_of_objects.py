"""F34 to F45 of the fault catalogue: nodes, quotas and pods that change under a scheduler's hands."""

from typing import Any

import trio
from trio.testing import MockClock

from sky_core.testing.objects import GPU, SPOT, group, node, pod, quota
from sky_sandbox.faults import Fault
from sky_sandbox.hollow.orders import FAIL_AFTER, STOP_AFTER
from sky_sandbox.sandbox import Sandbox
from sky_scheduler.testing.stage import Stage

Object = dict[str, Any]
ALL = {GPU: "8"}
STATUS = "quotas.scheduling.infini-ai.com/status"
BINDING = "pods/binding"
ROOM = {"cpu": "64", "pods": "110", GPU: "8", SPOT: "8"}
POOLS = {"spot-pools": '{"exclusive": 8}'}


def machines(count: int = 2) -> list[Object]:
    return [node(f"n{i}") for i in range(count)] + [quota(f"q{i}", ALL) for i in range(count)]


def spot(count: int = 8) -> list[Object]:
    return [pod(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive"}) for i in range(count)]


async def claimants(stage: Stage, name: str) -> list[str]:
    return [task["name"] for task in (await stage.get("Quota", name)).get("status", {}).get("tasks", ())]


async def told(stage: Stage, reason: str) -> int:
    events = [event for event in await stage.all("Event") if event["reason"] == reason]
    return sum(event.get("series", {}).get("count", 1) for event in events)


async def test_f34_a_quota_that_is_made_anew_is_another_one(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(1), pod("w", ALL))
    sandbox.faults.add(Fault(resource=STATUS, wait=0.5))
    player = stage.scheduler()
    await trio.sleep(0.3)
    await stage.delete("Quota", "q0")
    await stage.apply(quota("q0", ALL))
    await stage.until_running("w")
    assert player.metric("sky_decisions_total", kind="WriteQuota", result="replaced") == 1
    await stage.check()


async def test_f35_nobody_is_bound_to_a_node_that_is_gone(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(2), group("w", 2), *(pod(f"w-{i}", ALL, group="w") for i in range(2)))
    sandbox.faults.add(Fault(resource=STATUS, name="q0", wait=0.5))
    stage.scheduler()
    await trio.sleep(0.3)
    await stage.delete("Node", "n0")
    await trio.sleep(10)
    assert await stage.nodes_of("w-0", "w-1") == ["", ""]
    await stage.apply(node("n2"))
    await stage.until_running("w-0", "w-1")
    assert sorted(await stage.nodes_of("w-0", "w-1")) == ["n1", "n2"]
    await trio.sleep(5)
    await stage.check()


async def test_f35_a_cordoned_node_is_left_for_another(stage: Stage, autojump_clock: MockClock) -> None:
    await stage.apply(*machines(2))
    stage.scheduler()
    await stage.change("Node", "n0", {"spec": {"unschedulable": True}})
    await stage.apply(pod("w", ALL))
    await stage.until_running("w")
    assert await stage.nodes_of("w") == ["n1"]


async def test_f36_a_node_that_flaps_moves_nobody_and_makes_no_storm(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL), pod("more", ALL))
    await trio.sleep(10)
    before = len(stage.sent)
    held = {"sandbox.scheduling.infini-ai.com/hold": "true"}
    await stage.change("Node", "n0", {"metadata": {"labels": held}})
    for i in range(60):
        ready = {"type": "Ready", "status": "True" if i % 2 else "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        await stage.change("Node", "n0", {"status": {"conditions": [ready]}}, "status")
        await trio.sleep(5)
    assert len({name for name in await stage.nodes_of("w", "more") if name}) == 1
    assert not [sent for sent in stage.sent[before:] if "quotas" in sent.path or "binding" in sent.path]
    assert len(stage.sent) - before < 70
    assert await told(stage, "FailedScheduling") < 70


async def test_f37_a_card_that_dies_takes_nobody_with_it(stage: Stage, autojump_clock: MockClock) -> None:
    player = stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL))
    await stage.until_running("w")
    await stage.change("Node", "n0", {"status": {"allocatable": {GPU: "7"}}}, "status")
    await stage.apply(quota("q1", {GPU: "1"}), pod("more", {GPU: "1"}))
    await trio.sleep(10)
    assert await stage.nodes_of("w", "more") == ["n0", ""]
    assert player.error is None
    assert not any(player.metric("sky_invariant_violations_total", invariant=f"I{i}") for i in range(1, 6))


async def test_f38_who_terminates_holds_its_place_until_it_is_gone(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL, notes={STOP_AFTER: "30m"}))
    await stage.until_running("w")
    await stage.delete("Pod", "w")
    await stage.apply(pod("next", ALL))
    await trio.sleep(1500)
    assert await stage.nodes_of("next") == [""]
    assert await claimants(stage, "q0") == ["w"]
    await stage.until_running("next", seconds=600)
    await stage.check()


async def test_f39_a_place_that_somebody_else_took_is_given_up(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(2), pod("w", ALL))
    sandbox.faults.add(Fault(resource=BINDING, wait=0.5))
    stage.scheduler()
    await trio.sleep(0.3)
    await stage.apply(pod("foreign", ALL, scheduler="other", on="n0"))
    await trio.sleep(5)
    failed = await stage.get("Pod", "w")
    assert (failed["status"]["phase"], failed["status"]["reason"]) == ("Failed", f"OutOf{GPU}")
    assert await claimants(stage, "q0") == []
    await stage.delete("Pod", "w")
    await stage.apply(pod("w", ALL))
    await stage.until_running("w")
    assert await stage.nodes_of("w") == ["n1"]
    await stage.check()


async def test_f40_a_pod_that_ends_before_it_is_bound_holds_nothing(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    await stage.apply(*machines(1), pod("w", ALL))
    sandbox.faults.add(Fault(resource=BINDING, wait=0.5))
    stage.scheduler()
    await trio.sleep(0.3)
    await stage.change("Pod", "w", {"status": {"phase": "Failed"}}, "status")
    await stage.apply(pod("next", ALL))
    await stage.until_running("next")
    await stage.check()


async def test_f41_a_member_that_is_refused_for_ever_holds_no_place_against_others(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    sandbox.faults.add(Fault(resource=BINDING, name="w-2", status=403, times=None))
    player = stage.scheduler()
    await stage.apply(*machines(3), group("w", 3), *(pod(f"w-{i}", ALL, group="w") for i in range(3)))

    async def told_why() -> bool:
        return "reasons" in (await stage.get("PodGroup", "w")).get("status", {})

    await trio.sleep(3.5)
    await stage.until(told_why, seconds=5)
    assert [bool(name) for name in await stage.nodes_of("w-0", "w-1", "w-2")] == [True, True, False]
    assert player.metric("sky_decisions_total", kind="BindTask", result="forbidden") == 3
    status = (await stage.get("PodGroup", "w"))["status"]
    assert (status["phase"], [reason["code"] for reason in status["reasons"]]) == ("Unknown", ["BindRefused"])
    await stage.apply(pod("other", ALL))
    await stage.until_running("other", seconds=30)
    sandbox.faults.clear()
    await stage.delete("Pod", "other")
    await stage.until_running("w-2")
    await stage.check()


async def test_f41_a_member_that_is_refused_twice_completes_its_gang(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    sandbox.faults.add(Fault(resource=BINDING, name="w-2", status=403, times=2))
    stage.scheduler()
    await stage.apply(*machines(3), group("w", 3), *(pod(f"w-{i}", ALL, group="w") for i in range(3)))
    await stage.until_running("w-0", "w-1", "w-2", seconds=5)
    await stage.check()


async def test_f42_a_member_that_is_made_again_returns_to_its_place(stage: Stage, autojump_clock: MockClock) -> None:
    stage.scheduler()
    kept = {"reservation-ttl": "10m"}

    def member(name: str, index: int) -> Object:
        labels = {"batch.kubernetes.io/job-completion-index": str(index)}
        return pod(name, ALL, group="w", metadata={"labels": labels})

    await stage.apply(*machines(3), group("w", 3, notes=kept), *(member(f"w-{i}-x", i) for i in range(3)))
    await stage.until_running("w-0-x", "w-1-x", "w-2-x")
    (place,) = await stage.nodes_of("w-1-x")
    await stage.delete("Pod", "w-1-x")
    await stage.apply(pod("thief", ALL))
    await trio.sleep(30)
    await stage.apply(member("w-1-y", 1))
    await stage.until_running("w-1-y")
    assert await stage.nodes_of("w-1-y", "thief") == [place, ""]
    await stage.check()


async def test_f43_a_gated_pod_is_left_alone_and_tried_once_its_gates_are_gone(
    stage: Stage, autojump_clock: MockClock
) -> None:
    stage.scheduler()
    await stage.apply(*machines(1), pod("w", ALL, schedulingGates=[{"name": "example.com/wait"}]))
    await trio.sleep(30)
    conditions = (await stage.get("Pod", "w"))["status"]["conditions"]
    assert [one["reason"] for one in conditions if one["type"] == "PodScheduled"] == ["SchedulingGated"]
    assert not [sent for sent in stage.sent if sent.what == "PATCH pods/w/status"]
    await stage.change("Pod", "w", {"spec": {"schedulingGates": None}})
    await stage.until_running("w", seconds=3)


async def test_f44_a_flood_of_pods_is_told_in_good_order(stage: Stage, autojump_clock: MockClock) -> None:
    count, began = 400, trio.current_time()
    player = stage.scheduler()
    await stage.apply(*machines(1), *(pod(f"p{i}", {GPU: "1"}) for i in range(count)))
    await trio.sleep(5)
    for i in range(count):
        await stage.delete("Pod", f"p{i}")
    await trio.sleep(5)
    spent = trio.current_time() - began
    assert len([sent for sent in stage.sent if sent.what.startswith(("PATCH", "POST events"))]) <= 50 * spent + 1
    assert player.error is None
    await stage.apply(pod("w", ALL))
    await stage.until_running("w")
    await stage.check()


async def test_f45_a_budget_that_refuses_is_asked_again_for_the_same_pods(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    stage.scheduler()
    await stage.apply(node("n0", ROOM, notes=POOLS), *spot())
    await stage.until_running(*(f"s{i}" for i in range(8)))
    sandbox.faults.add(Fault(resource="pods/eviction", status=429, retry_after=3, times=5))
    await stage.apply(quota("q0", {GPU: "2"}), pod("w", {GPU: "2"}))
    await stage.until_running("w")
    asked = {sent.what for sent in stage.sent if sent.path.endswith("/eviction")}
    assert len(asked) == 2
    assert len(await stage.all("Pod")) == 7
    await stage.check()


async def test_f45_victims_that_take_their_time_are_waited_for_and_then_given_up(
    stage: Stage, autojump_clock: MockClock
) -> None:
    stage.scheduler()
    stubborn = [
        pod(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive", STOP_AFTER: "1h"}, terminationGracePeriodSeconds=30)
        for i in range(8)
    ]
    await stage.apply(node("n0", ROOM, notes=POOLS), *stubborn)
    await stage.until_running(*(f"s{i}" for i in range(8)))
    await stage.apply(quota("q0", {GPU: "1"}), pod("w", {GPU: "1"}))
    await trio.sleep(60)
    assert await claimants(stage, "q0") == ["w"]
    await trio.sleep(60)
    written = [sent.body["status"] for sent in stage.sent if sent.what == "PUT quotas/q0/status"]
    assert not all(status.get("tasks") for status in written)
    assert len([sent for sent in stage.sent if sent.path.endswith("/eviction")]) == 1


async def test_f45_a_victim_that_ends_by_itself_is_one_less_to_evict(
    stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    stage.scheduler()
    ending = [pod(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive", FAIL_AFTER: "20s"}) for i in range(8)]
    await stage.apply(node("n0", ROOM, notes=POOLS), *ending)
    await stage.until_running(*(f"s{i}" for i in range(8)))
    sandbox.faults.add(Fault(resource="pods/eviction", status=429, times=None))
    await stage.apply(quota("q0", {GPU: "1"}), pod("w", {GPU: "1"}))
    await stage.until_running("w", seconds=60)
    sandbox.faults.clear()
    await trio.sleep(30)
    assert all(one["status"]["phase"] == "Failed" for one in await stage.all("Pod") if one["metadata"]["name"] != "w")
    assert len(await stage.all("Pod")) == 9
