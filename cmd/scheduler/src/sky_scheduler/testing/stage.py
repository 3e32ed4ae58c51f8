"""A cluster behind a transport, with schedulers that come and go.

It knows nothing of the server but its API, so the same play is shown in memory and on a real control plane.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from random import Random
from typing import Any, Final

import msgspec
import trio
from prometheus_client import CollectorRegistry

from sky_core import invariants
from sky_core.api.intake import Intake
from sky_core.api.kinds import KINDS
from sky_core.model import Instant
from sky_core.settings import Settings
from sky_scheduler.configuration import Configured
from sky_scheduler.desk import Desk
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.process import Process
from sky_scheduler.recorder import Recorder
from sky_scheduler.station import RunSync, Surroundings
from sky_shell.lease import Candidate
from sky_shell.resources import EVENTS, LEASES, SEEN, Resource
from sky_shell.transport import JSON, MERGE_PATCH, FencedError, Lines, Response, Transport, TransportError, fence

Object = dict[str, Any]
DEFINITIONS: Final = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")
RESOURCES: Final = {resource.kind: resource for resource in (*SEEN, LEASES, EVENTS, DEFINITIONS)}


async def at_once(function: Callable[[], Any]) -> Any:
    """Runs what would have a thread of its own: simulated time would go on while one is at work."""
    await trio.lowlevel.checkpoint()
    return function()


class Sent(msgspec.Struct, frozen=True):
    """A write that a scheduler sent, and its answer; None: there was none."""

    by: str
    method: str
    path: str
    body: Any
    status: int | None

    @property
    def what(self) -> str:
        """Method and path without the API group: `POST pods/w-0/binding`."""
        *_, tail = self.path.partition("/namespaces/")
        tail = tail.partition("/")[2] or self.path.rpartition("v1alpha1/")[2]
        return f"{self.method} {tail}"


class Wire:
    """One scheduler's way to the server. Leases aside, every write is noted, and one may be its last.

    Attributes:
        sent: What was written.
        in_line: Whether writes go one after the other.
        kill_at: The number of the write, from 1, that is the last; None: none is.
        kill_after: Whether the last one still reaches the server.
        killed: Set when nothing gets through any more.
        thawed: While it is not set everything is held back; then it is sent, if that is still permitted.
        interfere: Answers requests in the place of the server, given method, path and query; None lets it answer.
        whisper: Lines that the next watch of this path says first.
    """

    def __init__(self, transport: Transport, name: str, sent: list[Sent]) -> None:
        """Everything gets through."""
        self.name = name
        self.sent = sent
        self.in_line = False
        self.kill_at: int | None = None
        self.kill_after = False
        self.killed = trio.Event()
        self.thawed = trio.Event()
        self.thawed.set()
        self.interfere: Callable[[str, str, Mapping[str, str]], Response | None] = lambda *_: None
        self.whisper: dict[str, list[bytes]] = {}
        self._transport = transport
        self._line = trio.Lock()
        self._writes = 0

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] = {},
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float = 10.0,
    ) -> Response:
        """See `Transport.request`."""
        ask = partial(
            self._transport.request, method, path, query=query, body=body, content_type=content_type, timeout=timeout
        )
        told = method != "GET" and "/leases" not in path
        async with self._line if told and self.in_line else contextlib.nullcontext():
            if (answer := self.interfere(method, path, query)) is not None:
                return answer
            await self._pass()
            return await (self._write(ask, method, path, body) if told else ask())

    async def _write(
        self, ask: Callable[[], Awaitable[Response]], method: str, path: str, body: bytes | None
    ) -> Response:
        self._writes += 1
        if self._writes == self.kill_at and not self.kill_after:
            self.killed.set()
            self._live()
        status: int | None = None
        try:
            response = await ask()
            status = response.status
        finally:
            self.sent.append(Sent(self.name, method, path, msgspec.json.decode(body or b"null"), status))
        if self._writes == self.kill_at:
            self.killed.set()
        self._live()
        return response

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncIterator[Lines]:
        """See `Transport.stream`."""
        self._live()
        async with self._transport.stream(path, query=query) as lines:
            yield _Whispering(lines, self.whisper.pop(path, []))

    async def _pass(self) -> None:
        await self.thawed.wait()
        self._live()
        permit = fence.get()
        if permit is not None and not permit():
            raise FencedError

    def _live(self) -> None:
        if self.killed.is_set():
            raise TransportError("this process is dead")


class _Whispering:
    """A watch that first says something else."""

    def __init__(self, lines: Lines, first: list[bytes]) -> None:
        self.status = lines.status
        self._lines = lines
        self._first = first

    async def next_lines(self) -> list[bytes]:
        if self._first:
            first, self._first = self._first, []
            return first
        return await self._lines.next_lines()


class Player:
    """A scheduler on the stage.

    Attributes:
        wire: Its way to the server.
        process: Itself.
        metrics: What it tells Prometheus.
        ended: Set when it has ended, `error` then says by what, if by an error.
    """

    def __init__(self, wire: Wire, process: Process, registry: CollectorRegistry) -> None:
        """It has not started yet."""
        self.wire = wire
        self.process = process
        self.registry = registry
        self.ended = trio.Event()
        self.error: BaseException | None = None
        self._stop = trio.Event()
        self._scope = trio.CancelScope()

    @property
    def leads(self) -> bool:
        """Whether it does."""
        return self.process.election.leads

    def metric(self, name: str, **labels: str) -> float:
        """The value of a metric; 0 for one that is not there."""
        return self.registry.get_sample_value(name, labels) or 0.0

    async def run(self) -> None:
        """Play until stopped, killed or failed."""
        with self._scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._die_with_the_wire)
                try:
                    await self.process.run(self._stop)
                except Exception as error:  # noqa: BLE001  a process's edge: the test looks at it
                    self.error = error
                nursery.cancel_scope.cancel()
        self.ended.set()

    async def stop(self) -> None:
        """Let it end in good order."""
        self._stop.set()
        await self.ended.wait()

    async def kill(self) -> None:
        """Let it end as it stands, with nothing said to anybody."""
        self.wire.killed.set()
        await self.ended.wait()

    async def _die_with_the_wire(self) -> None:
        await self.wire.killed.wait()
        self._scope.cancel()


class Stage:
    """The cluster, and who plays in it.

    Attributes:
        sent: Every write of any scheduler but to Leases, in order.
        transport, nursery, now: What it was made of.
    """

    def __init__(
        self, transport: Transport, nursery: trio.Nursery, now: Callable[[], Instant], run_sync: RunSync
    ) -> None:
        """Nobody plays yet."""
        self.sent: list[Sent] = []
        self.now = now
        self.transport = transport
        self.nursery = nursery
        self._run_sync = run_sync

    def scheduler(
        self, name: str = "a", configured: Configured | None = None, recorder: Recorder | None = None, **wired: Any
    ) -> Player:
        """Start a scheduler; `wired` are attributes of its wire."""
        wire = Wire(self.transport, name, self.sent)
        for attribute, value in wired.items():
            setattr(wire, attribute, value)
        registry = CollectorRegistry()
        metrics = SchedulerMetrics(registry)
        desk = Desk(configured or Configured.by_default(), metrics, recorder)
        luck = Random(name)  # noqa: S311  the same in every run
        surroundings = Surroundings(now=self.now, random=luck, run_sync=self._run_sync)
        player = Player(wire, Process(wire, desk, Candidate(name), "kube-system", surroundings, metrics), registry)
        self.nursery.start_soon(player.run)
        return player

    async def apply(self, *objects: Object) -> None:
        """Create objects; a status is written too, where one is given."""
        for raw in objects:
            resource = RESOURCES[raw["kind"]]
            namespace = raw["metadata"].get("namespace", "default") if resource.namespaced else ""
            await self.ask("POST", resource.collection(namespace), {**_complete(raw), "status": {}})
            if raw.get("status"):
                path = resource.path(namespace, raw["metadata"]["name"], "status")
                await self.ask("PATCH", path, {"status": raw["status"]})

    async def insist(self, *objects: Object) -> None:
        """Create objects without a status however the server is: when this returns they are there."""
        for raw in objects:
            resource = RESOURCES[raw["kind"]]
            path = resource.collection(raw["metadata"].get("namespace", "default") if resource.namespaced else "")
            body = msgspec.json.encode({**_complete(raw), "status": {}})
            while not await self._is_made(path, body):  # noqa: ASYNC110  a cluster sets no event
                await trio.sleep(0.2)

    async def _is_made(self, path: str, body: bytes) -> bool:
        try:
            response = await self.transport.request("POST", path, body=body)
        except TransportError:
            return False
        return response.status in (201, 409)  # by this request, or by one that had no answer

    async def ask(self, method: str, path: str, body: object) -> Object:
        """What the server answers, which must be that all is well."""
        sent = None if body is None else msgspec.json.encode(body)
        kind = MERGE_PATCH if method == "PATCH" else JSON
        response = await self.transport.request(method, path, body=sent, content_type=kind)
        assert response.status in (200, 201), response.body  # noqa: S101
        said: Object = msgspec.json.decode(response.body)
        return said

    async def change(self, kind: str, name: str, patch: Object, part: str = "") -> Object:
        """Merge this into an object in `default` or of the cluster, or into a part of it."""
        return await self.ask("PATCH", self._path(kind, name, part), patch)

    async def delete(self, kind: str, name: str) -> None:
        """Delete an object."""
        await self.ask("DELETE", self._path(kind, name), {})

    async def find(self, kind: str, name: str) -> Object | None:
        """An object as it is; None if there is none."""
        response = await self.transport.request("GET", self._path(kind, name))
        found: Object = msgspec.json.decode(response.body)
        return found if response.status == 200 else None

    async def get(self, kind: str, name: str) -> Object:
        """An object that is there."""
        return await self.ask("GET", self._path(kind, name), None)

    async def all(self, kind: str) -> list[Object]:
        """All objects of a kind, by namespace and name."""
        found = await self.ask("GET", RESOURCES[kind].collection(), None)
        items: list[Object] = found["items"]
        return [{"status": {}, **item, "kind": kind} for item in items]

    async def nodes_of(self, *pods: str) -> list[str]:
        """On which nodes these pods are; "" for none."""
        return [(await self.get("Pod", pod))["spec"].get("nodeName", "") for pod in pods]

    async def until(self, condition: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
        """Let time go by until this holds."""
        with trio.fail_after(seconds):
            while not await condition():  # noqa: ASYNC110  a cluster sets no event
                await trio.sleep(0.1)

    async def until_true(self, question: Callable[[], bool], seconds: float = 60.0) -> None:
        """Let time go by until a question that needs no server is answered with yes."""

        async def answer() -> bool:
            return question()

        await self.until(answer, seconds)

    async def until_running(self, *pods: str, seconds: float = 60.0) -> None:
        """Let time go by until all of these run."""

        async def run() -> bool:
            found = [await self.find("Pod", pod) for pod in pods]
            return all(pod is not None and pod["status"].get("phase") == "Running" for pod in found)

        await self.until(run, seconds)

    async def check(self) -> None:
        """Whatever has happened: nothing is bound twice, and every ledger is right."""
        bound = [sent for sent in self.sent if sent.path.endswith("/binding") and sent.status == 201]
        assert len({sent.body["metadata"]["uid"] for sent in bound}) == len(bound)  # noqa: S101
        intake = Intake(Settings())
        for kind in KINDS:
            for raw in await self.all(kind):
                intake.put(raw)
        world = intake.world()
        assert invariants.check(world) == ()  # noqa: S101
        assert intake.invalid == ()  # noqa: S101
        for quota in world.quotas.values():
            assert quota.node is not None or not quota.claims, f"{quota.name} is claimed and on no node"  # noqa: S101
            for claim in quota.claims:
                node = world.tasks[claim.task].node if claim.task in world.tasks else None
                assert node in (None, quota.node), f"{claim.name} is on {node}, its quota on {quota.node}"  # noqa: S101
        for name, book in world.books.items():
            assert all(left >= 0 for left in book.idle.units.values()), f"{name} is overfilled"  # noqa: S101
            assert all(left >= 0 for left in book.quota_idle.units.values()), f"{name} promises too much"  # noqa: S101

    def _path(self, kind: str, name: str, part: str = "") -> str:
        resource = RESOURCES[kind]
        return resource.path("default" if resource.namespaced else "", name, part)


def _complete(raw: Object) -> Object:
    """With what a server wants of a pod's containers besides what a test says."""
    if raw["kind"] != "Pod":
        return raw
    containers = []
    for one in raw["spec"]["containers"]:
        requests = one.get("resources", {}).get("requests", {})
        limits = {name: amount for name, amount in requests.items() if "/" in name}
        containers.append({"image": "image", **one, "resources": {"requests": requests, "limits": limits}})
    return {**raw, "spec": {**raw["spec"], "containers": containers}}
