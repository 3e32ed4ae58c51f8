"""A scheduler dies at each write of a gang's start, and another takes over.

Never is a pod bound twice, never does a gang stay half started, and every ledger is right. F49, F50.
"""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sky_core.testing.objects import GPU, HCA, SPOT, group, node, pod, quota, topology
from sky_scheduler.testing.stage import Stage

Object = dict[str, Any]
WRITES = range(1, 18)
ALL = {GPU: "8"}


def plain_gang() -> list[Object]:
    """Four workers on two nodes, two to a quota."""
    machines = [node(f"n{i}") for i in range(3)] + [quota(f"q{i}", ALL) for i in range(3)]
    return [*machines, group("w", 4), *(pod(f"w-{i}", {GPU: "4"}, group="w") for i in range(4))]


def zoned_gang() -> list[Object]:
    """Three workers behind one switch, with machines behind another to which nobody may stray."""
    machines = [node(f"n{i}", {GPU: "8", HCA: "1", "pods": "110"}) for i in range(6)]
    switches = [topology(f"n{i}", "s1" if i < 3 else "s2") for i in range(6)]
    quotas = [quota(f"q{i}", {**ALL, HCA: "1"}) for i in range(6)]
    asks = {**ALL, HCA: "1"}
    grouped = group("w", 3, notes={"topology-policy": "required"})
    return [*machines, *switches, *quotas, grouped, *(pod(f"w-{i}", asks, group="w") for i in range(3))]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", WRITES)
@pytest.mark.parametrize("scene", [plain_gang, zoned_gang])
async def test_f50_a_crash_at_any_write_of_a_gangs_start_is_mended_by_the_next_leader(
    scene: Any, number: int, after: bool, stage: Stage, autojump_clock: MockClock
) -> None:
    objects = scene()
    pods = [raw["metadata"]["name"] for raw in objects if raw["kind"] == "Pod"]
    await stage.apply(*objects)
    first = stage.scheduler("a", kill_at=number, kill_after=after, in_line=True)
    with trio.move_on_after(10):
        await first.ended.wait()
    assert first.wire.killed.is_set() or not first.ended.is_set()
    first.wire.killed.set()
    half = [name for name in await stage.nodes_of(*pods) if name]
    second = stage.scheduler("b")
    await stage.until_running(*pods)
    await trio.sleep(30)
    await stage.check()
    assert set(half) <= set(await stage.nodes_of(*pods))
    zones = {name[1:] < "3" for name in await stage.nodes_of(*pods)}
    assert scene is plain_gang or len(zones) == 1
    held = [one for one in await stage.all("Quota") if one["status"].get("tasks")]
    assert sorted(task["name"] for one in held for task in one["status"]["tasks"]) == pods
    assert all(one["status"].get("nodeName", "") == "" for one in await stage.all("Quota") if one not in held)
    assert second.error is None


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, 10))
async def test_f50_a_crash_at_any_write_of_a_reclaim_evicts_no_second_set(
    number: int, after: bool, stage: Stage, autojump_clock: MockClock
) -> None:
    room = {"cpu": "64", "pods": "110", GPU: "8", SPOT: "8"}
    spot = [pod(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive"}, on="n0") for i in range(8)]
    await stage.apply(node("n0", room, notes={"spot-pools": '{"exclusive": 8}'}), *spot, quota("q0", {GPU: "2"}))
    await stage.until_running(*(f"s{i}" for i in range(8)))
    await stage.apply(pod("w", {GPU: "2"}))
    first = stage.scheduler("a", kill_at=number, kill_after=after, in_line=True)
    with trio.move_on_after(10):
        await first.ended.wait()
    first.wire.killed.set()
    stage.scheduler("b")
    await stage.until_running("w")
    await trio.sleep(30)
    await stage.check()
    assert len(await stage.all("Pod")) == 7
