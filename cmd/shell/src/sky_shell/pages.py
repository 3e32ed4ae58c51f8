"""Pages for machines: what `/metrics`, `/livez` and `/readyz` are made of."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

TEXT: Final = "text/plain; charset=utf-8"


class Request(msgspec.Struct, frozen=True):
    """What a page may depend on: the content types that the caller accepts."""

    accept: str = ""


class Answer(NamedTuple):
    """A whole response."""

    status: int
    body: bytes
    content_type: str = TEXT


Page = Callable[[Request], Answer]
"""Answers at once, from what is in memory."""
Application = Callable[[Any, Any, Any], Any]
"""An ASGI application."""


def pages(by_path: Mapping[str, Page]) -> Application:
    """An application that has these pages and no others."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await _answer(_answered(scope), scope["method"], send)
        else:
            await send({"type": "websocket.close"})

    def _answered(scope: Any) -> Answer:
        page = by_path.get(scope["path"])
        if page is None:
            return Answer(404, b"not found\n")
        if scope["method"] not in ("GET", "HEAD"):
            return Answer(405, b"method not allowed\n")
        accept = ",".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"accept")
        return page(Request(accept))

    return application


async def _answer(answer: Answer, method: str, send: Any) -> None:
    headers = [
        (b"content-type", answer.content_type.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else answer.body})


async def _live(receive: Any, send: Any) -> None:
    """Nothing is to be done when a server starts or stops, but it wants to be told so."""
    for phase in ("startup", "shutdown"):
        await receive()
        await send({"type": f"lifespan.{phase}.complete"})
