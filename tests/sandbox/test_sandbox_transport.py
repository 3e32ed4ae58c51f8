"""The way to the sandbox in this process: answers, watches, every fault, and the clock; all in simulated time."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from sky_core.api.instants import duration
from sky_sandbox.faults import Fault
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.testing import PODS, START, binding, named, pod
from sky_sandbox.transport import SandboxTransport
from sky_shell.transport import Transport, TransportError

MAPS = "/api/v1/namespaces/default/configmaps"


class Client:
    """A transport, and how a test talks through it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.transport: Transport = SandboxTransport(sandbox)

    async def post(self, path: str, body: object, **query: str) -> int:
        answer = await self.transport.request("POST", path, body=msgspec.json.encode(body), query=query)
        return answer.status

    async def get(self, path: str, **query: str) -> Any:
        answer = await self.transport.request("GET", path, query=query)
        return msgspec.json.decode(answer.body) if answer.status == 200 else answer.status

    async def make(self, name: str, **query: str) -> int:
        return await self.post(MAPS, named("v1", "ConfigMap", name), **query)

    async def names(self, **query: str) -> list[str]:
        return [item["metadata"]["name"] for item in (await self.get(MAPS, **query))["items"]]


@pytest.fixture
async def client(autojump_clock: MockClock) -> AsyncIterator[Client]:
    async with open_sandbox(START) as sandbox:
        yield Client(sandbox)


async def test_a_request_is_answered_whatever_its_status(client: Client, autojump_clock: MockClock) -> None:
    assert await client.make("a") == 201
    assert await client.make("a") == 409
    assert await client.get(f"{MAPS}/absent") == 404
    with pytest.raises(TransportError, match="is a watch"):
        await client.transport.request("GET", MAPS, query={"watch": "true"})


async def test_a_watch_tells_and_ends(client: Client, autojump_clock: MockClock) -> None:
    version = (await client.get(MAPS))["metadata"]["resourceVersion"]
    query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "90", "allowWatchBookmarks": "true"}
    async with client.transport.stream(MAPS, query=query) as lines, trio.open_nursery() as nursery:
        assert lines.status == 200
        nursery.start_soon(client.make, "a")
        (line,) = await lines.next_lines()
        assert msgspec.json.decode(line)["object"]["metadata"]["name"] == "a"
        before = trio.current_time()
        (bookmark,) = await lines.next_lines()
        assert msgspec.json.decode(bookmark)["type"] == "BOOKMARK"
        assert trio.current_time() - before == pytest.approx(60)
        await lines.next_lines()
        assert await lines.next_lines() == []
        assert await lines.next_lines() == []
    assert all(watch.ended for watch in client.sandbox.server.watches)


async def test_a_watch_that_is_refused_has_the_refusal_as_its_lines(client: Client, autojump_clock: MockClock) -> None:
    path = "/apis/scheduling.infini-ai.com/v1alpha1/quotas"
    async with client.transport.stream(path, query={"watch": "true"}) as lines:
        assert lines.status == 404
        assert await lines.next_lines() == [b"404 page not found"]
        assert await lines.next_lines() == []


async def test_fault_an_answer_takes_its_time(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(wait=5))
    before = trio.current_time()
    assert await client.make("a") == 201
    assert trio.current_time() - before == pytest.approx(5)
    assert await client.make("b") == 201
    assert trio.current_time() - before == pytest.approx(5)


async def test_fault_a_client_gives_up_before_the_deed(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(verbs=("create",), wait=11))
    with pytest.raises(TransportError, match="within 10 s"):
        await client.make("a")
    await trio.sleep(60)
    assert await client.names() == []


async def test_fault_a_client_gives_up_and_the_deed_is_done_later(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(verbs=("create",), wait=11, done=True))
    with pytest.raises(TransportError):
        await client.make("a")
    assert await client.names() == []
    await trio.sleep(2)
    assert await client.names() == ["a"]


@pytest.mark.parametrize(
    ("fault", "landed", "later"),
    [
        (Fault(wait=5), [], []),
        (Fault(wait=5, done=True), [], ["a"]),
        (Fault(linger=5), ["a"], ["a"]),
    ],
)
async def test_fault_the_servers_own_timeout(
    client: Client, autojump_clock: MockClock, fault: Fault, landed: list[str], later: list[str]
) -> None:
    client.sandbox.faults.add(fault)
    before = trio.current_time()
    assert await client.make("a", timeout="3s") == 504
    assert trio.current_time() - before == pytest.approx(3)
    assert await client.names() == landed
    await trio.sleep(10)
    assert await client.names() == later


async def test_fault_too_many_requests(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(status=429, retry_after=7))
    client.sandbox.faults.add(Fault(status=429))
    body = msgspec.json.encode(named("v1", "ConfigMap", "a"))
    told = await client.transport.request("POST", MAPS, body=body)
    assert (told.status, told.headers["retry-after"]) == (429, "7")
    told = await client.transport.request("POST", MAPS, body=body)
    assert (told.status, "retry-after" in told.headers) == (429, False)
    assert await client.names() == []


@pytest.mark.parametrize(("done", "names"), [(False, []), (True, ["a"])])
async def test_fault_an_error_before_or_after_the_write(
    client: Client, autojump_clock: MockClock, done: bool, names: list[str]
) -> None:
    client.sandbox.faults.add(Fault(status=500, done=done))
    assert await client.make("a") == 500
    assert await client.names() == names


@pytest.mark.parametrize(("done", "names"), [(False, []), (True, ["a"])])
async def test_fault_a_connection_lost_before_or_after_the_write(
    client: Client, autojump_clock: MockClock, done: bool, names: list[str]
) -> None:
    client.sandbox.faults.add(Fault(lost=True, done=done))
    with pytest.raises(TransportError, match="lost"):
        await client.make("a")
    assert await client.names() == names


async def test_fault_a_bound_pod_whose_binding_seems_to_fail(client: Client, autojump_clock: MockClock) -> None:
    await client.post(PODS, pod("p"))
    client.sandbox.faults.add(Fault(resource="pods/binding", name="p", status=504, done=True))
    assert await client.post(f"{PODS}/p/binding", binding("p", "n")) == 504
    assert (await client.get(f"{PODS}/p"))["spec"]["nodeName"] == "n"


async def test_fault_a_stale_list(client: Client, autojump_clock: MockClock) -> None:
    await client.make("a")
    await trio.sleep(60)
    await client.make("b")
    client.sandbox.faults.add(Fault(verbs=("list",), behind=30, times=None))
    assert await client.names(resourceVersion="0") == ["a"]
    assert await client.names() == ["a", "b"]
    version = str(client.sandbox.server.storage.version)
    assert await client.get(MAPS, resourceVersion=version) == 504
    client.sandbox.faults.clear()
    assert await client.names(resourceVersion="0") == ["a", "b"]


async def test_fault_a_watch_that_says_nothing(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(verbs=("watch",), silent=True))
    query = {"watch": "true", "timeoutSeconds": "60", "allowWatchBookmarks": "true"}
    async with client.transport.stream(MAPS, query=query) as lines:
        await client.make("a")
        with trio.move_on_after(3600) as scope:
            await lines.next_lines()
        assert scope.cancelled_caught


async def test_fault_watches_fall_silent_or_break(client: Client, autojump_clock: MockClock) -> None:
    query = {"watch": "true"}
    async with (
        client.transport.stream(MAPS, query=query) as maps,
        client.transport.stream(PODS, query=query) as pods,
        trio.open_nursery() as nursery,
    ):
        await client.make("a")
        assert len(await maps.next_lines()) == 1
        client.sandbox.silence_watches("configmaps")

        async def snap() -> None:
            await trio.sleep(1)
            client.sandbox.break_watches("pods")

        nursery.start_soon(snap)
        with pytest.raises(TransportError, match="broke"):
            await pods.next_lines()
        await client.make("b")
        with trio.move_on_after(60) as scope:
            await maps.next_lines()
        assert scope.cancelled_caught


async def test_fault_a_watch_that_breaks_at_once(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(verbs=("watch",), broken=True))
    async with client.transport.stream(MAPS, query={"watch": "true"}) as lines:
        with pytest.raises(TransportError):
            await lines.next_lines()


async def test_fault_the_server_is_away_for_a_while(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(lost=True, times=None))
    for _ in range(3):
        with pytest.raises(TransportError):
            await client.names()
    client.sandbox.faults.clear()
    assert await client.names() == []


async def test_a_fault_is_met_by_whom_it_is_meant_for(client: Client, autojump_clock: MockClock) -> None:
    client.sandbox.faults.add(Fault(verbs=("create",), resource="configmaps", namespace="default", skip=1, status=500))
    assert await client.post(PODS, pod("p")) == 201
    assert await client.make("a") == 201
    assert await client.names() == ["a"]
    assert await client.make("b") == 500
    assert await client.make("b") == 201
    assert client.sandbox.faults.waiting == ()


async def test_fault_a_paused_clock(client: Client, autojump_clock: MockClock) -> None:
    clock = client.sandbox.clock
    clock.pause()
    query = {"watch": "true", "timeoutSeconds": "60"}
    async with client.transport.stream(MAPS, query=query) as lines:
        with trio.move_on_after(3600) as scope:
            await lines.next_lines()
        assert scope.cancelled_caught
        assert clock.now() == START
        clock.advance(duration("59s"))
        clock.resume()
        before = trio.current_time()
        assert await lines.next_lines() == []
        assert trio.current_time() - before == pytest.approx(1)
