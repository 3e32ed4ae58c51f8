"""A transport that is timed, and that shows in the trace from which it is used."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Final

import trio
from opentelemetry import trace
from prometheus_client import Histogram

from sky_shell.resources import Target, target
from sky_shell.tracing import exemplar
from sky_shell.transport import JSON, FencedError, Lines, Response, Transport, TransportError

NO_ANSWER: Final = "none"
NOT_SENT: Final = "fenced"

_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NONE: Final = contextlib.nullcontext[trace.Span](trace.INVALID_SPAN)
_tracer = trace.get_tracer(__name__)


class Observed:
    """Passes everything on to another transport."""

    def __init__(self, transport: Transport, requests: Histogram) -> None:
        """`requests` has the labels verb, kind and code; a request without an answer has the code `none`."""
        self._transport = transport
        self._requests = requests

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
        to = target(path)
        with self._asking(_VERBS.get(method, "get" if to.is_one else "list"), to) as asked:
            response = await self._transport.request(
                method, path, query=query, body=body, content_type=content_type, timeout=timeout
            )
            asked.code = str(response.status)
            return response

    @contextlib.asynccontextmanager
    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncIterator[Lines]:
        """See `Transport.stream`."""
        async with contextlib.AsyncExitStack() as stack:
            with self._asking("watch", target(path)) as asked:
                lines = await stack.enter_async_context(self._transport.stream(path, query=query))
                asked.code = str(lines.status)
            yield lines

    @contextlib.contextmanager
    def _asking(self, verb: str, to: Target) -> Iterator["_Asked"]:
        asked, began = _Asked(), trio.current_time()
        with _span(f"{verb} {to.kind}") as span:
            try:
                yield asked
            except TransportError as error:
                asked.code = NOT_SENT if isinstance(error, FencedError) else NO_ANSWER
                raise
            finally:
                if asked.code:  # a cancelled request tells nothing of the server
                    if asked.code.isdecimal():
                        span.set_attribute("http.response.status_code", int(asked.code))
                    took = trio.current_time() - began
                    self._requests.labels(verb, to.kind, asked.code).observe(took, exemplar(span))


class _Asked:
    """What came of a request, once it is known."""

    code = ""


def _span(name: str) -> AbstractContextManager[trace.Span]:
    """A part of the present trace. What happens outside of one, as renewals and watches do, makes none."""
    if not trace.get_current_span().is_recording():
        return _NONE
    return _tracer.start_as_current_span(name, kind=trace.SpanKind.CLIENT)
