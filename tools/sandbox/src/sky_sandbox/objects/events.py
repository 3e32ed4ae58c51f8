"""Events: one set of objects that two groups show in their own words, and what the newer group demands of them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.simulation.objects import part, text
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.metadata import is_qualified_name
from sky_sandbox.api.refusals import Cause, invalid
from sky_sandbox.api.storage import Stored
from sky_sandbox.objects.case import Case, Object

RESOURCE: Final = "events"
GROUP: Final = "events.k8s.io"

_NEWER: Final = {
    "involvedObject": "regarding", "message": "note", "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp", "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount", "reportingComponent": "reportingController",
}  # fmt: skip
_OLDER: Final = {newer: older for older, newer in _NEWER.items()}
_NEEDED: Final = ("eventTime", "reportingComponent", "reportingInstance", "action", "reason")
_LONGEST: Final = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}
_DEPRECATED: Final = ("source", "firstTimestamp", "lastTimestamp", "count")
_UNTIMED: Final = {"eventTime": None, "firstTimestamp": None, "lastTimestamp": None}
"""What an event has even where it has no value, so that clients can sort by it."""
_CLUSTERS: Final = ("default", "kube-system")


def shown(kind: Kind, stored: Stored) -> bytes:
    """The JSON of a stored object, in its kind's words."""
    return msgspec.json.encode(viewed(kind, stored.object)) if kind.group == GROUP else stored.json


def viewed(kind: Kind, raw: Object) -> Object:
    """A stored object in its kind's words."""
    return _renamed(raw, _NEWER) if kind.group == GROUP else raw


def kept(kind: Kind, raw: Object) -> Object:
    """An object of this kind in the words in which it is stored."""
    return _renamed(raw, _OLDER) if kind.group == GROUP else raw


def kept_path(kind: Kind, path: str) -> tuple[str, ...]:
    """The path at which a field of this kind is stored."""
    first, *rest = path.split(".")
    return (_OLDER.get(first, first) if kind.group == GROUP else first, *rest)


def admit(raw: dict[str, Any], case: Case) -> Object:
    """An event, in the words in which it is stored.

    Raises:
        Refusal: It is in the wrong namespace; or it is of the newer group and incomplete, or changed beyond its series.
    """
    about = text(part(raw, "involvedObject"), "namespace")
    namespace = text(part(raw, "metadata"), "namespace")
    newer = case.kind.group == GROUP
    causes = []
    if namespace not in _CLUSTERS if not about else about != namespace and not newer:
        causes = [Cause("involvedObject.namespace", f"Invalid value: {about!r}: does not match event.namespace")]
    elif newer or raw.get("eventTime"):
        causes = list(_changes(raw, case.old) if case.old else _lacks(raw))
    if causes:
        raise invalid(case.kind.kind, case.name, causes)  # of neither group
    return {**_UNTIMED, **raw}


def _lacks(raw: Object) -> list[Cause]:
    causes = [Cause(_name(field), "Required value", "FieldValueRequired") for field in _NEEDED if not raw.get(field)]
    if not is_qualified_name(text(raw, "reportingComponent")):
        causes.append(Cause("reportingController", "Invalid value: a qualified name is wanted"))
    if text(raw, "type") not in {"Normal", "Warning"}:
        causes.append(Cause("type", f'Invalid value: "{text(raw, "type")}"'))
    causes += [
        Cause(field, f"Invalid value: can have at most {most} characters")
        for field, most in _LONGEST.items()
        if len(text(raw, field)) > most
    ]
    causes += [Cause(field, "Invalid value: needs to be unset") for field in _DEPRECATED if raw.get(field)]
    return causes + _series(raw)


def _changes(raw: Object, old: Object) -> list[Cause]:
    fixed = sorted((raw.keys() | old.keys()) - {"metadata", "series"})
    causes = [Cause(_name(field), "field is immutable") for field in fixed if raw.get(field) != old.get(field)]
    return causes + _series(raw)


def _series(raw: Object) -> list[Cause]:
    series = raw.get("series")
    if not isinstance(series, Mapping):
        return []
    causes = [Cause("series.count", "Invalid value: should be at least 2")] if series.get("count", 0) < 2 else []
    if not series.get("lastObservedTime"):
        causes.append(Cause("series.lastObservedTime", "Required value", "FieldValueRequired"))
    return causes


def _name(field: str) -> str:
    """What messages call a field: as it is stored, with one exception."""
    return _NEWER[field] if field == "reportingComponent" else field


def _renamed(raw: Object, names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in raw.items()}
