"""Kubernetes objects out of files."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from sky_core.api.identity import key_of
from sky_core.api.kinds import kind_of
from sky_core.simulation import timeline
from sky_shell.reading.documents import Written, written
from sky_shell.reading.places import File, Place
from skyctl.files import files

Object = dict[str, Any]

_CONFIGURATION: Final = "SchedulerConfiguration"
_QUOTED_MAX: Final = 40


class Manifests(NamedTuple):
    """What files hold: objects, events for later, and one line for each object of a kind that no simulation knows."""

    objects: list[Object]
    events: tuple[timeline.Event, ...]
    skipped: list[str]


def load(paths: Iterable[str]) -> Manifests:
    """What these files and folders hold, or standard input.

    Raises:
        InputError: One can't be read, or as for `loaded`.
    """
    return loaded(files(paths))


def loaded(given: Iterable[File]) -> Manifests:
    """What these files hold, in the order in which it stands there.

    Raises:
        InputError: A file is neither YAML nor JSON, a document is no Kubernetes object or no Timeline, or an object is
            given twice.
    """
    objects: list[Object] = []
    timelines: list[Object] = []
    skipped: list[str] = []
    first: dict[str, Place] = {}
    for file in given:
        for place, value in map(_object, written(file)):
            if _is_timeline(value):
                timelines.append(_timeline(place, value))
            elif kind_of(key_of(value), value) is None:
                skipped.append(_skipped(place, value))
            else:
                identity = _identity(place, value)
                if identity in first:
                    raise place.wrong(f"{identity} is given twice, first in {first[identity]}; remove one of the two")
                first[identity] = place
                objects.append(value)
    return Manifests(objects, timeline.events(timelines), skipped)


def _object(document: Written) -> tuple[Place, Object]:
    place, value = document
    if not isinstance(value, dict):
        said = "a list" if isinstance(value, list) else _quoted(value)
        raise place.wrong(f"{said} is no Kubernetes object; one has apiVersion, kind and metadata.name")
    for field in ("kind", "apiVersion"):
        if not isinstance(value.get(field) or "", str):
            raise place.wrong(f"{field} is {_quoted(value[field])} and must be text; quote it")
    if not value.get("kind"):
        raise place.wrong("no Kubernetes object: it has no kind; one has apiVersion, kind and metadata.name")
    return place, value


def _is_timeline(value: Object) -> bool:
    group = (value.get("apiVersion") or timeline.API_VERSION).partition("/")[0]
    return value["kind"] == timeline.KIND and group == timeline.API_VERSION.partition("/")[0]


def _timeline(place: Place, value: Object) -> Object:
    """The timeline, if it can be read."""
    try:
        timeline.events([value])
    except timeline.TimelineError as error:
        raise place.wrong(str(error)) from None
    return value


def _identity(place: Place, value: Object) -> str:
    """Kind/name or Kind/namespace/name, for people and to tell objects apart."""
    key = key_of(value)
    if not key.name:
        what = f"this {key.kind} has no metadata.name, or one that is no text; give it a name, quoted if need be"
        raise place.wrong(what)
    if not isinstance(value["metadata"].get("namespace") or "", str):
        raise place.wrong(f"metadata.namespace of {key} is no text; quote it")
    return str(key)


def _skipped(place: Place, value: Object) -> str:
    kind = value["kind"]
    if kind == _CONFIGURATION:
        return f"{place}: skipped: a {kind} is given with --config"
    return f"{place}: skipped: a simulation has no use for {kind} ({value.get('apiVersion') or 'no apiVersion'})"


def _quoted(value: object) -> str:
    return repr(value)[:_QUOTED_MAX]
