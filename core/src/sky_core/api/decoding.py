"""From an object, which may hold anything, to the struct of its kind."""

import re
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import msgspec

from sky_core.api.faults import Invalid
from sky_core.api.wire import core

_T = TypeVar("_T")

_TEXTS: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector"})
_DEPTH_MAX: Final = 32
_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$", re.DOTALL)

pod_in: Final = msgspec.json.Decoder(core.Pod).decode
node_in: Final = msgspec.json.Decoder(core.Node).decode
"""What a JSON text holds, with nothing in between. Nulls are not known here."""


def decoded(raw: Mapping[str, Any] | _T, kind: type[_T]) -> _T:
    """The struct that an object of this kind is; one that was decoded as such is taken as it is.

    As in Kubernetes, a null means absent, and among labels the empty text.

    Raises:
        Invalid: A field has the wrong type, or is out of its bounds.
    """
    if isinstance(raw, kind):
        return raw
    try:
        return msgspec.convert(raw, kind)
    except (msgspec.ValidationError, UnicodeError):
        pass  # nulls are rare: they are looked for only where something is amiss
    try:
        return msgspec.convert(_without_nulls(raw, {}, 0), kind)
    except msgspec.ValidationError as error:
        text = str(error)
        place = _PLACE.search(text)
        what = text[: place.start()] if place else text
        raise Invalid(place[1] if place else "", _worded(what)) from None
    except UnicodeError:
        raise Invalid("", "a field's name is not Unicode text") from None


def _worded(what: str) -> str:
    return what[0].lower() + what[1:].replace("`", "").replace("null", "nothing")


def _without_nulls(value: Any, done: dict[int, Any], depth: int) -> Any:
    """Without nulls. `done` keeps what was seen, since one part of a YAML document may stand in many places."""
    if depth > _DEPTH_MAX or not isinstance(value, Mapping | list | tuple):
        return value
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, Mapping):
        kept: dict[Any, Any] = {}
        done[id(value)] = kept
        for key, part in value.items():
            if key in _TEXTS and isinstance(part, Mapping):
                kept[key] = {label: "" if text is None else text for label, text in part.items()}
            elif part is not None:
                kept[key] = _without_nulls(part, done, depth + 1)
        return kept
    parts: list[Any] = []
    done[id(value)] = parts
    parts.extend(_without_nulls(part, done, depth + 1) for part in value)
    return parts
