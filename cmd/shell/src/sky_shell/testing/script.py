"""A transport whose server is played by the test, one request at a time."""

import contextlib
import math
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec
import outcome
import trio

from sky_shell.transport import JSON, Lines, Response, TransportError, fence


class Asked:
    """A request that waits for the test's answer."""

    def __init__(self, method: str, path: str, query: Mapping[str, str], body: bytes | None, content_type: str) -> None:
        """As it was made; `permit` is the one it was made under."""
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.content_type = content_type
        self.permit = fence.get()
        self._done = trio.Event()
        self._outcome: outcome.Outcome[Response]

    @property
    def json(self) -> Any:
        """What was sent."""
        return msgspec.json.decode(self.body or b"null")

    def answer(self, status: int, body: object = b"", headers: Mapping[str, str] = {}) -> None:
        """Answer; what is not bytes is sent as JSON."""
        said = body if isinstance(body, bytes) else msgspec.json.encode(body)
        self._outcome = outcome.Value(Response(status, said, headers))
        self._done.set()

    def drop(self) -> None:
        """Close the connection without an answer."""
        self._outcome = outcome.Error(TransportError(f"no answer to {self.method} {self.path}: it was dropped"))
        self._done.set()

    async def outcome(self) -> Response:
        """What the test decides."""
        await self._done.wait()
        return self._outcome.unwrap()


class Watched:
    """A watch that the test feeds."""

    def __init__(self, path: str, query: Mapping[str, str]) -> None:
        """As it was asked for."""
        self.path = path
        self.query = query
        self.status = 0
        self.closed = trio.Event()
        self._accepted = trio.Event()
        self._send, self._receive = trio.open_memory_channel[outcome.Outcome[list[bytes]]](math.inf)
        self._ended = False

    def accept(self, status: int = 200) -> None:
        """Answer with this status."""
        self.status = status
        self._accepted.set()

    def say(self, *lines: object) -> None:
        """Send lines; what is not bytes is sent as JSON."""
        said = [line if isinstance(line, bytes) else msgspec.json.encode(line) for line in lines]
        self._send.send_nowait(outcome.Value(said))

    def event(self, type_: str, object_: object) -> None:
        """Send an event."""
        self.say({"type": type_, "object": object_})

    def end(self) -> None:
        """End as a server does that has had enough."""
        self._send.send_nowait(outcome.Value([]))

    def drop(self) -> None:
        """Break off."""
        self._send.send_nowait(outcome.Error(TransportError("the watch was dropped")))

    async def accepted(self) -> None:
        """Wait for the status."""
        await self._accepted.wait()

    async def next_lines(self) -> list[bytes]:
        """See `Lines.next_lines`."""
        if self._ended:
            return []
        got = (await self._receive.receive()).unwrap()
        self._ended = not got
        return got


class Script:
    """A transport. Whoever uses it waits until the test has taken the request and answered it."""

    def __init__(self) -> None:
        """Nothing has been asked."""
        self._send, self._receive = trio.open_memory_channel[Asked | Watched](math.inf)

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
        asked = Asked(method, path, query, body, content_type)
        self._send.send_nowait(asked)
        try:
            with trio.fail_after(timeout):
                return await asked.outcome()
        except trio.TooSlowError as error:
            raise TransportError(f"no answer to {method} {path} within {timeout} s") from error

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncIterator[Lines]:
        """See `Transport.stream`."""
        watched = Watched(path, query)
        self._send.send_nowait(watched)
        try:
            await watched.accepted()
            yield watched
        finally:
            watched.closed.set()

    async def asked(self, method: str = "GET", path: str | None = None) -> Asked:
        """The next request, which has to be this one."""
        asked = await self._receive.receive()
        assert isinstance(asked, Asked), f"a watch of {asked.path} instead of {method} {path}"
        assert asked.method == method, f"{asked.method} {asked.path} instead of {method} {path}"
        assert path in (None, asked.path), f"{asked.method} {asked.path} instead of {method} {path}"
        return asked

    async def watched(self, path: str | None = None) -> Watched:
        """The next request, which has to be a watch, accepted."""
        watched = await self._receive.receive()
        assert isinstance(watched, Watched), f"{watched.method} {watched.path} instead of a watch of {path}"
        assert path in (None, watched.path), f"a watch of {watched.path} instead of one of {path}"
        return watched

    def nothing_asked(self) -> bool:
        """Whether every request has been taken."""
        return self._receive.statistics().current_buffer_used == 0
