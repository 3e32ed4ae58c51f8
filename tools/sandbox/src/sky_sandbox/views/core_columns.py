"""The columns of core kinds, and their cells (kubernetes, pkg/printers/internalversion)."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from sky_core.model import Instant
from sky_core.simulation.objects import conditions, part, text
from sky_sandbox.objects.parts import items
from sky_sandbox.views.ages import age

Object: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Callable[[Object, Instant], Any]

NONE: Final = "<none>"
UNKNOWN: Final = "<unknown>"
UNSET: Final = "<unset>"
ROLE: Final = "node-role.kubernetes.io/"
MODES: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


class Computed(NamedTuple):
    """A column whose cells a function knows."""

    name: str
    cell: Cell
    type: str = "string"
    wide: bool = False


def _at(*path: str, absent: object = "") -> Cell:
    *where, name = path
    return lambda raw, _: part(raw, *where).get(name) or absent


def _age(raw: Object, now: Instant) -> str:
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


def _readiness_gates(raw: Object, _: Instant) -> str:
    wanted = [text(gate, "conditionType") for gate in items(part(raw, "spec"), "readinessGates")]
    met = sum(one.get("status") == "True" for one in conditions(raw) if one.get("type") in wanted)
    return f"{met}/{len(wanted)}" if wanted else NONE


def _node_status(raw: Object, _: Instant) -> str:
    ready = next((one.get("status") for one in conditions(raw) if one.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if part(raw, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(raw: Object, _: Instant) -> str:
    labels = part(raw, "metadata", "labels")
    return ",".join(sorted(key.removeprefix(ROLE) for key in labels if key.startswith(ROLE))) or NONE


def _address(kind: str) -> Cell:
    def cell(raw: Object, _: Instant) -> str:
        addresses = items(part(raw, "status"), "addresses")
        return next((text(one, "address") for one in addresses if one.get("type") == kind), NONE)

    return cell


def _first_seen(raw: Object, now: Instant) -> str:
    return age(raw.get("firstTimestamp") or raw.get("eventTime"), now)


def _last_seen(raw: Object, now: Instant) -> str:
    last = part(raw, "series").get("lastObservedTime") or raw.get("lastTimestamp")
    return age(last, now) if last else _first_seen(raw, now)


def _about(raw: Object, _: Instant) -> str:
    about = part(raw, "involvedObject")
    return "/".join(filter(None, (text(about, "kind").lower(), text(about, "name"))))


def _source(raw: Object, _: Instant) -> str:
    source = part(raw, "source")
    who = text(source, "component") or text(raw, "reportingComponent")
    return ", ".join(filter(None, (who, text(source, "host") or text(raw, "reportingInstance"))))


def _times(raw: Object, _: Instant) -> int:
    return part(raw, "series").get("count") or raw.get("count") or 1


def _phase(raw: Object, _: Instant) -> str:
    return "Terminating" if part(raw, "metadata").get("deletionTimestamp") else text(part(raw, "status"), "phase")


def _modes(of: str) -> Cell:
    return lambda raw, _: ",".join(
        short for long, short in MODES.items() if long in part(raw, of).get("accessModes", ())
    )


def _claim(raw: Object, _: Instant) -> str:
    claim = part(raw, "spec", "claimRef")
    return f"{text(claim, 'namespace')}/{text(claim, 'name')}" if claim else ""


def _or(name: str, absent: str) -> Cell:
    return lambda raw, _: str(part(raw, "spec").get(name, absent))


def _nothing(_raw: Object, _now: Instant) -> str:
    """Of a kind of which there are no objects."""
    return ""


_AGE: Final = Computed("Age", _age)
_CREATED: Final = Computed("Created At", _at("metadata", "creationTimestamp"), "date")
_CLASSES: Final = (
    Computed("StorageClass", _at("spec", "storageClassName")),
    Computed("VolumeAttributesClass", _at("spec", "volumeAttributesClassName", absent=UNSET)),
)
_MODE: Final = Computed("VolumeMode", _at("spec", "volumeMode", absent=UNSET), wide=True)

CORE_COLUMNS: Final[Mapping[str, tuple[Computed, ...]]] = {
    "pods": (
        Computed("Ready", _ready),
        Computed("Status", _pod_status),
        Computed("Restarts", _restarts),
        _AGE,
        Computed("IP", _at("status", "podIP", absent=NONE), wide=True),
        Computed("Node", _at("spec", "nodeName", absent=NONE), wide=True),
        Computed("Nominated Node", _at("status", "nominatedNodeName", absent=NONE), wide=True),
        Computed("Readiness Gates", _readiness_gates, wide=True),
    ),
    "nodes": (
        Computed("Status", _node_status),
        Computed("Roles", _roles),
        _AGE,
        Computed("Version", _at("status", "nodeInfo", "kubeletVersion")),
        Computed("Internal-IP", _address("InternalIP"), wide=True),
        Computed("External-IP", _address("ExternalIP"), wide=True),
        Computed("OS-Image", _at("status", "nodeInfo", "osImage", absent=UNKNOWN), wide=True),
        Computed("Kernel-Version", _at("status", "nodeInfo", "kernelVersion", absent=UNKNOWN), wide=True),
        Computed("Container-Runtime", _at("status", "nodeInfo", "containerRuntimeVersion", absent=UNKNOWN), wide=True),
    ),
    "namespaces": (Computed("Status", _at("status", "phase")), _AGE),
    "events": (
        Computed("Last Seen", _last_seen),
        Computed("Type", _at("type")),
        Computed("Reason", _at("reason")),
        Computed("Object", _about),
        Computed("Subobject", _at("involvedObject", "fieldPath"), wide=True),
        Computed("Source", _source, wide=True),
        Computed("Message", lambda raw, _: text(raw, "message").strip()),
        Computed("First Seen", _first_seen, wide=True),
        Computed("Count", _times, wide=True),
        Computed("Name", _at("metadata", "name"), wide=True),
    ),
    "configmaps": (Computed("Data", lambda raw, _: len(part(raw, "data")) + len(part(raw, "binaryData"))), _AGE),
    "persistentvolumes": (
        Computed("Capacity", _at("spec", "capacity", "storage")),
        Computed("Access Modes", _modes("spec")),
        Computed("Reclaim Policy", _at("spec", "persistentVolumeReclaimPolicy")),
        Computed("Status", _phase),
        Computed("Claim", _claim),
        *_CLASSES,
        Computed("Reason", _at("status", "reason")),
        _AGE,
        _MODE,
    ),
    "persistentvolumeclaims": (
        Computed("Status", _phase),
        Computed("Volume", _at("spec", "volumeName")),
        Computed("Capacity", _at("status", "capacity", "storage")),
        Computed("Access Modes", _modes("status")),
        *_CLASSES,
        _AGE,
        _MODE,
    ),
    "resourcequotas": (Computed("Request", _nothing), Computed("Limit", _nothing), _AGE),
    "limitranges": (_CREATED,),
    "customresourcedefinitions.apiextensions.k8s.io": (_CREATED,),
    "leases.coordination.k8s.io": (Computed("Holder", _at("spec", "holderIdentity")), _AGE),
    "priorityclasses.scheduling.k8s.io": (
        Computed("Value", _at("value", absent=0), "integer"),
        Computed("Global-Default", _at("globalDefault", absent=False), "boolean"),
        _AGE,
        Computed("PreemptionPolicy", _at("preemptionPolicy")),
    ),
    "poddisruptionbudgets.policy": (
        Computed("Min Available", _or("minAvailable", "N/A")),
        Computed("Max Unavailable", _or("maxUnavailable", "N/A")),
        Computed("Allowed Disruptions", _at("status", "disruptionsAllowed", absent=0), "integer"),
        _AGE,
    ),
}
"""By the resource as which a kind is kept; the name comes before these, or is among them."""
