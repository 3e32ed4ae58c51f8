"""A scheduler's way to the server, on which its attempts are noted as they are answered."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec

from rehearsal.notes import Notes
from sky_core.simulation.objects import part, text
from sky_shell.transport import JSON, Lines, Response, Transport

OK: Final = "ok"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A write that carries out a decision: in which cycle it was sent, of what, onto which node, and what came of it.

    `what` is `binding`, `eviction` or `quota`; a quota's `node` may be empty.
    """

    cycle: int
    what: str
    object: str
    node: str
    result: str


class Attempts:
    """A `sky_shell.transport.Transport`.

    Attributes:
        noted: In the order of the answers.
        under_way: How many writes have no answer yet.
    """

    def __init__(self, transport: Transport, notes: Notes) -> None:
        """Nothing was written yet."""
        self.noted: list[Attempt] = []
        self.under_way = 0
        self._transport = transport
        self._notes = notes

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
        is_write = method != "GET" and "/leases" not in path
        cycle, result = len(self._notes.cycles), "no answer"
        self.under_way += is_write
        try:
            response = await self._transport.request(
                method, path, query=query, body=body, content_type=content_type, timeout=timeout
            )
            result = OK if response.status in (200, 201) else f"HTTP {response.status}"
            return response
        finally:
            self.under_way -= is_write
            if is_write:
                self._note(path, msgspec.json.decode(body or b"{}"), cycle, result)

    def stream(self, path: str, *, query: Mapping[str, str]) -> AbstractAsyncContextManager[Lines]:
        """See `Transport.stream`."""
        return self._transport.stream(path, query=query)

    def _note(self, path: str, body: Mapping[str, Any], cycle: int, result: str) -> None:
        metadata = part(body, "metadata")
        name, pod = text(metadata, "name"), f"{text(metadata, 'namespace')}/{text(metadata, 'name')}"
        if path.endswith("/binding"):
            said = ("binding", pod, text(part(body, "target"), "name"))
        elif path.endswith("/eviction"):
            said = ("eviction", pod, "")
        elif "/quotas/" in path:
            said = ("quota", name, text(part(body, "status"), "nodeName"))
        else:
            return
        what, about, node = said
        self.noted.append(Attempt(cycle=cycle, what=what, object=about, node=node, result=result))
