"""The one seam between a process and an API server: ask, and watch.

`sky_shell.bridge` implements it over HTTP; tests and simulations in memory, with no thread and no socket.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from typing import Final, Protocol

import msgspec

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
"""Merges lists by key, so that others' conditions stay. Core kinds only: 415 for custom resources."""
APPLY_PATCH: Final = "application/apply-patch+yaml"


class TransportError(OSError):
    """No answer came: the connection failed, broke, or stayed silent. Whether a write was done is unknown."""


class FencedError(TransportError):
    """The permit was gone when the request was about to be sent. It was not sent."""

    def __init__(self) -> None:
        """There is nothing more to say."""
        super().__init__("the permit to write is gone")


Permit = Callable[[], bool]
"""Whether we may still write; may be called in any thread."""

fence: ContextVar[Permit | None] = ContextVar("fence", default=None)
"""The permit under which requests of this context are sent. Whoever sends asks it at the last possible moment."""


class Response(msgspec.Struct, frozen=True):
    """The answer of a server, whatever its status. Its headers are found by names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}


class Lines(Protocol):
    """A watch as it arrives."""

    @property
    def status(self) -> int:
        """The HTTP status. If it isn't 200, the lines are the body of the refusal."""

    async def next_lines(self) -> list[bytes]:
        """The next whole lines, without their ends, at least one; none at the end of the watch, and ever after.

        If this is cancelled, no line is lost: the next call goes on where this one stood.

        Raises:
            TransportError: The watch broke. What came of an unfinished line is not delivered.
        """


class Transport(Protocol):
    """A connection to an API server.

    A request that waits, for a connection or for a thread, asks the permit in `fence` when it has waited, immediately
    before it is sent.
    """

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
        """What the server answers. If this is cancelled, it ends when nothing more will be sent.

        Args:
            method: As HTTP writes it, in upper case.
            path: Without a query, percent-encoded where need be.
            query: Unencoded.
            body: What is sent; None: nothing.
            content_type: Of the body; which kind of patch a PATCH is.
            timeout: Seconds to wait for the whole answer.

        Raises:
            FencedError: The permit was gone; nothing was sent.
            TransportError: There is no answer.
        """

    def stream(self, path: str, *, query: Mapping[str, str]) -> AbstractAsyncContextManager[Lines]:
        """A watch, for as long as the context is open. Entering it waits for the status; leaving it ends the watch.

        It has no time-out of its own: who reads it knows how long silence may last.

        Raises:
            TransportError: There is no answer.
        """
