"""What a client asks, as values: the request, the object that its path names, and the options in its query."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from sky_core.api.instants import duration
from sky_core.model import Duration
from sky_sandbox.api import protobuf
from sky_sandbox.api.refusals import Cause, Refusal, bad_request, invalid, unsupported
from sky_shell.transport import JSON

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

_TRUE: Final = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def _number(text: str) -> int | float:
    """What Go writes of a number that has a point or an exponent: a whole one has neither."""
    value = float(text)
    return int(value) if value.is_integer() else value


_JSON: Final = msgspec.json.Decoder(float_hook=_number)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request; the query unencoded, the path as it was sent."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    accept: str = JSON
    content_type: str = JSON
    body: bytes = b""

    def flag(self, name: str) -> bool:
        """Whether the query sets this."""
        return self.query.get(name, "") in _TRUE

    def number(self, name: str) -> int:
        """A number in the query, 0 if it is not there.

        Raises:
            Refusal: It is none.
        """
        text = self.query.get(name) or "0"
        if not (text.isascii() and text.isdigit()):
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
        return int(text)

    @property
    def timeout(self) -> Duration | None:
        """How long the server may take over it.

        Raises:
            Refusal: The query says it wrongly, as `3` instead of `3s`.
        """
        text = self.query.get("timeout")
        if not text or self.flag("watch"):
            return None
        try:
            found = duration(text)
        except ValueError:
            found = Duration(0)
        if not found and text != "0s":
            raise bad_request(f"invalid timeout specified in the request URL: {text!r}")
        return found or None

    def json(self) -> Any:
        """The body's value.

        Raises:
            Refusal: It cannot be read.
        """
        if self.content_type.startswith(PROTOBUF):
            return protobuf.decode(self.body)
        if "cbor" in self.content_type:
            raise unsupported(f"read {self.content_type}; send JSON")
        try:
            return _JSON.decode(self.body)
        except (msgspec.DecodeError, RecursionError) as error:
            if "yaml" in self.content_type:
                raise unsupported("read YAML; JSON is YAML too, send that") from None
            raise bad_request(f"the body is not JSON: {error}") from None

    def json_object(self) -> dict[str, Any]:
        """The body's object.

        Raises:
            Refusal: It is something else.
        """
        value = self.json()
        if not isinstance(value, dict):
            raise bad_request("the body is no object")
        return value


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a path names: a collection, an object or a part of one. `group` is empty for the core group."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def target(path: str) -> Target | None:
    """The target of a path; None if it names none."""
    match [unquote(part) for part in path.strip("/").split("/")]:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return None
    match rest:
        case ["namespaces", namespace, plural, *rest] if plural not in {"status", "finalize"}:
            pass
        case [plural, *rest]:
            namespace = ""
    if len(rest) > 2:
        return None
    name, subresource = (*rest, "", "")[:2]
    return Target(group=group, version=version, plural=plural, namespace=namespace, name=name, subresource=subresource)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a write is to be done."""

    dry_run: bool = False
    manager: str = "unknown"
    validation: str = "Warn"
    force: bool = False


def options(request: Request) -> Options:
    """The options in a write's query.

    Raises:
        Refusal: One has a value that it cannot have.
    """
    query = request.query
    validation = query.get("fieldValidation") or "Warn"
    if validation not in {"Ignore", "Warn", "Strict"}:
        raise _unsupported_value(request.method, "fieldValidation", validation)
    if query.get("dryRun", "") not in {"", "All"}:
        raise _unsupported_value(request.method, "dryRun", query["dryRun"])
    return Options(
        dry_run=query.get("dryRun") == "All",
        manager=query.get("fieldManager") or "unknown",
        validation=validation,
        force=request.flag("force"),
    )


_OPTIONS: Final[Mapping[str, str]] = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


def _unsupported_value(method: str, field: str, value: str) -> Refusal:
    cause = Cause(field, f'Unsupported value: "{value}"', "FieldValueNotSupported")
    return invalid(f"{_OPTIONS[method]}.meta.k8s.io", "", [cause])
