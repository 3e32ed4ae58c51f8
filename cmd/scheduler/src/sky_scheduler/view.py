"""The objects as of the present cycle: as rows, and as much of them as it takes to write them back."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.api.conditions import Condition
from sky_core.api.identity import Key
from sky_core.api.reports import SCHEDULED
from sky_core.api.store import Said
from sky_core.api.wire import core
from sky_core.course import Changes, Course, Told
from sky_core.memory import Memory
from sky_core.settings import Settings
from sky_core.simulation.objects import conditions, part, text
from sky_scheduler.mirror import Taken
from sky_shell.objects import Identity

WRITTEN: Final = frozenset({"Quota", "PodGroup", "Queue", "JobQueue"})
"""The kinds whose status we write."""


class View:
    """What is known. To be used by one thread at a time.

    Attributes:
        course: The rows, and the memory of the last cycle.
        identities: Every object as of the version that the rows are of.
        statuses: The status of each object whose status we write.
        told: What pods without a node have been told of why.
        revision: Counts the changes that were taken up.
    """

    def __init__(self, settings: Settings, memory: Memory | None = None) -> None:
        """Nothing is there."""
        self.course = Course(settings, memory)
        self.identities: dict[Key, Identity] = {}
        self.statuses: dict[Key, Mapping[str, Any]] = {}
        self.told: dict[Key, Condition] = {}
        self.revision = 0

    def take_up(self, taken: Taken) -> Changes:
        """Bring everything up to date; what of it was new."""
        objects: list[Told] = []
        gone: list[Key] = []
        for key, news in taken.news.items():
            known = self.identities.get(key)
            if news.raw is None:
                if known is not None and (known.uid == news.identity.uid or known.precedes(news.identity)):
                    gone.append(key)
                    self._forget(key)
            elif _is_new(known, news.identity, is_echo=news.is_echo):
                objects.append(Told(key, msgspec.Raw(news.raw)))
                self.identities[key] = news.identity
        changes = Changes(objects=tuple(objects), gone=tuple(gone), answered=taken.answered)
        self.course.learn(changes, self._see)
        self.revision += len(objects) + len(gone)
        return changes

    @property
    def highest_epoch(self) -> int:
        """Of all Quotas, those too that are malformed otherwise."""
        epochs = (status.get("epoch") for key, status in self.statuses.items() if key.kind == "Quota")
        return max((epoch for epoch in epochs if isinstance(epoch, int)), default=0)

    def _see(self, key: Key, said: Said) -> None:
        if isinstance(said, core.Node):
            return
        if key.kind == "Pod":
            self.told.pop(key, None)
            if (found := _told(said)) is not None:
                self.told[key] = found
        elif key.kind in WRITTEN and not isinstance(said, core.Pod):
            self.statuses[key] = part(said, "status")

    def _forget(self, key: Key) -> None:
        del self.identities[key]
        self.statuses.pop(key, None)
        self.told.pop(key, None)


def _told(pod: Mapping[str, Any] | core.Pod) -> Condition | None:
    """What a pod without a node has been told of why; None where it has one, or was told nothing."""
    if not isinstance(pod, core.Pod):
        found = conditions(pod) if not text(part(pod, "spec"), "nodeName") else ()
        return next((one for one in found if one.get("type") == SCHEDULED), None)
    written = pod.status.conditions if not pod.spec.node_name else ()
    one = next((one for one in written if one.type == SCHEDULED), None)
    return None if one is None else {"status": one.status, "reason": one.reason, "message": one.message}


def _is_new(known: Identity | None, identity: Identity, *, is_echo: bool) -> bool:
    """An echo of what has gone since brings nothing back."""
    if known is None or known.uid != identity.uid:
        return not is_echo
    return known.version != identity.version and not identity.is_older_than(known)
