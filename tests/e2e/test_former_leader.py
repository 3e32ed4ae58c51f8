"""A leader that is stopped in the middle of its writes, and goes on when another has taken over."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sky_control_plane import Answer, ControlPlane, service_account
from sky_core.testing.objects import GPU, group, node, pod, queue, quota
from sky_scheduler.testing.running import Running
from sky_scheduler.testing.stage import Stage
from sky_shell.resources import QUOTAS
from sky_shell.testing.between import Between
from sky_shell.testing.loopback import Exchange
from sky_shell.writer import IN_FLIGHT

COUNT = IN_FLIGHT + 8
ALL = {GPU: "8"}
SCHEDULER = service_account("sky-system", "sky-scheduler").name
MERGE = "application/merge-patch+json"
Object = dict[str, Any]


def gang(name: str, count: int) -> list[Object]:
    members = [pod(f"{name}-{i}", ALL, group=name) for i in range(count)]
    return [group(name, count), *({**member, "status": {}} for member in members)]


def is_a_write(exchange: Exchange) -> bool:
    return exchange.method != "GET" and "/leases" not in exchange.path


def write(plane: ControlPlane, name: str, status: object) -> Answer:
    found = plane.request("GET", QUOTAS.path("", name)).body
    return plane.request("PUT", QUOTAS.path("", name, "status"), {**found, "status": status}, user=SCHEDULER)


async def test_f46_a_leader_that_was_stopped_is_refused_on_its_return(
    own_plane: ControlPlane, stage: Stage, run: Callable[..., Running], proxy: tuple[Between, Path]
) -> None:
    between, way = proxy
    await stage.apply(queue("default"), *(node(f"n{i}") for i in range(COUNT)))
    await stage.apply(*(quota(f"q{i}", ALL) for i in range(COUNT)))
    first = run("first", by=way)
    await stage.until_true(lambda: bool(first.said("Deciding")))
    second = run("second")
    between.holds = is_a_write
    await stage.apply(*gang("w", COUNT))
    await stage.until_true(lambda: len(between.held) >= IN_FLIGHT)
    first.signal(signal.SIGSTOP)
    held = set(between.held)

    await stage.delete("PodGroup", "w")
    for i in range(COUNT):
        await stage.delete("Pod", f"w-{i}")
    await stage.until_true(lambda: bool(second.said("Deciding")))
    epochs = [running.said("Deciding")[0]["epoch"] for running in (first, second)]
    assert epochs[0] < epochs[1]
    await stage.apply(*gang("x", 1))
    await stage.until_running("x-0")

    before = len(between.done)
    between.let_go()
    first.signal(signal.SIGCONT)
    await stage.until_true(lambda: first.status is not None)
    await stage.until_true(lambda: held <= {what for what, _ in between.done[before:]})
    answers = [(what, status) for what, status in between.done[before:] if not what.startswith("GET")]
    quotas = await stage.all("Quota")
    touched = {f"PUT {QUOTAS.path('', one['metadata']['name'], 'status')}" for one in quotas if one["status"]}
    assert len(touched) == 1
    assert {status for what, status in answers if what in held - touched} == {403}
    assert {status for _, status in answers} <= {403, 409}
    assert first.status == 1
    assert first.said("Stopped")[0]["errors"] == ["the Lease was lost"]

    untouched = next(one["metadata"]["name"] for one in quotas if not one["status"])
    for status in (None, {"epoch": epochs[0]}):
        assert "is over: the leader has" in write(own_plane, untouched, status).body["message"]
    (claimed,) = (one["metadata"]["name"] for one in quotas if one["status"])
    erased = own_plane.request("PATCH", QUOTAS.path("", claimed, "status"), {"status": None}, content_type=MERGE)
    assert erased.status == 422
    await stage.check()
    assert second.end() == 0
