"""The sandbox on a port of this machine, in plain HTTP/1.1.

A client shows the token as a bearer token, or as the first part of every path, since kubectl sends the former over TLS
alone.
"""

import hmac
from collections.abc import Mapping
from functools import partial
from typing import Final
from urllib.parse import parse_qsl

import h11
import trio
from msgspec.structs import replace

from sky_sandbox.api.refusals import Refusal
from sky_sandbox.api.requests import Request
from sky_sandbox.api.watching import Watch
from sky_sandbox.controls import controlled
from sky_sandbox.sandbox import Sandbox
from sky_shell.transport import JSON, Response, TransportError

BODY_MAX: Final = 3 * 1024 * 1024
"""The size of a request's body that kube-apiserver takes."""

_CHUNK: Final = 1 << 16
_GOODBYE: Final = 1.0
_BROKEN_LINE: Final = b'{"type":"MODIFIED","obj'


async def listen(port: int = 0) -> tuple[list[trio.SocketListener], str]:
    """A listener on loopback, and its URL; port 0 is any that is free."""
    listeners = await trio.open_tcp_listeners(port, host="127.0.0.1")
    return listeners, f"http://127.0.0.1:{listeners[0].socket.getsockname()[1]}"


class Door:
    """Who may come in: whoever knows the token, which may be changed at any time."""

    def __init__(self, token: str) -> None:
        """With this token."""
        self.token = token

    def admits(self, request: Request, authorization: str) -> Request | None:
        """The request without its token; None if it has none, or another."""
        prefix = f"/{self.token}/"
        if hmac.compare_digest(request.path[: len(prefix)].encode(), prefix.encode()):
            return replace(request, path=request.path[len(prefix) - 1 :])
        right = hmac.compare_digest(authorization.encode(), f"Bearer {self.token}".encode())
        return request if right else None


async def serve(
    sandbox: Sandbox,
    listeners: list[trio.SocketListener],
    door: Door,
    task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Answer on these listeners until cancelled."""
    await trio.serve_listeners(partial(_converse, sandbox, door), listeners, task_status=task_status)


async def _converse(sandbox: Sandbox, door: Door, stream: trio.SocketStream) -> None:
    """Answer the requests of one connection, one after the other."""
    connection = _Connection(stream)
    try:
        while (request := await connection.next_request()) is not None:
            answer = await _answer(sandbox, door.admits(request, connection.authorization))
            if isinstance(answer, Watch):
                await connection.send_watch(answer, sandbox)
                return
            await connection.send(answer)
    except (TransportError, trio.BrokenResourceError, h11.RemoteProtocolError):
        pass
    finally:
        await trio.aclose_forcefully(stream)


async def _answer(sandbox: Sandbox, request: Request | None) -> Response | Watch:
    if request is None:
        return Refusal(401, "Unauthorized", "Unauthorized").response()
    if len(request.body) > BODY_MAX:
        return Refusal(413, "RequestEntityTooLarge", f"limit is {BODY_MAX}").response()
    if (found := controlled(sandbox, request)) is not None:
        return found
    return await sandbox.answer(request)


class _Connection:
    """One connection, as HTTP/1.1."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.authorization = ""
        self._stream = stream
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 18)

    async def next_request(self) -> Request | None:
        """The next request; None when there is none any more."""
        if self._http.our_state is h11.MUST_CLOSE:
            return None
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        head = await self._next()
        if not isinstance(head, h11.Request):
            return None
        body = bytearray()
        while isinstance(event := await self._next(), h11.Data):
            if len(body) <= BODY_MAX:
                body += event.data
        headers = {name.decode(): value.decode("latin-1") for name, value in head.headers}
        self.authorization = headers.get("authorization", "")
        path, _, query = head.target.decode().partition("?")
        return Request(
            method=head.method.decode(),
            path=path,
            query=dict(parse_qsl(query, keep_blank_values=True)),
            accept=headers.get("accept", JSON),
            content_type=headers.get("content-type", JSON),
            body=bytes(body),
        )

    async def send(self, response: Response) -> None:
        """Answer with a whole response."""
        await self._send(
            h11.Response(status_code=response.status, headers=_headers(response)),
            h11.Data(data=response.body),
            h11.EndOfMessage(),
        )

    async def send_watch(self, watch: Watch, sandbox: Sandbox) -> None:
        """Answer with a watch, until it ends or the client leaves."""
        chunked = [("content-type", watch.content_type), ("transfer-encoding", "chunked")]
        await self._send(h11.Response(status_code=200, headers=chunked))
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._until_left, nursery.cancel_scope)
                await self._send_lines(watch, sandbox)
                nursery.cancel_scope.cancel()
        finally:
            watch.close()

    async def _send_lines(self, watch: Watch, sandbox: Sandbox) -> None:
        while not watch.broken:
            if lines := watch.take(sandbox.clock.now()):
                await self._send(h11.Data(data=b"".join(lines)))
            elif watch.ended:
                with trio.move_on_after(_GOODBYE):
                    await self._send(h11.EndOfMessage())
                return
            else:
                await sandbox.clock.wait_for(watch)
        await self._send(h11.Data(data=_BROKEN_LINE))

    async def _until_left(self, scope: trio.CancelScope) -> None:
        """Read what a client has no reason to send, to hear of its leaving."""
        try:
            while await self._stream.receive_some(_CHUNK):
                pass
        except trio.BrokenResourceError:
            pass
        scope.cancel()

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._stream.receive_some(_CHUNK))
        return event  # type: ignore[return-value]

    async def _send(self, *events: h11.Event) -> None:
        data = [sent for event in events if (sent := self._http.send(event))]
        await self._stream.send_all(b"".join(data))


def _headers(response: Response) -> list[tuple[str, str]]:
    given: Mapping[str, str] = response.headers
    return [*given.items(), ("content-length", str(len(response.body)))]
