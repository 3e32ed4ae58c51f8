"""What an API server says when it doesn't do as asked."""

from typing import Final

import msgspec

from sky_shell.transport import Response

_TEXT_MAX: Final = 500


class Cause(msgspec.Struct, frozen=True):
    """One reason among several."""

    reason: str = ""
    message: str = ""


class Details(msgspec.Struct, frozen=True, rename="camel"):
    """What a Status adds to its reason."""

    causes: tuple[Cause, ...] = ()
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """A Kubernetes Status. `retry_after`: seconds to wait, where the server says so."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None
    retry_after: float | None = None

    @property
    def causes(self) -> frozenset[str]:
        """The reasons of its causes."""
        return frozenset(cause.reason for cause in self.details.causes) if self.details else frozenset()

    @property
    def is_gone(self) -> bool:
        """Whether the resourceVersion or page asked for is too old to be had."""
        return self.code == 410 or self.reason in ("Expired", "Gone")

    @property
    def is_ahead(self) -> bool:
        """Whether the server has not seen the resourceVersion asked for; it may never see it."""
        return "ResourceVersionTooLarge" in self.causes or "Too large resource version" in self.message

    def __str__(self) -> str:
        """For people."""
        said = self.message or self.reason
        return said if said.startswith(str(self.code)) else f"{self.code} {said}".strip()


_STATUS: Final = msgspec.json.Decoder(Status)


def status_in(body: bytes, code: int = 0) -> Status:
    """The Status that a body holds. Proxies and absent kinds answer with plain text: that is its message then."""
    try:
        said = _STATUS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = Status(message=body[:_TEXT_MAX].decode(errors="replace").strip())
    wait = said.details.retry_after_seconds if said.details else 0
    return msgspec.structs.replace(said, code=said.code or code, retry_after=wait or None)


def status_of(response: Response) -> Status:
    """The refusal that a response is, with what its headers say."""
    said = status_in(response.body, response.status)
    after = response.headers.get("retry-after", "")
    seconds = int(after) if after.isascii() and after.isdigit() else 0
    return msgspec.structs.replace(said, code=response.status, retry_after=max(seconds, said.retry_after or 0) or None)
