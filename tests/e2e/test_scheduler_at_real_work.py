"""What the scheduler does seldom, as a process on a real API server: look things up, evict, count, repeat itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sky_core.testing.objects import GPU, SPOT, group, job_queue, node, pod, queue, quota
from sky_scheduler.testing.running import Running
from sky_scheduler.testing.stage import Stage
from sky_shell.resources import PODS, QUOTAS
from sky_shell.testing.between import Between
from sky_shell.testing.loopback import Exchange

ALL = {GPU: "8"}
Object = dict[str, Any]
Run = Callable[..., Running]


def bare(name: str, requests: dict[str, str], **more: Any) -> Object:
    """A pod without a status, which is the kubelet's to write."""
    return {**pod(name, requests, **more), "status": {}}


class Once:
    """Of each write of a quota and each Binding, the first time that it is sent."""

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def __call__(self, exchange: Exchange) -> bool:
        path = exchange.path.partition("?")[0]
        is_new = (
            exchange.method != "GET" and ("/quotas/" in path or path.endswith("/binding")) and path not in self._seen
        )
        self._seen |= {path} if is_new else set()
        return is_new


async def test_f11_f12_answers_that_are_lost_are_looked_up_and_nothing_is_done_twice(
    stage: Stage, run: Run, proxy: tuple[Between, Path]
) -> None:
    between, way = proxy
    between.loses = Once()
    running = run(by=way)
    await stage.apply(queue("default"), node("n0"), quota("q0", ALL), bare("w", ALL))
    await stage.until_running("w")
    looked = {f"GET {PODS.path('default', 'w')}", f"GET {QUOTAS.path('', 'q0')}"}
    await stage.until_true(lambda: looked <= {what for what, _ in between.done})
    bound, written = PODS.path("default", "w", "binding"), QUOTAS.path("", "q0", "status")
    await stage.until_true(lambda: running.metric("sky_decisions_total", kind="BindTask", result="ok") == 1)
    assert [status for what, status in between.done if what == f"POST {bound}"] == [201]
    assert [status for what, status in between.done if what == f"PUT {written}"] == [200]
    await stage.check()


async def test_spot_pods_are_evicted_for_who_was_promised_the_cards(stage: Stage, run: Run) -> None:
    run()
    spot = [bare(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive"}) for i in range(8)]
    room = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8", SPOT: "8"}
    await stage.apply(queue("default"), node("n0", room, notes={"spot-pools": '{"exclusive": 8}'}), *spot)
    await stage.until_running(*(f"s{i}" for i in range(8)))
    await stage.apply(quota("q0", {GPU: "2"}), bare("w", {GPU: "2"}))
    await stage.until_running("w")
    assert len([one for one in await stage.all("Pod") if one["metadata"]["namespace"] == "default"]) == 7
    await stage.check()


async def test_who_waits_is_told_once_and_what_happens_again_is_counted(stage: Stage, run: Run) -> None:
    run()
    await stage.apply(queue("default"), job_queue("jq", maxRunningJobs=1), node("n0"), quota("q0", ALL))
    await stage.apply(group("a"), bare("a-0", ALL, group="a"))
    await stage.until_running("a-0")
    await stage.apply(group("b"), bare("b-0", ALL, group="b"))

    async def is_told() -> bool:
        found = (await stage.get("Pod", "b-0"))["status"].get("conditions", [])
        counted = (await stage.get("JobQueue", "jq")).get("status", {})
        waits = [one["message"].partition(":")[0] for one in found if one["type"] == "PodScheduled"]
        return waits == ["BlockedByJobQueue"] and (counted.get("pending"), counted.get("running")) == (1, 1)

    await stage.until(is_told)
    for name in ("a", "b"):
        await stage.delete("Pod", f"{name}-0")
        await stage.delete("PodGroup", name)

    async def is_empty() -> bool:
        phase: str = (await stage.get("Quota", "q0"))["status"]["phase"]
        return phase == "QuotaEmpty"

    await stage.until(is_empty)
    await stage.apply(group("c"), bare("c-0", ALL, group="c"))
    await stage.until_running("c-0")

    async def is_counted() -> bool:
        told = [one for one in await stage.all("Event") if one["reason"] == "QuotaBound"]
        return [one["series"]["count"] for one in told if "series" in one] == [2]

    await stage.until(is_counted)
