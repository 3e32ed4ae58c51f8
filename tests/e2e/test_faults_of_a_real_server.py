"""Real processes before a real API server that forgets, goes away, or is not the one that it was."""

import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import trio

from sky_control_plane import ControlPlane
from sky_core.testing.objects import GPU, group, node, pod, queue, quota
from sky_scheduler.testing.running import Running
from sky_scheduler.testing.stage import Stage
from sky_shell.resources import PODS, QUOTAS
from sky_shell.testing.between import Between, never
from sky_shell.testing.loopback import Exchange
from sky_shell.transport import TransportError

FINISH_AFTER = "sandbox.scheduling.infini-ai.com/finish-after"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/sky-system/leases"
SYSTEM = "/api/v1/namespaces/sky-system"
FLAGS = {"kube-apiserver": ("--watch-cache=false",), "etcd": ()}
ALL = {GPU: "8"}
HALF = {GPU: "4"}
Object = dict[str, Any]
Run = Callable[..., Running]


def bare(name: str, requests: dict[str, str], **more: Any) -> Object:
    """A pod without a status, which is the kubelet's to write."""
    return {**pod(name, requests, **more), "status": {}}


def machines(count: int) -> list[Object]:
    made = [[node(f"n{i}"), quota(f"q{i}", ALL)] for i in range(count)]
    return [queue("default"), *(one for pair in made for one in pair)]


@pytest.fixture(scope="module")
def forgetful(work_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Without a watch cache, so that what etcd has forgotten is forgotten."""

    def restart(*flags: str) -> None:
        work_plane.servers["kube-apiserver"].kill()
        work_plane.servers["kube-apiserver"].start(*flags)
        work_plane.wait_until_ready()

    restart(*FLAGS["kube-apiserver"])
    yield work_plane
    restart()


def is_a_watch(exchange: Exchange) -> bool:
    collections = (QUOTAS.collection(), PODS.collection())
    return "watch=true" in exchange.path and exchange.path.startswith(collections)


async def test_f1_f18_a_watch_that_breaks_within_a_line_and_is_too_old_then_loses_nothing(
    forgetful: ControlPlane, stage: Stage, run: Run, proxy: tuple[Between, Path]
) -> None:
    between, way = proxy
    running = run(by=way)
    await stage.apply(*machines(2), bare("a", HALF))
    await stage.until_running("a")
    between.breaks = between.holds = is_a_watch
    await stage.apply(bare("b", HALF))
    await stage.change("Quota", "q1", {"metadata": {"labels": {"an": "event"}}})
    await stage.until_true(lambda: sorted(between.held) == [f"GET {kind.collection()}" for kind in (PODS, QUOTAS)])
    between.breaks = never
    await stage.delete("Pod", "a")
    await stage.apply(bare("c", ALL))
    forgetful.compact()
    between.let_go()
    await stage.until_running("b", "c")
    for kind in ("Pod", "Quota"):
        assert running.metric("sky_watch_restarts_total", kind=kind, reason="broken") >= 1
        assert running.metric("sky_watch_restarts_total", kind=kind, reason="gone") >= 1
    await stage.check()
    assert running.end() == 0


class Load:
    """Gangs of two, one after the other, however the server is."""

    def __init__(self, stage: Stage) -> None:
        self.pods: list[str] = []
        self._stage = stage

    async def run(self) -> None:
        for number in count():
            name = f"w{number}"
            pods = [bare(f"{name}-{i}", HALF, group=name, notes={FINISH_AFTER: "1s"}) for i in range(2)]
            await self._stage.insist(group(name, 2), *pods)
            self.pods += [one["metadata"]["name"] for one in pods]
            await trio.sleep(0.8)


class Replica:
    """A scheduler that is started again when it ends, as a cluster does it."""

    def __init__(self, run: Run) -> None:
        self._run = run

    async def keep(self) -> None:
        for number in count():
            running = self._run(f"start-{number}")
            try:
                await trio.to_thread.run_sync(running.wait, abandon_on_cancel=True)
            finally:
                running.end(signal.SIGKILL)


async def until_done(stage: Stage, pods: Sequence[str]) -> None:
    """Let time go by until all of these have run to their end, or run; the server may be away."""

    async def ran() -> bool:
        try:
            found = {one["metadata"]["name"]: one["status"].get("phase") for one in await stage.all("Pod")}
        except (TransportError, AssertionError):
            return False
        return {found.get(name) for name in pods} <= {"Running", "Succeeded"}

    await stage.until(ran, 120)


async def test_f15_f18_servers_that_are_killed_under_load_lose_nothing_and_bind_nobody_twice(
    forgetful: ControlPlane, stage: Stage, run: Run
) -> None:
    plane, load, replica = forgetful, Load(stage), Replica(run)
    began = len(plane.audit())
    await stage.apply(*machines(4))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(load.run)
        nursery.start_soon(replica.keep)
        await stage.until_true(lambda: len(load.pods) >= 4)
        for name, flags in FLAGS.items():
            plane.servers[name].kill()
            plane.servers[name].start(*flags)
            await trio.to_thread.run_sync(plane.wait_until_ready)
            enough = len(load.pods) + 4
            await stage.until_true(lambda enough=enough: len(load.pods) >= enough)  # type: ignore[misc]
            await until_done(stage, load.pods[:enough])
        nursery.cancel_scope.cancel()
    bound = [event["requestURI"] for event in plane.audit()[began:] if is_a_binding(event)]
    assert len(set(bound)) == len(bound)
    await stage.check()


def is_a_binding(event: Object) -> bool:
    return (event.get("objectRef", {}).get("subresource"), event["responseStatus"]["code"]) == ("binding", 201)
