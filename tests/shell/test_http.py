"""Pages for machines, over real sockets on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11
import trio
from prometheus_client import CollectorRegistry, Histogram
from trio.testing import MockClock

from sky_shell.health import STALL_SECONDS, Health
from sky_shell.http import serve
from sky_shell.metrics import metrics_page
from sky_shell.pages import Answer, Application, Request, pages

SOON = 20.0


async def asked(address: str, target: str, method: str = "GET", **headers: str) -> tuple[h11.Response, bytes]:
    host, _, port = address.removeprefix("http://").rpartition(":")
    stream = await trio.open_tcp_stream(host, int(port))
    http = h11.Connection(h11.CLIENT)
    fields = [("host", host), *((name, value) for name, value in headers.items())]
    sent = http.send(h11.Request(method=method, target=target, headers=fields)) or b""
    await stream.send_all(sent + (http.send(h11.EndOfMessage()) or b""))
    response, body = None, b""
    async with stream:
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                http.receive_data(bytes(await stream.receive_some()))
            elif isinstance(event, h11.Response):
                response = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                break
    assert response is not None
    return response, body


@asynccontextmanager
async def served(application: Application, stop: trio.Event) -> AsyncIterator[str]:
    with trio.fail_after(SOON):
        async with trio.open_nursery() as nursery:
            (address,) = await nursery.start(serve, application, "127.0.0.1:0", stop)
            yield address
            stop.set()


async def test_pages_are_served_and_nothing_else() -> None:
    application = pages({"/here": lambda request: Answer(200, f"accepts {request.accept}\n".encode())})
    async with served(application, trio.Event()) as address:
        response, body = await asked(address, "/here?x=1", accept="text/plain")
        assert (response.status_code, body) == (200, b"accepts text/plain\n")
        assert (b"content-type", b"text/plain; charset=utf-8") in response.headers
        assert b"server" not in dict(response.headers)
        response, body = await asked(address, "/here", "HEAD")
        assert (response.status_code, body) == (200, b"")
        assert (await asked(address, "/elsewhere"))[0].status_code == 404
        assert (await asked(address, "/here", "POST"))[0].status_code == 405


async def test_f55_a_request_under_way_is_answered_before_the_process_stops() -> None:
    stop, begun = trio.Event(), trio.Event()

    async def slow(scope: dict[str, str], receive: object, send: object) -> None:
        if scope["type"] == "http":
            begun.set()
            await stop.wait()
            await trio.testing.wait_all_tasks_blocked(0.1)  # the server has heard of it
        await pages({"/slow": lambda _: Answer(200, b"done")})(scope, receive, send)

    async with served(slow, stop) as address, trio.open_nursery() as nursery:

        @nursery.start_soon
        async def _() -> None:
            _, body = await asked(address, "/slow")
            assert body == b"done"

        await begun.wait()
        stop.set()


async def test_metrics_come_with_exemplars_for_who_accepts_them() -> None:
    registry = CollectorRegistry()
    Histogram("sky_test_seconds", "A test.", registry=registry).observe(0.1, {"trace_id": "abc"})
    plain = metrics_page(registry, Request("text/plain"))
    assert plain.content_type.startswith("text/plain")
    assert b"trace_id" not in plain.body
    rich = metrics_page(registry, Request("application/openmetrics-text; version=1.0.0,text/plain;q=0.5"))
    assert rich.content_type.startswith("application/openmetrics-text")
    assert b'# {trace_id="abc"} 0.1' in rich.body
    assert rich.body.endswith(b"# EOF\n")


async def test_a_process_lives_while_its_loop_ticks(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    health = Health()
    assert health.livez(Request()) == Answer(200, b"loop: ok\n")
    await trio.sleep(STALL_SECONDS + 1)
    assert health.livez(Request()) == Answer(503, b"loop: not seen for 31 s\n")
    nursery.start_soon(health.tick)
    await trio.sleep(STALL_SECONDS + 1)
    assert health.livez(Request()).status == 200


async def test_f57_a_pulse_that_stops_is_named(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    health = Health()
    nursery.start_soon(health.tick)
    cycle = health.pulse("cycle", within=60)
    await trio.sleep(50)
    cycle.beat()
    await trio.sleep(50)
    assert health.livez(Request()).status == 200
    await trio.sleep(50)
    assert health.livez(Request()) == Answer(503, b"loop: ok\ncycle: not seen for 100 s\n")


async def test_a_process_is_ready_when_it_lacks_nothing() -> None:
    health = Health()
    assert health.readyz(Request()) == Answer(200, b"ok\n")
    lacks: list[str | None] = ["the server has no such kind"]
    health.needs("quotas", lambda: lacks[0])
    health.needs("pods", lambda: None)
    assert health.readyz(Request()) == Answer(503, b"quotas: the server has no such kind\npods: ok\n")
    lacks[0] = None
    assert health.readyz(Request()) == Answer(200, b"quotas: ok\npods: ok\n")
