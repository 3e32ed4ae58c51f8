"""Events: one set of objects that two groups show in their own words, and what the newer group demands of them."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.simulation.objects import part, text
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.refusals import Cause
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
_NOTE_MAX: Final = 1024
_TEXT_MAX: Final = 128
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


def admit(raw: dict[str, Any], case: Case) -> Object:
    """An event, in the words in which it is stored.

    Raises:
        Refusal: It is in the wrong namespace; or it is of the newer group and incomplete, or changed beyond its series.
    """
    about = text(part(raw, "involvedObject"), "namespace")
    namespace = text(part(raw, "metadata"), "namespace")
    newer = case.kind.group == GROUP
    if namespace not in _CLUSTERS if not about else about != namespace and not newer:
        raise case.invalid_at("involvedObject.namespace", f"Invalid value: {about!r}: does not match event.namespace")
    if not newer and not raw.get("eventTime"):
        return raw
    causes = list(_changes(raw, case.old) if case.old else _lacks(raw))
    if causes:
        raise case.invalid(*causes)
    return raw


def _lacks(raw: Object) -> list[Cause]:
    needed = ("eventTime", "reportingComponent", "reportingInstance", "action", "reason", "type")
    causes = [
        Cause(_NEWER.get(name, name), "Required value", "FieldValueRequired") for name in needed if not raw.get(name)
    ]
    for name in ("reportingInstance", "action", "reason"):
        if len(text(raw, name)) > _TEXT_MAX:
            causes.append(Cause(name, f"can have at most {_TEXT_MAX} characters"))
    if len(text(raw, "message")) > _NOTE_MAX:
        causes.append(Cause("note", f"can have at most {_NOTE_MAX} characters"))
    if raw.get("type") not in {None, "", "Normal", "Warning"}:
        causes.append(Cause("type", f"Invalid value: {raw['type']!r}"))
    return causes + _series(raw)


def _changes(raw: Object, old: Object) -> list[Cause]:
    fixed = sorted((raw.keys() | old.keys()) - {"metadata", "series"})
    causes = [Cause(_NEWER.get(name, name), "field is immutable") for name in fixed if raw.get(name) != old.get(name)]
    return causes + _series(raw)


def _series(raw: Object) -> list[Cause]:
    series = raw.get("series")
    if isinstance(series, Mapping) and not (isinstance(series.get("count"), int) and series["count"] >= 2):
        return [Cause("series.count", "should be at least 2")]
    return []


def _renamed(raw: Object, names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in raw.items()}
