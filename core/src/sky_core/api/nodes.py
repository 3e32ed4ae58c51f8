"""Nodes: what they report, with what was discovered about their network."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from sky_core.api import annotations, identity
from sky_core.api.amounts import resources
from sky_core.api.annotations import field
from sky_core.api.decoding import decoded
from sky_core.api.faults import Fault, Invalid
from sky_core.api.identity import Key
from sky_core.api.instants import instant_at
from sky_core.api.wire import core, meta, topology
from sky_core.constraints import Taint
from sky_core.model import SECOND, Instant, Mount, Node, NodeName
from sky_core.quantity import shown
from sky_core.resources import NOTHING, Resources
from sky_core.settings import Settings

MOUNT: Final = "infiniai-fs-"
"""The conditions that a node's storage daemon writes, one per mount point."""

HEARTBEAT_EARLY: Final = 90 * SECOND
"""So much may a mount's heartbeat lie before the node's last Ready transition (behaviour.md 7.3)."""

_PODS_MAX: Final = 110
_T = TypeVar("_T")
_ZONE_KEY_AT: Final = field(annotations.RDMA_TOPOLOGY_KEY)
_ZONE_AT: Final = f"metadata.labels[{annotations.ZONE}]"
_FABRIC_AT: Final = f"metadata.labels[{annotations.FABRIC}]"
_LAST_DIGITS: Final = re.compile(r"[0-9]+$", re.ASCII)


class NodeReading(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one node says: its row, still without the zone that was discovered, and what it can take.

    `faults` are those of optional notes, which are ignored.
    """

    row: Node
    allocatable: Resources = NOTHING
    faults: tuple[Fault, ...] = ()


class Discovered(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A zone key out of a NodeTopology; `owner` is the uid of the node that it was discovered on, where it says so."""

    key: str = ""
    owner: str = ""


class _Pools(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    shared: meta.Count = 0
    exclusive: meta.Count = 0


def read(key: Key, raw: Mapping[str, Any] | core.Node, settings: Settings) -> NodeReading:
    """A node.

    Raises:
        Invalid: It is malformed beyond what is optional.
    """
    node = decoded(raw, core.Node)
    status = node.status
    allocatable = resources("status.allocatable", status.allocatable or status.capacity)
    ready = next((one for one in status.conditions if one.type == "Ready"), None)
    optional = _Tolerance(key)
    row = Node(
        name=NodeName(identity.name("metadata.name", node.metadata.name)),
        uid=identity.uid(key, node.metadata.uid),
        labels=node.metadata.labels,
        created=instant_at("metadata.creationTimestamp", node.metadata.creation_timestamp),
        taints=tuple(Taint(key=taint.key, effect=taint.effect, value=taint.value) for taint in node.spec.taints),
        ready=ready is None or ready.status == "True",
        ready_since=instant_at("status.conditions[Ready].lastTransitionTime", ready.last_transition_time)
        if ready
        else Instant(0),
        unschedulable=node.spec.unschedulable,
        pods_max=allocatable["pods"] // 1000 if "pods" in (status.allocatable or status.capacity) else _PODS_MAX,
    )
    row = _noted(row, node, allocatable[settings.spot_resource], settings, optional)
    return NodeReading(row=row, allocatable=allocatable.without({"pods"}), faults=tuple(optional.faults))


def read_topology(raw: Mapping[str, Any]) -> Discovered:
    """A NodeTopology: `ib#` or `roce#` and the sorted names of its switches; IB where it has any.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, topology.NodeTopology)
    identity.name("metadata.name", written.metadata.name)
    owner = next((one.uid for one in written.metadata.owner_references if one.kind == "Node"), "")
    for fabric, nics in (("ib", written.spec.net.ib), ("roce", written.spec.net.roce)):
        switches = {
            identity.plain(f"spec.net.{fabric}[{i}].switchName", nic.switch_name) for i, nic in enumerate(nics)
        } - {""}
        if switches:
            return Discovered(key=f"{fabric}#{','.join(sorted(switches))}", owner=owner)
    return Discovered(owner=owner)


def row(reading: NodeReading, discovered: Discovered | None) -> Node:
    """The node, in the zone that its notes name, else in the one that was discovered on this very node."""
    known = reading.row
    if known.zone is None and discovered and discovered.key and discovered.owner in {"", known.uid}:
        known = replace(known, zone=discovered.key)
    fabric = (known.zone or "").partition("#")[0] if "#" in (known.zone or "") else ""
    return replace(known, fabric=f"{fabric}#{known.fabric}" if known.fabric else fabric)


def same_mounts(one: Node, other: Node) -> bool:
    """Whether both rows say the same of every mount point: a heartbeat counts by what it proves."""
    return _proofs(one) == _proofs(other)


class _Tolerance:
    """Reads what is optional: what is malformed is kept as a fault, and counts as absent."""

    def __init__(self, key: Key) -> None:
        self._object = str(key)
        self.faults: list[Fault] = []

    def __call__(self, absent: _T, read: Callable[[], _T]) -> _T:
        try:
            return read()
        except Invalid as error:
            self.faults.append(error.within(self._object))
            return absent


def _noted(row: Node, node: core.Node, spot_units: int, settings: Settings, optional: _Tolerance) -> Node:
    """The row with what optional notes say."""
    notes, labels = node.metadata.annotations, node.metadata.labels
    index = optional(None, lambda: annotations.index(notes, annotations.NODE_INDEX))
    zone = optional("", lambda: _plain(_ZONE_KEY_AT, notes.get(annotations.RDMA_TOPOLOGY_KEY)))
    zone = zone or optional("", lambda: _plain(_ZONE_AT, labels.get(annotations.ZONE)))
    shared, exclusive = optional((0, spot_units), lambda: _pools(notes, spot_units))
    return replace(
        row,
        index=index if index is not None else _index_in_name(row.name),
        zone=zone or None,
        fabric=optional("", lambda: _plain(_FABRIC_AT, labels.get(annotations.FABRIC))),
        shared=shared,
        exclusive=exclusive,
        spec=optional("", lambda: _spec_code(labels, settings)),
        mounts=_mounts(node.status.conditions, optional),
    )


def _plain(place: str, text: str | None) -> str:
    return identity.plain(place, text) if text else ""


def _pools(notes: Mapping[str, str], units: int) -> tuple[int, int]:
    """Shared and exclusive spot units; without the note all that the node has are exclusive."""
    if (text := notes.get(annotations.SPOT_POOLS)) is None:
        return 0, units
    place = field(annotations.SPOT_POOLS)
    try:
        pools = msgspec.json.decode(text.encode(), type=_Pools)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise Invalid(place, f'{shown(text)} is not of the form {{"shared": 0, "exclusive": 0}}') from None
    if (pools.shared + pools.exclusive) * 1000 > units:
        raise Invalid(place, f"{shown(text)} is more than the {units // 1000} that the node has")
    return pools.shared * 1000, pools.exclusive * 1000


def _spec_code(labels: Mapping[str, str], settings: Settings) -> str:
    chosen = settings.spec_label(labels)
    return _plain(f"metadata.labels[{chosen}]", labels[chosen]) if chosen is not None else ""


def _index_in_name(name: str) -> int | None:
    digits = _LAST_DIGITS.search(name.partition(".")[0])
    return int(digits[0]) if digits else None


def _mounts(conditions: tuple[meta.Condition, ...], optional: _Tolerance) -> dict[str, Mount]:
    """What its storage daemon says; a mount point whose time is malformed is not there."""
    mounts = {}
    for one in sorted([one for one in conditions if one.type.startswith(MOUNT)], key=attrgetter("type")):
        place = f"status.conditions[{one.type}].lastHeartbeatTime"
        text = one.last_heartbeat_time or one.last_transition_time
        beat = optional(None, partial(instant_at, place, text))
        if beat is not None:
            mounts[one.type.removeprefix(MOUNT)] = Mount(ready=one.status == "True", heartbeat=beat)
    return mounts


def _proofs(node: Node) -> dict[str, bool]:
    since = node.ready_since - HEARTBEAT_EARLY
    return {id_: mount.ready and mount.heartbeat >= since for id_, mount in node.mounts.items()}
