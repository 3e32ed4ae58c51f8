"""What happens later: documents of `kind: Timeline`, read strictly into events."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from sky_core.api.identity import NAMESPACED, Key, key_of
from sky_core.api.instants import duration
from sky_core.model import Duration

API_VERSION: Final = "simulation.scheduling.infini-ai.com/v1alpha1"
KIND: Final = "Timeline"
OUTCOME_UNKNOWN: Final = 504
"""The status of a call that timed out on its way: what was asked for has happened all the same."""


class Apply(msgspec.Struct, frozen=True):
    """Create an object, or replace the one of its kind and name."""

    object: Mapping[str, Any]

    def __str__(self) -> str:
        """In words."""
        return f"apply {key_of(self.object)}"


class Delete(msgspec.Struct, frozen=True):
    """Delete an object; a pod on a node is told to go first."""

    key: Key

    def __str__(self) -> str:
        """In words."""
        return f"delete {self.key}"


class Finish(msgspec.Struct, frozen=True):
    """A pod ends, as Succeeded or Failed."""

    pod: Key
    phase: str

    def __str__(self) -> str:
        """In words."""
        return f"finish {self.pod} as {self.phase}"


class FailNextBind(msgspec.Struct, frozen=True):
    """The pod's next Binding is answered with this HTTP status, whatever comes of it."""

    pod: Key
    status: int

    def __str__(self) -> str:
        """In words."""
        return f"fail the next Binding of {self.pod} with {self.status}"


class Event(msgspec.Struct, frozen=True):
    """What happens, and when, counted from the first cycle."""

    at: Duration
    what: Apply | Delete | Finish | FailNextBind


class TimelineError(ValueError):
    """A timeline cannot be read: where in it, and what is wrong. For people."""


def events(timelines: Iterable[Mapping[str, Any]]) -> tuple[Event, ...]:
    """The events of all timelines by time; of those of one instant in one document, as they stand there.

    The order of the documents means nothing.

    Raises:
        TimelineError: A field is missing, unknown or wrong.
    """
    read = [_document(document) for document in sorted(timelines, key=_canonical)]
    return tuple(sorted((event for found in read for event in found), key=lambda event: event.at))


def _canonical(value: object) -> str:
    """Text that is equal where values are, whatever the order of their keys."""
    if isinstance(value, Mapping):
        return "{" + ",".join(sorted(f"{key!r}:{_canonical(inner)}" for key, inner in value.items())) + "}"
    return "[" + ",".join(map(_canonical, value)) + "]" if isinstance(value, list) else repr(value)


def _document(document: Mapping[str, Any]) -> list[Event]:
    _only("", document, {"apiVersion", "kind", "metadata", "events"})
    if document.get("apiVersion") != API_VERSION:
        raise TimelineError(f"apiVersion: write {API_VERSION}")
    found = document.get("events")
    if not isinstance(found, list):
        raise TimelineError("events: write a list of events")
    return [_event(f"events[{i}]", entry) for i, entry in enumerate(found)]


def _event(path: str, entry: object) -> Event:
    fields = _mapping(path, entry)
    _only(path, fields, {"at", *_VERBS})
    verbs = [verb for verb in _VERBS if verb in fields]
    if len(verbs) != 1:
        raise TimelineError(f"{path}: write one of {', '.join(_VERBS)}")
    text = fields.get("at")
    if not isinstance(text, str):
        raise TimelineError(f"{path}.at: write a duration, such as 20s")
    try:
        at = duration(text)
    except ValueError as error:
        raise TimelineError(f"{path}.at: {error}") from None
    inner = f"{path}.{verbs[0]}"
    return Event(at, _VERBS[verbs[0]](inner, _mapping(inner, fields[verbs[0]])))


def _apply(path: str, fields: Mapping[str, Any]) -> Apply:
    key = key_of(fields)
    for field, text in (("kind", key.kind), ("metadata.name", key.name)):
        if not text:
            raise TimelineError(f"{path}.{field}: write the object's {field}")
    return Apply(fields)


def _delete(path: str, fields: Mapping[str, Any]) -> Delete:
    _only(path, fields, {"kind", "namespace", "name"})
    return Delete(_key(path, _text(f"{path}.kind", fields.get("kind")), fields))


def _finish(path: str, fields: Mapping[str, Any]) -> Finish:
    _only(path, fields, {"namespace", "name", "phase"})
    phase = fields.get("phase")
    if phase not in ("Succeeded", "Failed"):
        raise TimelineError(f"{path}.phase: write Succeeded or Failed")
    return Finish(_key(path, "Pod", fields), phase)


def _fail_next_bind(path: str, fields: Mapping[str, Any]) -> FailNextBind:
    _only(path, fields, {"pod", "status"})
    namespace, slash, name = _text(f"{path}.pod", fields.get("pod")).partition("/")
    if not (namespace and slash and name):
        raise TimelineError(f"{path}.pod: write namespace/name")
    status = fields.get("status")
    if isinstance(status, bool) or not isinstance(status, int) or not 400 <= status <= 599:
        raise TimelineError(f"{path}.status: write an HTTP status from 400 to 599")
    return FailNextBind(Key("Pod", namespace, name), status)


_VERBS: Final[Mapping[str, Callable[[str, Mapping[str, Any]], Apply | Delete | Finish | FailNextBind]]] = {
    "apply": _apply,
    "delete": _delete,
    "finish": _finish,
    "failNextBind": _fail_next_bind,
}


def _key(path: str, kind: str, fields: Mapping[str, Any]) -> Key:
    name = _text(f"{path}.name", fields.get("name"))
    namespace = _text(f"{path}.namespace", fields.get("namespace", "default"))
    return Key(kind, namespace if kind in NAMESPACED else "", name)


def _only(path: str, fields: Mapping[str, Any], known: set[str]) -> None:
    unknown = [str(field) for field in fields if field not in known]
    if unknown:
        raise TimelineError(f"{path or 'timeline'}: unknown {', '.join(unknown)}; known: {', '.join(sorted(known))}")


def _mapping(path: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TimelineError(f"{path}: write a mapping")
    return value


def _text(path: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TimelineError(f"{path}: write text")
    return value
