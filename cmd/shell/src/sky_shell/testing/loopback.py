"""A real HTTP server on loopback that does to each request what the test says, well or badly."""

import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import h11
import trio


class Exchange:
    """One request, and the connection that it came on."""

    def __init__(self, connection: h11.Connection, stream: trio.abc.Stream, request: h11.Request, body: bytes) -> None:
        """The request has been read."""
        self.method = request.method.decode()
        self.path = request.target.decode()
        self.headers = {name.decode().lower(): value.decode() for name, value in request.headers}
        self.body = body
        self._connection = connection
        self._stream = stream

    async def answer(self, status: int, body: bytes = b"{}", headers: dict[str, str] | None = None) -> None:
        """Answer whole."""
        fields = [("content-length", str(len(body))), *(headers or {}).items()]
        await self._send(h11.Response(status_code=status, headers=fields))
        await self._send(h11.Data(data=body))
        await self._send(h11.EndOfMessage())

    async def begin(self, status: int = 200, headers: Mapping[str, str] = {}) -> None:
        """Answer without saying how much will come."""
        await self._send(h11.Response(status_code=status, headers=[("transfer-encoding", "chunked"), *headers.items()]))

    async def say(self, data: bytes) -> None:
        """Go on."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """End well."""
        await self._send(h11.EndOfMessage())

    async def drop(self) -> None:
        """Close the connection as it stands."""
        await trio.aclose_forcefully(self._stream)

    async def reset(self) -> None:
        """Break the connection, which is in plain HTTP: the client is told of an error and not of an end."""
        assert isinstance(self._stream, trio.SocketStream)
        with contextlib.suppress(OSError, trio.ClosedResourceError):
            self._stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        await self.drop()

    async def left(self) -> None:
        """Wait until the client has closed the connection."""
        with contextlib.suppress(trio.BrokenResourceError):
            while await self._stream.receive_some():
                pass

    async def _send(self, event: h11.Event) -> None:
        data = self._connection.send(event)
        if data:
            await self._stream.send_all(data)


Handler = Callable[[Exchange], Awaitable[None]]


@contextlib.asynccontextmanager
async def loopback(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve with this handler, one call a request; the address is what is yielded."""

    async def connection(accepted: trio.SocketStream) -> None:
        stream = accepted if tls is None else trio.SSLStream(accepted, tls, server_side=True)
        http = h11.Connection(h11.SERVER)
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError, h11.ProtocolError):
            while (exchange := await _next(http, stream)) is not None:
                await handler(exchange)
                if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
                    break
                http.start_next_cycle()
        await trio.aclose_forcefully(stream)

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, connection, [listener])
        port = listener.socket.getsockname()[1]
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
        nursery.cancel_scope.cancel()


async def _next(http: h11.Connection, stream: trio.abc.Stream) -> Exchange | None:
    """The next request of a connection; None when the client closes it."""
    request: h11.Request | None = None
    body = bytearray()
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            data = await stream.receive_some()
            http.receive_data(bytes(data))
        elif isinstance(event, h11.Request):
            request = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage):
            assert request is not None
            return Exchange(http, stream, request, bytes(body))
        else:
            return None
