"""The processes' way to the sandbox without a thread or a socket."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import trio

from sky_sandbox.api.requests import Request
from sky_sandbox.api.watching import Watch
from sky_sandbox.sandbox import Sandbox
from sky_shell.transport import JSON, Lines, Response, TransportError


class SandboxTransport:
    """A `sky_shell.transport.Transport` to a sandbox in this process."""

    def __init__(self, sandbox: Sandbox) -> None:
        """To this sandbox."""
        self._sandbox = sandbox

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
        """What the server answers.

        Raises:
            TransportError: There is no answer.
        """
        sent = Request(method=method, path=path, query=query, content_type=content_type, body=body or b"")
        with trio.move_on_after(timeout):
            answer = await self._sandbox.answer(sent)
            if isinstance(answer, Watch):
                answer.close()
                raise TransportError(f"{path} is a watch, which has no one answer")
            return answer
        raise TransportError(f"no answer to {method} {path} within {timeout:g} s")

    @asynccontextmanager
    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncIterator[Lines]:
        """A watch.

        Raises:
            TransportError: There is no answer.
        """
        answer = await self._sandbox.answer(Request(method="GET", path=path, query=query))
        if isinstance(answer, Response):
            yield _Refused(answer)
            return
        try:
            yield _Watched(self._sandbox, answer)
        finally:
            answer.close()


class _Watched:
    """A watch as it arrives."""

    status = 200

    def __init__(self, sandbox: Sandbox, watch: Watch) -> None:
        self._sandbox = sandbox
        self._watch = watch

    async def next_lines(self) -> list[bytes]:
        await trio.lowlevel.checkpoint()
        while True:
            if self._watch.broken:
                raise TransportError("the watch broke")
            lines = self._watch.take(self._sandbox.clock.now())
            if lines or self._watch.ended:
                return [line[:-1] for line in lines]
            await self._sandbox.clock.wait_for(self._watch)


class _Refused:
    """The body of a refusal."""

    def __init__(self, response: Response) -> None:
        self.status = response.status
        self._lines = response.body.splitlines()

    async def next_lines(self) -> list[bytes]:
        await trio.lowlevel.checkpoint()
        lines, self._lines = self._lines, []
        return lines
