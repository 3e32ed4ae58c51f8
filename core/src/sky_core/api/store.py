"""What every object says, by key; which have changed since the last time; what is wrong with them."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from sky_core.api import nodes
from sky_core.api.budgets import Rule
from sky_core.api.decoding import node_in, pod_in
from sky_core.api.faults import Fault, Invalid
from sky_core.api.identity import Key, key_of
from sky_core.api.jobs import GroupReading
from sky_core.api.kinds import KINDS, kind_of
from sky_core.api.nodes import Discovered, NodeReading
from sky_core.api.pods import PodReading, Reader
from sky_core.api.priorities import Priority
from sky_core.api.upkeep.interning import Interner, shape_value, spec_value
from sky_core.api.wire import core
from sky_core.constraints import NodeTerm
from sky_core.model import JobQueue, Queue, Quota, QuotaSpec, Shape
from sky_core.selectors import Labels
from sky_core.settings import Settings

Said: TypeAlias = Mapping[str, Any] | core.Pod | core.Node
"""What an object says."""

Dirty: TypeAlias = dict[str, dict[Key, Any]]
"""Of each kind the keys whose reading has changed, in the order in which they did, with what it was before."""

_STRAIGHT: Final[Mapping[str, Callable[[bytes], core.Pod | core.Node]]] = {"Pod": pod_in, "Node": node_in}


class Store:
    """Readings by kind and key. An object that is malformed beyond use has none, and is in `faults` alone.

    `strangers` are objects of kinds that nobody reads.
    """

    def __init__(self, settings: Settings) -> None:
        """Nothing is there."""
        self._settings = settings
        self.pods: dict[Key, PodReading] = {}
        self.nodes: dict[Key, NodeReading] = {}
        self.namespaces: dict[Key, Labels] = {}
        self.volumes: dict[Key, tuple[NodeTerm, ...]] = {}
        self.claims: dict[Key, str] = {}
        self.priorities: dict[Key, Priority] = {}
        self.budgets: dict[Key, Rule] = {}
        self.quotas: dict[Key, Quota] = {}
        self.groups: dict[Key, GroupReading] = {}
        self.queues: dict[Key, Queue] = {}
        self.job_queues: dict[Key, JobQueue] = {}
        self.topologies: dict[Key, Discovered] = {}
        self._readings: Mapping[str, dict[Key, Any]] = {
            "Pod": self.pods,
            "Node": self.nodes,
            "Namespace": self.namespaces,
            "PersistentVolume": self.volumes,
            "PersistentVolumeClaim": self.claims,
            "PriorityClass": self.priorities,
            "PodDisruptionBudget": self.budgets,
            "Quota": self.quotas,
            "PodGroup": self.groups,
            "Queue": self.queues,
            "JobQueue": self.job_queues,
            "NodeTopology": self.topologies,
        }
        self._dirty: Dirty = {kind: {} for kind in KINDS}
        self.faults: dict[Key, tuple[Fault, ...]] = {}
        self.strangers: set[Key] = set()
        self._shapes: Interner[Shape] = Interner(shape_value)
        self._specs: Interner[QuotaSpec] = Interner(spec_value)
        self._reader = Reader(settings, self._shapes.one)

    def put(self, raw: Mapping[str, Any]) -> None:
        """An object has come or changed."""
        key = key_of(raw)
        kind = kind_of(key, raw)
        if kind is None:
            self.strangers.add(key)
            return
        self.strangers.discard(key)
        found, faults = kind.reading(key, raw, self._settings)
        if isinstance(found, PodReading):
            found = found.with_shape(self.shape(found.task.shape))
        elif isinstance(found, Quota):
            found = replace(found, spec=self._specs.one(found.spec))
        self._file(key, found, faults)

    def put_json(self, key: Key, raw: bytes) -> Said:
        """An object has come or changed, of a kind of ours, whatever it says of its kind itself. What it says.

        Raises:
            msgspec.DecodeError, UnicodeDecodeError, RecursionError: It is no JSON; nothing has been done.
        """
        if (straight := self._put_straight(key, raw)) is not None:
            return straight
        said: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
        said["kind"] = key.kind
        self.put(said)
        return said

    def _put_straight(self, key: Key, raw: bytes) -> core.Pod | core.Node | None:
        """Take one of the most frequent kinds as the struct that nearly all of them are; None for any other object."""
        read = _STRAIGHT.get(key.kind)
        if read is None:
            return None
        found: PodReading | NodeReading
        try:
            said = read(raw)
            if isinstance(said, core.Pod):
                found = self._reader.read(key, said)
            else:
                found = nodes.read(key, said, self._settings)
        except (msgspec.DecodeError, UnicodeError, RecursionError, Invalid):
            return None
        if said.metadata.name != key.name or said.metadata.namespace != key.namespace:
            return None
        self._file(key, found, KINDS[key.kind].remarks(found))
        return said

    def remove(self, key: Key) -> None:
        """An object has gone; nothing happens if it was not there."""
        self.strangers.discard(key)
        if key.kind in KINDS:
            self._file(key, None, ())

    def drain(self) -> Dirty:
        """What has changed since the last time."""
        drained, self._dirty = self._dirty, {kind: {} for kind in KINDS}
        return drained

    def shape(self, shape: Shape) -> Shape:
        """The one shape that stands for all equal ones."""
        return self._shapes.one(shape)

    def forget(self, shapes: Iterable[Shape]) -> None:
        """Let go of shapes and specs that are out of use, now and then; `shapes` are in use beside the readings'."""
        if self._shapes.crowded:
            self._shapes.keep([*(reading.task.shape for reading in self.pods.values()), *shapes])
            self._reader.forget()
        if self._specs.crowded:
            self._specs.keep(quota.spec for quota in self.quotas.values())

    def _file(self, key: Key, reading: Any, faults: tuple[Fault, ...]) -> None:
        readings = self._readings[key.kind]
        old = readings.get(key)
        if old != reading:
            self._dirty[key.kind].setdefault(key, old)
        if reading is None:
            readings.pop(key, None)
        else:
            readings[key] = reading
        if faults:
            self.faults[key] = faults
        elif self.faults:
            self.faults.pop(key, None)
