"""A proxy on loopback between a process and an API server, that does to their talk what a test says."""

import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import h11
import trio

from sky_shell.testing.loopback import Exchange, loopback

Question = Callable[[Exchange], bool]
"""Whether something is to be done to a request."""

_CHUNK: Final = 1 << 16
_GONE: Final = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, h11.ProtocolError)
"""Raised when the server, or the client, is no longer there."""
_OF_A_CONNECTION: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length"})


def never(_: Exchange) -> bool:
    """To no request."""
    return False


class Between:
    """What is done to requests from now on; nothing at first.

    Attributes:
        holds: Which requests are held back on their way to the server, until they are let go.
        loses: Of which requests the answer is lost: the server does what they say, the connection is reset.
        breaks: In the midst of which answers the connection is reset, within a line: asked whenever there is some more.
        held: The requests that are held back now, as method and path.
        done: What the server answered so far, as method and path, and status; watches included.
    """

    def __init__(self, server: str, authority: Path) -> None:
        """See `between`."""
        self.holds: Question = never
        self.loses: Question = never
        self.breaks: Question = never
        self.held: list[str] = []
        self.done: list[tuple[str, int]] = []
        self._go = trio.Event()
        self._server = urlsplit(server)
        self._tls = ssl.create_default_context(cafile=str(authority))

    def let_go(self) -> None:
        """Hold nothing back any more, and send what was."""
        self.holds = never
        go, self._go = self._go, trio.Event()
        go.set()

    async def handle(self, exchange: Exchange) -> None:
        """Take a request to the server, and its answer back."""
        what = f"{exchange.method} {exchange.path.partition('?')[0]}"
        if self.holds(exchange):
            self.held.append(what)
            await self._go.wait()
            self.held.remove(what)
        try:
            async with self._asked(exchange) as answer:
                self.done.append((what, answer.status))
                if self.loses(exchange):
                    await exchange.reset()
                else:
                    await self._pass_on(answer, exchange)
        except _GONE:
            await exchange.reset()

    async def _pass_on(self, answer: "_Answer", exchange: Exchange) -> None:
        await exchange.begin(answer.status, answer.headers)
        while data := await answer.more():
            if self.breaks(exchange):
                await exchange.say(data[: len(data) // 2])
                await exchange.reset()
                return
            await exchange.say(data)
        await exchange.end()

    @contextlib.asynccontextmanager
    async def _asked(self, exchange: Exchange) -> AsyncIterator["_Answer"]:
        """The server's answer, on a connection of its own."""
        host, port = self._server.hostname or "", self._server.port or 443
        stream = trio.SSLStream(await trio.open_tcp_stream(host, port), self._tls, server_hostname=host)
        try:
            yield await _Answer.to(exchange, stream)
        finally:
            await trio.aclose_forcefully(stream)


class _Answer:
    """A server's, as it comes."""

    def __init__(self, http: h11.Connection, stream: trio.abc.Stream, head: h11.Response) -> None:
        self.status = head.status_code
        self.headers = _fields(head.headers)
        self._http = http
        self._stream = stream

    @classmethod
    async def to(cls, exchange: Exchange, stream: trio.abc.Stream) -> "_Answer":
        """To this request."""
        http = h11.Connection(h11.CLIENT)
        length = {"content-length": str(len(exchange.body))} if exchange.body else {}
        fields = {**exchange.headers, **length, "connection": "close"}
        head = h11.Request(method=exchange.method, target=exchange.path, headers=list(fields.items()))
        sent = [http.send(head), http.send(h11.Data(data=exchange.body)), http.send(h11.EndOfMessage())]
        await stream.send_all(b"".join(one or b"" for one in sent))
        answered = await _next(http, stream)
        if not isinstance(answered, h11.Response):
            raise trio.BrokenResourceError
        return cls(http, stream, answered)

    async def more(self) -> bytes:
        """Some more of the body; nothing at its end."""
        event = await _next(self._http, self._stream)
        return bytes(event.data) if isinstance(event, h11.Data) else b""


@contextlib.asynccontextmanager
async def between(server: str, authority: Path) -> AsyncIterator[tuple[Between, str]]:
    """A proxy to the server of this address, which this authority vouches for; and its own address, in plain HTTP."""
    proxy = Between(server, authority)
    async with loopback(proxy.handle) as address:
        yield proxy, address


async def _next(http: h11.Connection, stream: trio.abc.Stream) -> object:
    while (event := http.next_event()) is h11.NEED_DATA or isinstance(event, h11.InformationalResponse):
        if event is h11.NEED_DATA:
            http.receive_data(bytes(await stream.receive_some(_CHUNK)))
    return event


def _fields(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    fields = {name.decode(): value.decode() for name, value in headers}
    return {name: value for name, value in fields.items() if name not in _OF_A_CONNECTION}
