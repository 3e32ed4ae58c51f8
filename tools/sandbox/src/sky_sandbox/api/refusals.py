"""The server's "no": a Status with the code and the reason that Kubernetes gives."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import msgspec

from sky_shell.transport import JSON, Response

Details: TypeAlias = Mapping[str, Any]


class Cause(NamedTuple):
    """What is wrong with one field; `type` is Kubernetes' CauseType, as `FieldValueInvalid`."""

    field: str
    message: str
    type: str = "FieldValueInvalid"


class Refusal(Exception):  # noqa: N818 - it is an answer, no error of ours
    """A request that is not carried out, and why."""

    def __init__(self, status: int, reason: str, message: str, details: Details | None = None) -> None:
        """`reason` is for programs, `message` for people."""
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details or {}

    def to_object(self) -> dict[str, Any]:
        """The Status object."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({"details": self.details} if self.details else {}),
            "code": self.status,
        }

    def response(self) -> Response:
        """The whole answer, with Retry-After where there is one."""
        headers = {"content-type": JSON}
        if "retryAfterSeconds" in self.details:
            headers["retry-after"] = str(self.details["retryAfterSeconds"])
        return Response(self.status, msgspec.json.encode(self.to_object()), headers)


def bad_request(message: str) -> Refusal:
    """The request cannot be read."""
    return Refusal(400, "BadRequest", message)


def unsupported(what: str) -> Refusal:
    """A cluster would do this, and the sandbox does not pretend to."""
    return Refusal(501, "NotImplemented", f"the sandbox does not do this: {what}")


def not_found(resource: str, name: str) -> Refusal:
    """There is no such object; `resource` is the plural, with its group if it has one."""
    return Refusal(404, "NotFound", f'{resource} "{name}" not found', _about(resource, name))


def already_exists(resource: str, name: str) -> Refusal:
    """There is one of this name."""
    return Refusal(409, "AlreadyExists", f'{resource} "{name}" already exists', _about(resource, name))


def conflict(resource: str, name: str, why: str) -> Refusal:
    """A precondition does not hold."""
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Refusal(409, "Conflict", message, _about(resource, name))


def modified(resource: str, name: str) -> Refusal:
    """The object is of another resourceVersion than the writer thought."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def forbidden(resource: str, name: str, why: str) -> Refusal:
    """An admission rule is against it."""
    return Refusal(403, "Forbidden", f'{resource} "{name}" is forbidden: {why}', _about(resource, name))


def invalid(kind: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """The object is none that its kind allows; `kind` with its group if it has one."""
    listed = [{"reason": cause.type, "message": cause.message, "field": cause.field} for cause in causes]
    said = "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
    about = {**_about(kind, name), "causes": listed}
    return Refusal(422, "Invalid", f'{kind} "{name}" is invalid: {said}', about)


def expired(message: str) -> Refusal:
    """The version that is asked for is no longer known."""
    return Refusal(410, "Expired", message)


def too_many(message: str, *, retry_after: int | None = None, causes: Sequence[Cause] = ()) -> Refusal:
    """Not now."""
    details: dict[str, Any] = {}
    if causes:
        details["causes"] = [{"reason": cause.type, "message": cause.message} for cause in causes]
    if retry_after is not None:
        details["retryAfterSeconds"] = retry_after
    return Refusal(429, "TooManyRequests", message, details)


def defect(message: str) -> Refusal:
    """What an API server answers where something gets past its own validation: 500, without a reason."""
    return Refusal(500, "", message)


def timed_out(message: str = "Timeout: request did not complete within the allotted timeout") -> Refusal:
    """Time ran out; the write may have been done."""
    return Refusal(504, "Timeout", message)


def _about(resource: str, name: str) -> dict[str, Any]:
    kind, _, group = resource.partition(".")
    return {field: text for field, text in (("name", name), ("group", group), ("kind", kind)) if text}
