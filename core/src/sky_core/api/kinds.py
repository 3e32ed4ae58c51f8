"""The kinds of object that the intake reads, and who reads them."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from sky_core.api import budgets, jobs, nodes, pods, priorities, queues, quotas, salvage, volumes
from sky_core.api.faults import Fault, Invalid
from sky_core.api.identity import Key
from sky_core.settings import PREFIX, Settings

GROUP: Final = PREFIX.rstrip("/")
"""The API group of our own kinds."""

Read = Callable[[Key, Mapping[str, Any], Settings], Any]
Spoilt = Callable[[Key, Mapping[str, Any], Settings, Fault], Any]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """How objects of one kind are read.

    `read` is for those that are well formed, `remarks` tells what of one was ignored, and `spoilt` what is left of one
    that is malformed.
    """

    group: str
    read: Read
    remarks: Callable[[Any], tuple[Fault, ...]] = lambda _: ()
    spoilt: Spoilt = lambda *_: None

    def reading(self, key: Key, raw: Mapping[str, Any], settings: Settings) -> tuple[Any, tuple[Fault, ...]]:
        """What an object says, None for nothing usable, and its faults."""
        try:
            found = self.read(key, raw, settings)
        except Invalid as error:
            fault = error.within(str(key))
            return self.spoilt(key, raw, settings, fault), (fault,)
        return found, self.remarks(found)


KINDS: Final[Mapping[str, Kind]] = {
    "Pod": Kind(group="", read=pods.read, spoilt=salvage.pod),
    "Node": Kind(group="", read=nodes.read, remarks=lambda reading: reading.faults),
    "Namespace": Kind(group="", read=lambda _, raw, __: queues.read_namespace(raw)),
    "PersistentVolume": Kind(group="", read=lambda _, raw, __: volumes.read_volume(raw)),
    "PersistentVolumeClaim": Kind(group="", read=lambda _, raw, __: volumes.read_claim(raw)),
    "PriorityClass": Kind(group="scheduling.k8s.io", read=lambda _, raw, __: priorities.read(raw)),
    "PodDisruptionBudget": Kind(group="policy", read=lambda _, raw, __: budgets.read(raw)),
    "Quota": Kind(group=GROUP, read=lambda key, raw, _: quotas.read(key, raw)),
    "PodGroup": Kind(
        group=GROUP,
        read=lambda key, raw, _: jobs.read(key, raw),
        spoilt=lambda key, _, __, fault: jobs.spoilt(key, fault),
    ),
    "Queue": Kind(
        group=GROUP,
        read=lambda _, raw, __: queues.read_queue(raw),
        spoilt=lambda key, _, __, fault: queues.spoilt_queue(key, fault),
    ),
    "JobQueue": Kind(group=GROUP, read=lambda _, raw, __: queues.read_job_queue(raw)),
    "NodeTopology": Kind(group=GROUP, read=lambda _, raw, __: nodes.read_topology(raw)),
}


def kind_of(key: Key, raw: Mapping[str, Any]) -> Kind | None:
    """How to read an object, or None: others have kinds of these names too. An absent apiVersion is taken for ours."""
    kind = KINDS.get(key.kind)
    version = raw.get("apiVersion")
    if kind is None or not (version is None or isinstance(version, str)):
        return None
    return kind if version is None or version.rpartition("/")[0] == kind.group else None
