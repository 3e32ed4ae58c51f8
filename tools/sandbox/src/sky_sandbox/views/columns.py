"""The cells of a table: by JSONPath for most kinds, computed for those whose columns no path can say."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from sky_core.model import Instant
from sky_core.simulation.objects import conditions, part, text
from sky_sandbox.api.kinds import Column, Kind
from sky_sandbox.objects.parts import items
from sky_sandbox.views.ages import age
from sky_sandbox.views.json_paths import find

Object: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Callable[[Object, Instant], Any]

ROLE: Final = "node-role.kubernetes.io/"
NONE: Final = "<none>"
NAME: Final = Column(name="Name", path=".metadata.name")
AGE: Final = Column(name="Age", path=".metadata.creationTimestamp", type="date")


class Computed(NamedTuple):
    """A column whose cells a function knows."""

    name: str
    cell: Cell
    type: str = "string"
    wide: bool = False


def columns(kind: Kind) -> tuple[Computed, ...]:
    """The columns of a kind, the name first."""
    if kind.kept_as in COMPUTED:
        return (_by_path(NAME), *COMPUTED[kind.kept_as])
    return tuple(map(_by_path, (NAME, *(kind.columns or (AGE,)))))


def _by_path(column: Column) -> Computed:
    def cell(raw: Object, now: Instant) -> Any:
        found = find(column.path, raw)
        return _shown(column.type, found[0], now) if found else None

    return Computed(column.name, cell, column.type, column.wide)


def _shown(kind: str, value: Any, now: Instant) -> Any:
    """A value as the API server puts it into a cell of this type; None where it does not fit."""
    if kind == "date":
        return age(value, now)
    if kind == "string":
        return value if isinstance(value, str) else msgspec.json.encode(value).decode()
    fits = isinstance(value, _CELLS[kind]) and isinstance(value, bool) is (kind == "boolean")
    return (int(value) if kind == "integer" else value) if fits else None


_CELLS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "boolean": bool,
    "integer": (int, float),
    "number": (int, float),
}


def _created(raw: Object, now: Instant) -> str:
    return age(part(raw, "metadata").get("creationTimestamp"), now)


def _ready(raw: Object, _: Instant) -> str:
    ready = sum(one.get("ready") is True for one in items(part(raw, "status"), "containerStatuses"))
    return f"{ready}/{len(items(part(raw, 'spec'), 'containers'))}"


def _pod_status(raw: Object, _: Instant) -> str:
    if part(raw, "metadata").get("deletionTimestamp"):
        return "Terminating"
    status = part(raw, "status")
    found = text(status, "reason") or text(status, "phase") or "Unknown"
    for one in items(status, "containerStatuses"):
        for state in part(one, "state").values():
            found = text(state, "reason") or found
    if any(one.get("reason") == "SchedulingGated" for one in conditions(raw)):
        return "SchedulingGated"
    return found


def _restarts(raw: Object, _: Instant) -> str:
    counts = [one.get("restartCount") for one in items(part(raw, "status"), "containerStatuses")]
    return str(sum(count for count in counts if isinstance(count, int)))


def _or_none(*path: str) -> Cell:
    *where, name = path
    return lambda raw, _: part(raw, *where).get(name) or NONE


def _node_status(raw: Object, _: Instant) -> str:
    ready = next((one.get("status") for one in conditions(raw) if one.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if part(raw, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(raw: Object, _: Instant) -> str:
    labels = part(raw, "metadata", "labels")
    return ",".join(sorted(key.removeprefix(ROLE) for key in labels if key.startswith(ROLE))) or NONE


def _address(raw: Object, _: Instant) -> str:
    addresses = items(part(raw, "status"), "addresses")
    return next((text(one, "address") for one in addresses if one.get("type") == "InternalIP"), NONE)


def _last_seen(raw: Object, now: Instant) -> str:
    return age(part(raw, "series").get("lastObservedTime") or raw.get("lastTimestamp") or raw.get("eventTime"), now)


def _about(raw: Object, _: Instant) -> str:
    about = part(raw, "involvedObject")
    return f"{text(about, 'kind').lower()}/{text(about, 'name')}"


def _or(name: str, absent: str) -> Cell:
    return lambda raw, _: str(part(raw, "spec").get(name, absent))


COMPUTED: Final[Mapping[str, tuple[Computed, ...]]] = {
    "pods": (
        Computed("Ready", _ready),
        Computed("Status", _pod_status),
        Computed("Restarts", _restarts),
        Computed("Age", _created),
        Computed("IP", _or_none("status", "podIP"), wide=True),
        Computed("Node", _or_none("spec", "nodeName"), wide=True),
        Computed("Nominated Node", _or_none("status", "nominatedNodeName"), wide=True),
    ),
    "nodes": (
        Computed("Status", _node_status),
        Computed("Roles", _roles),
        Computed("Age", _created),
        Computed("Version", lambda raw, _: text(part(raw, "status", "nodeInfo"), "kubeletVersion")),
        Computed("Internal-IP", _address, wide=True),
    ),
    "events": (
        Computed("Last Seen", _last_seen),
        Computed("Type", lambda raw, _: text(raw, "type")),
        Computed("Reason", lambda raw, _: text(raw, "reason")),
        Computed("Object", _about),
        Computed("Message", lambda raw, _: text(raw, "message")),
    ),
    "configmaps": (
        Computed("Data", lambda raw, _: len(part(raw, "data")) + len(part(raw, "binaryData")), "integer"),
        Computed("Age", _created),
    ),
    "poddisruptionbudgets.policy": (
        Computed("Min Available", _or("minAvailable", "N/A")),
        Computed("Max Unavailable", _or("maxUnavailable", "N/A")),
        Computed("Allowed Disruptions", lambda raw, _: part(raw, "status").get("disruptionsAllowed", 0), "integer"),
        Computed("Age", _created),
    ),
}
