"""Events for people, as `kubectl describe` shows them: of what was done, and of why something was not."""

from collections import deque
from typing import Any, Final

import msgspec

from sky_core.api.instants import rfc3339
from sky_core.model import SECOND, Duration, Instant
from sky_shell.objects import Identity
from sky_shell.resources import EVENTS, Resource
from sky_shell.transport import MERGE_PATCH
from sky_shell.writes import Write, create_event

CONTROLLER: Final = "sky-scheduler"
QUEUE_MAX: Final = 1000
"""Events that wait. What comes beyond that is dropped, and counted."""
NOTE_MAX: Final = 1024
SERIES: Final = Duration(360 * SECOND)
"""An event that happens again within this time is counted, and not told anew."""
SERIES_MAX: Final = 4096

_MICRO: Final = 1000


class Event(msgspec.Struct, frozen=True):
    """What happened to an object."""

    resource: Resource
    identity: Identity
    reason: str
    action: str
    note: str
    is_warning: bool = False


class _Series(msgspec.Struct):
    """An event that was told, and how often it has happened. `name` is the Event object's."""

    name: str
    last: Instant
    count: int = 1


class Announcements:
    """Events that wait to be told, oldest first.

    Attributes:
        dropped: How many there was no room for.
    """

    def __init__(self, instance: str, epoch: int) -> None:
        """`instance` names this process; `epoch` is ours alone, so names that are made with it are, too."""
        self.dropped = 0
        self._instance = instance
        self._epoch = epoch
        self._made = 0
        self._waiting: deque[tuple[Event, Instant]] = deque()
        self._series: dict[tuple[str, str, str], _Series] = {}

    def add(self, event: Event, now: Instant) -> None:
        """Something has happened."""
        if len(self._waiting) < QUEUE_MAX:
            self._waiting.append((event, now))
        else:
            self.dropped += 1

    def __bool__(self) -> bool:
        """Whether any waits."""
        return bool(self._waiting)

    def next(self) -> Write:
        """What is to be written of the oldest."""
        event, now = self._waiting.popleft()
        which = (event.identity.uid, event.reason, event.note)
        series = self._series.pop(which, None)
        if series is not None and now - series.last < SERIES:
            series.count, series.last = series.count + 1, now
            self._series[which] = series
            return self._again(event, series)
        self._made += 1
        name = f"{event.identity.name}.{self._epoch:x}.{self._made:x}"
        self._series[which] = _Series(name, now)
        if len(self._series) > SERIES_MAX:
            del self._series[next(iter(self._series))]
        return create_event(_namespace(event), name, self._content(event, now))

    def _content(self, event: Event, now: Instant) -> dict[str, Any]:
        resource, identity = event.resource, event.identity
        regarding = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "namespace": identity.namespace,
            "name": identity.name,
            "uid": identity.uid,
        }
        return {
            "eventTime": micro_time(now),
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance,
            "regarding": {name: value for name, value in regarding.items() if value},
            "action": event.action,
            "reason": event.reason,
            "note": event.note[:NOTE_MAX],
            "type": "Warning" if event.is_warning else "Normal",
        }

    def _again(self, event: Event, series: _Series) -> Write:
        told = {"count": series.count, "lastObservedTime": micro_time(series.last)}
        return Write(
            method="PATCH",
            path=EVENTS.path(_namespace(event), series.name),
            body=msgspec.json.encode({"series": told}),
            content_type=MERGE_PATCH,
        )


def micro_time(now: Instant) -> str:
    """A MicroTime: a server takes exactly six decimals."""
    seconds, rest = divmod(now, SECOND)
    return f"{rfc3339(Instant(seconds * SECOND))[:-1]}.{rest // _MICRO:06d}Z"


def _namespace(event: Event) -> str:
    """That of the object; events of the cluster's objects are in `default`."""
    return event.identity.namespace or "default"
