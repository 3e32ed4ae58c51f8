"""The way from trio to an API server over HTTP: kubernetes-asyncio and aiohttp, on a thread of their own."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Final

import trio

from sky_shell.access import Load
from sky_shell.asyncio_thread import AsyncioThread, asyncio_thread
from sky_shell.http_session import Asked, HttpLines, HttpSession
from sky_shell.transport import JSON, Lines, Response, Transport

AGENT: Final = "sky-scheduler"


class Bridge:
    """A transport (`sky_shell.transport.Transport`) over HTTP."""

    def __init__(self, thread: AsyncioThread, session: HttpSession) -> None:
        """See `bridge`."""
        self._thread = thread
        self._session = session

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
        kind = None if body is None else content_type
        return await self._thread.run(self._session.ask, Asked(method, path, query, body, kind), timeout)

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncIterator[Lines]:
        """See `Transport.stream`."""
        lines = await self._thread.run(self._session.watch, Asked("GET", path, query))
        try:
            yield _Hopping(self._thread, lines)
        finally:
            with trio.CancelScope(shield=True):
                await self._thread.run(lines.close)


class _Hopping:
    """The lines of the other side. What comes meanwhile is kept there, so lines come in bigger helpings under load."""

    def __init__(self, thread: AsyncioThread, lines: HttpLines) -> None:
        self._thread = thread
        self._lines = lines
        self.status = lines.status

    async def next_lines(self) -> list[bytes]:
        return await self._thread.run(self._lines.next_lines)


@contextlib.asynccontextmanager
async def bridge(load: Load, agent: str = AGENT) -> AsyncIterator[Transport]:
    """A transport to the server that `load` names; `agent` is what the server's log calls us.

    Raises:
        AccessError: What `load` reads can't be used.
    """
    async with asyncio_thread() as thread:
        session = await thread.run(HttpSession.open, load, agent)
        try:
            yield Bridge(thread, session)
        finally:
            with trio.CancelScope(shield=True):
                await thread.run(session.close)
