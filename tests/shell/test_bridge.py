"""The way to a real HTTP server on loopback, and what may go wrong on it."""

import contextvars
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from kubernetes_asyncio.client import Configuration

from sky_shell.access import AccessError, Load
from sky_shell.bridge import bridge
from sky_shell.http_session import HELPING_SECONDS
from sky_shell.testing.loopback import Exchange, Handler, loopback
from sky_shell.transport import FencedError, Transport, TransportError, fence

POD = "/api/v1/namespaces/default/pods/p"
SOON = 20.0


def named(server: str, token: str = "") -> Load:
    async def load() -> Configuration:
        configuration = Configuration()
        configuration.host = server
        if token:
            configuration.api_key["BearerToken"] = f"Bearer {token}"
        return configuration

    return load


@asynccontextmanager
async def bridged(handler: Handler) -> AsyncIterator[Transport]:
    with trio.fail_after(SOON):
        async with loopback(handler) as server, bridge(named(server)) as transport:
            yield transport


class Seen:
    """A handler that keeps the requests, and answers each with 200."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    async def __call__(self, exchange: Exchange) -> None:
        self.exchanges.append(exchange)
        await exchange.answer(200)


class Silent:
    """A handler that never answers, and notices when the client leaves."""

    def __init__(self) -> None:
        self.asked = 0
        self.left = 0

    async def __call__(self, exchange: Exchange) -> None:
        self.asked += 1
        await exchange.left()
        self.left += 1


async def test_a_request_arrives_as_it_was_made() -> None:
    seen = Seen()
    async with bridged(seen) as transport:
        query = {"timeout": "3s", "fieldSelector": "spec.nodeName=a b"}
        response = await transport.request("PATCH", POD, query=query, body=b"{}", content_type="application/x+json")
    (exchange,) = seen.exchanges
    assert (exchange.method, exchange.body) == ("PATCH", b"{}")
    assert exchange.path == f"{POD}?timeout=3s&fieldSelector=spec.nodeName%3Da+b"
    assert exchange.headers["content-type"] == "application/x+json"
    assert exchange.headers["user-agent"] == "sky-scheduler"
    assert response.status == 200
    assert response.body == b"{}"
    assert response.headers["content-length"] == "2"


async def test_an_encoded_path_stays_as_it_is() -> None:
    seen = Seen()
    async with bridged(seen) as transport:
        await transport.request("GET", "/api/v1/nodes/a%2Fb")
    assert seen.exchanges[0].path == "/api/v1/nodes/a%2Fb"


async def test_a_server_below_a_path_is_asked_there() -> None:
    seen = Seen()
    with trio.fail_after(SOON):
        async with loopback(seen) as server, bridge(named(f"{server}/clusters/one/")) as transport:
            await transport.request("GET", POD, query={"timeout": "3s"})
    assert seen.exchanges[0].path == f"/clusters/one{POD}?timeout=3s"


@pytest.mark.parametrize("status", [201, 302, 404, 409, 429, 500])
async def test_every_status_is_an_answer(status: int) -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(status, b"said", {"Retry-After": "7", "Location": "/elsewhere"})

    async with bridged(handler) as transport:
        response = await transport.request("GET", POD)
    assert (response.status, response.body, response.headers["retry-after"]) == (status, b"said", "7")


async def test_nobody_listening_is_no_answer() -> None:
    async with bridge(named("http://127.0.0.1:1")) as transport:
        with pytest.raises(TransportError, match="no answer to GET"):
            await transport.request("GET", POD)


async def test_no_answer_in_time_is_no_answer() -> None:
    async with bridged(Silent()) as transport:
        with pytest.raises(TransportError):
            await transport.request("GET", POD, timeout=0.05)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "GET", "POST", "PATCH"])
async def test_f11_a_write_whose_answer_is_lost_is_not_repeated_behind_our_back(method: str) -> None:
    asked = 0

    async def handler(exchange: Exchange) -> None:
        nonlocal asked
        asked += exchange.method == method
        await (exchange.answer(200) if exchange.method == "HEAD" else exchange.drop())

    async with bridged(handler) as transport:
        await transport.request("HEAD", POD)  # so that the connection is a kept one
        with pytest.raises(TransportError):
            await transport.request(method, POD, body=b"{}")
    assert asked == 1


async def test_f18_an_answer_that_breaks_off_is_none() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say(b'{"half":')
        await exchange.drop()

    async with bridged(handler) as transport:
        with pytest.raises(TransportError):
            await transport.request("GET", POD)


async def test_cancelling_ends_a_request_before_the_caller_goes_on() -> None:
    silent = Silent()
    async with bridged(silent) as transport:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(lambda: transport.request("PUT", POD, body=b"{}"))
                while silent.asked < 20:
                    await trio.testing.wait_all_tasks_blocked(0.01)
                scope.cancel()
        assert scope.cancelled_caught
        while silent.left < 20:
            await trio.testing.wait_all_tasks_blocked(0.01)


async def test_context_variables_cross_to_the_other_side() -> None:
    variable = contextvars.ContextVar("variable", default="default")
    here: list[str] = []

    async def load() -> Configuration:
        here.append(variable.get())
        return await named("http://127.0.0.1:1")()

    variable.set("carried")
    async with bridge(load):
        pass
    assert here == ["carried"]


async def test_f46_nothing_is_sent_without_the_permit() -> None:
    seen = Seen()
    async with bridged(seen) as transport:
        fence.set(lambda: False)
        with pytest.raises(FencedError):
            await transport.request("PUT", POD, body=b"{}")
        fence.set(lambda: True)
        await transport.request("PUT", POD, body=b"second")
    assert [exchange.body for exchange in seen.exchanges] == [b"second"]


async def test_f46_the_permit_is_asked_when_the_connection_is_there() -> None:
    """While a hundred requests hold the connections, the next waits; what was permitted then is not any more."""
    silent = Silent()
    permitted = True
    async with bridged(silent) as transport:

        async def late() -> None:
            fence.set(lambda: permitted)
            with pytest.raises(FencedError):
                await transport.request("PUT", "/late", body=b"{}")

        async with trio.open_nursery() as nursery, trio.open_nursery() as holding:
            for _ in range(100):
                holding.start_soon(lambda: transport.request("GET", POD))
            while silent.asked < 100:
                await trio.testing.wait_all_tasks_blocked(0.01)
            nursery.start_soon(late)
            await trio.testing.wait_all_tasks_blocked(0.05)
            permitted = False
            holding.cancel_scope.cancel()
    assert silent.asked == 100


async def test_a_watch_comes_in_whole_lines() -> None:
    go_on = trio.Event()

    async def handler(exchange: Exchange) -> None:
        assert exchange.path == "/api/v1/pods?watch=true"
        await exchange.begin()
        await exchange.say(b"one\ntwo\nth")
        await go_on.wait()
        await exchange.say(b"r")
        await exchange.say(b"ee\n\n")
        await exchange.end()

    async with bridged(handler) as transport, transport.stream("/api/v1/pods", query={"watch": "true"}) as lines:
        assert lines.status == 200
        got = await lines.next_lines()
        assert got == [b"one", b"two"]
        go_on.set()
        assert await lines.next_lines() == [b"three"]
        assert await lines.next_lines() == []
        assert await lines.next_lines() == []


async def test_what_a_busy_watch_says_meanwhile_comes_together() -> None:
    asked = trio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say(b"first\n")
        await asked.wait()
        for at in range(5):
            await exchange.say(b"%d\n" % at)
        await exchange.end()

    async with bridged(handler) as transport, transport.stream("/api/v1/pods", query={}) as lines:
        assert await lines.next_lines() == [b"first"]
        began, helpings = trio.current_time(), list[list[bytes]]()
        asked.set()
        while got := await lines.next_lines():
            helpings.append(got)
    assert [line for got in helpings for line in got] == [b"0", b"1", b"2", b"3", b"4"]
    assert trio.current_time() - began >= len(helpings) * HELPING_SECONDS / 2


async def test_a_cancelled_read_loses_no_line() -> None:
    go_on = trio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say(b"ha")
        await go_on.wait()
        await exchange.say(b"lf\n")
        await exchange.end()

    async with bridged(handler) as transport, transport.stream("/api/v1/pods", query={}) as lines:
        with trio.move_on_after(0.05) as scope:
            await lines.next_lines()
        assert scope.cancelled_caught
        go_on.set()
        assert await lines.next_lines() == [b"half"]


async def test_f18_half_a_line_is_never_delivered() -> None:
    async def drops(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say(b'{"type":"ADDED"}\n{"type":"DEL')
        await exchange.drop()

    async def ends(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say(b'{"type":"ADDED"}\n{"type":"DEL')
        await exchange.end()

    for handler in (drops, ends):
        got: list[bytes] = []
        async with bridged(handler) as transport:
            with pytest.raises(TransportError):  # noqa: PT012
                async with transport.stream("/api/v1/pods", query={}) as lines:
                    while more := await lines.next_lines():
                        got += more
        assert got in ([], [b'{"type":"ADDED"}'])


async def test_the_body_of_a_refused_watch_can_be_read() -> None:
    async def handler(exchange: Exchange) -> None:
        await exchange.answer(404, b"404 page not found")

    async with bridged(handler) as transport, transport.stream("/apis/none", query={}) as lines:
        assert lines.status == 404
        assert await lines.next_lines() == [b"404 page not found"]
        assert await lines.next_lines() == []


async def test_leaving_a_watch_closes_its_connection() -> None:
    left = trio.Event()

    async def handler(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say(b"one\n")
        await exchange.left()
        left.set()

    async with bridged(handler) as transport:
        async with transport.stream("/api/v1/pods", query={}) as lines:
            await lines.next_lines()
        await left.wait()


async def test_f19_a_reader_that_is_slow_makes_the_server_wait() -> None:
    sent = 0
    chunk = b"x" * 65_535 + b"\n"

    async def handler(exchange: Exchange) -> None:
        nonlocal sent
        await exchange.begin()
        for _ in range(1000):
            await exchange.say(chunk)
            sent += 1

    async with bridged(handler) as transport, transport.stream("/api/v1/pods", query={}) as lines:
        await lines.next_lines()
        await trio.testing.wait_all_tasks_blocked(0.2)
        assert sent < 500


async def test_f17_a_token_that_was_rotated_is_read_again_once() -> None:
    tokens = itertools.count(1)
    seen: list[str] = []

    async def handler(exchange: Exchange) -> None:
        seen.append(exchange.headers["authorization"])
        await exchange.answer(200 if exchange.headers["authorization"] == "Bearer 2" else 401)

    with trio.fail_after(SOON):
        async with loopback(handler) as server:

            async def load() -> Configuration:
                return await named(server, str(next(tokens)))()

            async with bridge(load) as transport:
                async with trio.open_nursery() as nursery:
                    for _ in range(5):
                        nursery.start_soon(lambda: transport.request("GET", POD))
                response = await transport.request("PUT", POD, body=b"{}")
    assert response.status == 200
    assert next(tokens) == 3
    assert set(seen) == {"Bearer 1", "Bearer 2"}


async def test_f17_a_server_that_goes_on_to_refuse_us_is_believed() -> None:
    reads = 0

    async def handler(exchange: Exchange) -> None:
        await exchange.answer(401)

    with trio.fail_after(SOON):
        async with loopback(handler) as server:

            async def load() -> Configuration:
                nonlocal reads
                reads += 1
                if reads > 1:
                    raise AccessError("the token file is empty")
                return await named(server, "old")()

            async with bridge(load) as transport:
                for _ in range(3):
                    assert (await transport.request("GET", POD)).status == 401
    assert reads == 2


async def test_what_is_no_address_is_said_at_once() -> None:
    with pytest.raises(AccessError, match="no server's address"):
        async with bridge(named("http://[::1")):
            pass


async def test_access_that_cannot_be_read_is_said_at_once() -> None:
    async def load() -> Configuration:
        raise AccessError("no server is named")

    with pytest.raises(AccessError, match="no server is named"):
        async with bridge(load):
            pass
