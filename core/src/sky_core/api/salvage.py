"""What can be read of a malformed pod, so that it still counts on its node (behaviour.md 11)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sky_core.api import annotations
from sky_core.api.amounts import readable
from sky_core.api.faults import Fault, Invalid
from sky_core.api.identity import Key, is_name, is_uid
from sky_core.api.instants import instant
from sky_core.api.pods import PodReading, is_critical, job_of
from sky_core.api.requests import aggregate
from sky_core.api.shapes import spot_shape
from sky_core.model import Instant, NodeName, Pool, Shape, Task, TaskId
from sky_core.resources import MAX, Resources
from sky_core.settings import Settings
from sky_core.states import TaskState

_NOWHERE: Final[Mapping[str, Any]] = {}


def pod(key: Key, raw: Mapping[str, Any], settings: Settings, fault: Fault) -> PodReading | None:
    """What a malformed pod takes of its node, and whose it is; None for one that has no proper name."""
    if not key.is_proper:
        return None
    meta, spec, status = (_part(raw, name) for name in ("metadata", "spec", "status"))
    notes = _part(meta, "annotations")
    ours = spec.get("schedulerName") == settings.scheduler_name
    group, node = _name(notes.get(annotations.GROUP_NAME)), _name(spec.get("nodeName"))
    created = _instant(meta.get("creationTimestamp"))
    uid = _text(meta.get("uid"))
    return PodReading(
        task=Task(
            id=TaskId(uid if uid and is_uid(uid) else str(key)),
            namespace=key.namespace,
            name=key.name,
            job=job_of(key, group) if ours else None,
            shape=_shape(key, spec, settings),
            labels={},
            created=created,
            state=TaskState.PENDING,
            rank=(2, 0, "", False, 0, created, key.name),
            place=key.name,
            node=NodeName(node) if node else None,
            critical=is_critical(key, ""),
        ),
        phase=_text(status.get("phase")),
        deleting=bool(meta.get("deletionTimestamp")),
        group=group,
        fault=fault,
    )


def _shape(key: Key, spec: Mapping[str, Any], settings: Settings) -> Shape:
    inits = [(_asked(one), one.get("restartPolicy") == "Always") for one in _parts(spec, "initContainers")]
    whole = aggregate([_asked(one) for one in _parts(spec, "containers")], inits)
    whole += readable(spec.get("overhead"))
    whole = whole.least(Resources(dict.fromkeys(whole.units, MAX)))
    try:
        spot, units, load = spot_shape(whole, Pool.EXCLUSIVE, settings)
    except Invalid:
        spot, units, load = None, 0, whole
    return Shape(request=whole, load=load, namespace=key.namespace, spot=spot, spot_units=units)


def _asked(container: Mapping[str, Any]) -> Resources:
    written = _part(container, "resources")
    requests, limits = readable(written.get("requests")), readable(written.get("limits"))
    return requests + limits.without(requests.units) if limits else requests


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    return part if isinstance(part, Mapping) else _NOWHERE


def _parts(value: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    parts = value.get(name)
    return [part for part in parts if isinstance(part, Mapping)] if isinstance(parts, Sequence) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and is_name(value) else None


def _instant(value: object) -> Instant:
    try:
        return instant(_text(value))
    except ValueError:
        return Instant(0)
