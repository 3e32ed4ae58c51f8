"""Random days of a cluster: jobs come and go, nodes fail, the server errs, schedulers die. In the end all is well."""

from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any, Final

import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from sky_core.testing.objects import GPU, HCA, SPOT, group, node, pod, queue, quota, topology
from sky_sandbox.faults import Fault
from sky_sandbox.hollow.orders import FAIL_AFTER, FINISH_AFTER, START_AFTER, STOP_AFTER
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.state import load, new_server
from sky_sandbox.transport import SandboxTransport
from sky_scheduler.testing.stage import Player, Stage, at_once
from tests.simulation.conftest import START, definitions

Object = dict[str, Any]
Act = tuple[Any, ...]

ROOM: Final = {"cpu": "64", "pods": "110", GPU: "8", HCA: "8", SPOT: "8"}
NODES: Final = range(4)
WRITTEN: Final = ("pods/binding", "quotas.scheduling.infini-ai.com/status", "pods/eviction", "events.events.k8s.io")
READ: Final = ("pods", "quotas.scheduling.infini-ai.com", "nodes")

jobs = st.tuples(
    st.just("job"),
    st.integers(1, 4),
    st.sampled_from([{GPU: "1"}, {GPU: "4"}, {GPU: "8"}, {GPU: "8", HCA: "1"}]),
    st.sampled_from([{}, {"topology-policy": "required"}, {"reservation-ttl": "60s"}]),
    st.sampled_from([{}, {FINISH_AFTER: "40s"}, {FAIL_AFTER: "20s"}, {START_AFTER: "15s", STOP_AFTER: "20s"}]),
)
write_faults = st.builds(
    Fault,
    resource=st.sampled_from(WRITTEN),
    skip=st.integers(0, 3),
    times=st.integers(1, 4),
    status=st.sampled_from([0, 409, 429, 500, 504]),
    done=st.booleans(),
    lost=st.booleans(),
    linger=st.sampled_from([0.0, 3.0]),
)
read_faults = st.builds(
    Fault,
    resource=st.sampled_from(READ),
    verbs=st.sampled_from([("watch",), ("list",)]),
    times=st.integers(1, 4),
    status=st.sampled_from([0, 429, 500]),
    silent=st.booleans(),
    broken=st.booleans(),
    behind=st.sampled_from([0.0, 20.0]),
)
acts = st.one_of(
    jobs,
    st.tuples(st.just("spot"), st.integers(1, 8)),
    st.tuples(st.sampled_from(["delete", "remake"]), st.integers(0, 30)),
    st.tuples(st.sampled_from(["cordon", "uncordon", "lose", "break", "silence", "compact"]), st.sampled_from(NODES)),
    st.tuples(st.just("fault"), write_faults | read_faults),
    st.tuples(st.sampled_from(["kill", "stop"])),
)
days = st.lists(st.tuples(st.sampled_from([0.0, 0.4, 3.0, 30.0]), acts), min_size=1, max_size=12)


@settings(max_examples=settings().max_examples // 10)
@given(days)
def test_whatever_happens_all_is_in_order_and_nobody_waits_for_nothing(day: list[tuple[float, Act]]) -> None:
    trio.run(partial(live, day), clock=MockClock(autojump_threshold=0))


async def live(day: list[tuple[float, Act]]) -> None:
    server = new_server(START)
    load(server, definitions(), START)
    async with open_sandbox(START, server=server) as sandbox, trio.open_nursery() as nursery:
        stage = Stage(SandboxTransport(sandbox), nursery, sandbox.clock.now, at_once)
        await stage.apply(queue("default"), *machines())
        cluster = Cluster(stage, sandbox)
        for pause, act in day:
            await trio.sleep(pause)
            await cluster.play(act)
        sandbox.faults.clear()
        await trio.sleep(400)
        await stage.check()
        await cluster.check_rest()
        nursery.cancel_scope.cancel()


def machines() -> list[Object]:
    nodes = [node(f"n{i}", ROOM, notes={"spot-pools": '{"exclusive": 8}'}) for i in NODES]
    switches = [topology(f"n{i}", f"s{i // 2}") for i in NODES]
    whole = [quota(f"q{i}", {GPU: "8", HCA: "1"}) for i in NODES[1:]]
    return [*nodes, *switches, *whole, *(quota(f"single{i}", {GPU: "4"}) for i in range(2))]


class Cluster:
    """What happens to the cluster, and what must have come of it."""

    def __init__(self, stage: Stage, sandbox: Sandbox) -> None:
        self.stage = stage
        self.sandbox = sandbox
        self.players: list[Player] = []
        self.pods: dict[str, Object] = {}
        self.names: Iterator[int] = count()
        self.start()

    def start(self) -> None:
        self.players.append(self.stage.scheduler(f"s{len(self.players)}"))

    async def play(self, act: Act) -> None:
        await getattr(self, f"do_{act[0]}")(*act[1:])

    async def do_job(self, size: int, asks: dict[str, str], policy: dict[str, str], orders: dict[str, str]) -> None:
        name = f"w{next(self.names)}"
        workers = [pod(f"{name}-{i}", asks, group=name, notes=orders) for i in range(size)]
        await self.stage.apply(group(name, size, notes=policy))
        await self.make(*workers)

    async def do_spot(self, size: int) -> None:
        name = f"spot{next(self.names)}"
        notes = {"spot-pool": "exclusive", STOP_AFTER: "5s"}
        await self.make(*(pod(f"{name}-{i}", {SPOT: "1"}, notes=notes) for i in range(size)))

    async def make(self, *pods: Object) -> None:
        self.pods.update({raw["metadata"]["name"]: raw for raw in pods})
        await self.stage.apply(*pods)

    async def pick(self, number: int) -> str | None:
        names = [name for name in self.pods if await self.stage.find("Pod", name)]
        return names[number % len(names)] if names else None

    async def do_delete(self, number: int) -> None:
        if name := await self.pick(number):
            await self.stage.delete("Pod", name)

    async def do_remake(self, number: int) -> None:
        if name := await self.pick(number):
            await self.stage.delete("Pod", name)
            await self.stage.until(partial(self.is_gone, name), seconds=3600)
            await self.stage.apply(self.pods[name])

    async def is_gone(self, name: str) -> bool:
        return await self.stage.find("Pod", name) is None

    async def do_cordon(self, number: int) -> None:
        await self.mark(number, {"spec": {"unschedulable": True}})

    async def do_uncordon(self, number: int) -> None:
        await self.mark(number, {"spec": {"unschedulable": None}})

    async def mark(self, number: int, patch: Object) -> None:
        if await self.stage.find("Node", f"n{number}"):
            await self.stage.change("Node", f"n{number}", patch)

    async def do_lose(self, number: int) -> None:
        if await self.stage.find("Node", f"n{number}"):
            await self.stage.delete("Node", f"n{number}")

    async def do_break(self, _: int) -> None:
        self.sandbox.break_watches()

    async def do_silence(self, _: int) -> None:
        self.sandbox.silence_watches()

    async def do_compact(self, _: int) -> None:
        self.sandbox.server.storage.compact()

    async def do_fault(self, fault: Fault) -> None:
        self.sandbox.faults.add(fault)

    async def do_kill(self) -> None:
        await self.players[-1].kill()
        self.start()

    async def do_stop(self) -> None:
        await self.players[-1].stop()
        self.start()

    async def check_rest(self) -> None:
        """Nobody decides any more, and nobody who looks afresh would either."""
        done = len(self.stage.sent)
        await self.players[-1].stop()
        self.start()
        await trio.sleep(60)
        told = ("/events", "/podgroups/", "/pods/")
        assert [sent for sent in self.stage.sent[done:] if not any(one in sent.path for one in told)] == []
        assert [sent for sent in self.stage.sent[done:] if sent.path.endswith(("/binding", "/eviction"))] == []
        assert [one.error for one in self.players] == [None] * len(self.players)
