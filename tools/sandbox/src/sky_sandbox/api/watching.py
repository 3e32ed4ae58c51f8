"""A watch without I/O: it reads the changes of its table, and says which lines are to be sent now and when next."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from sky_core.model import SECOND, Duration, Instant
from sky_sandbox.api.refusals import expired
from sky_sandbox.api.selection import Selection
from sky_sandbox.api.storage import Change, Key, Storage, Stored
from sky_sandbox.views.forms import Form

BOOKMARKS: Final = Duration(60 * SECOND)
"""How often a watch is told which version its kind is at, if that is known to be past the one that it began at:
something has happened to the kind, or a list of anything was asked for (`Storage.told`), or a minute later. So a watch
where nothing happens may be silent for two minutes, as is at times seen on a real server."""

BEFORE_END: Final = Duration(2 * SECOND)
"""How long before its end it is told last."""

LONGEST: Final = Duration(1800 * SECOND)
"""How long a watch lasts that does not say how long it wants to."""

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a client wants of a watch. `initial`: what is there comes first, and a bookmark says where that ends."""

    resource: str
    namespace: str
    selection: Selection
    form: Form
    start: int
    bookmarks: bool = False
    initial: tuple[Stored, ...] = ()
    announce: bool = False
    lasting: Duration = LONGEST


class Watch:
    """A watch. Whoever sends its lines calls `take` when `wake` is called, and at `due`, until it has `ended`.

    `silent` and `broken` are faults: the first says nothing any more, of the second the connection breaks.
    """

    def __init__(self, storage: Storage, plan: Plan, now: Instant) -> None:
        """A watch that begins now."""
        self.resource = plan.resource
        self.content_type = plan.form.content_type
        self.ended = self.silent = self.broken = False
        self.wake: Callable[[], None] = lambda: None
        self._table = storage.table(plan.resource)
        self._storage = storage
        self._plan = plan
        self._ends = self._table.ends
        self._version = self._known = plan.start
        self._until = Instant(now + plan.lasting)
        self._bookmark_at = self._next_bookmark(now)
        self._first = True
        self._table.bells.append(self._ring)

    @property
    def due(self) -> Instant | None:
        """When to take again, even if nothing wakes; None if never."""
        if self.ended or self.silent:
            return None
        return min(self._bookmark_at, self._until) if self._plan.bookmarks else self._until

    def take(self, now: Instant) -> list[bytes]:
        """The lines to send now, with their ends."""
        if self.ended or self.silent or self.broken:
            return []
        lines = self._initial(now) if self._first else []
        if self._version < self._table.floor:
            message = f"too old resource version: {self._version} ({self._table.floor})"
            lines.append(_line("ERROR", msgspec.json.encode(expired(message).to_object())))
            self.close()
            return lines
        for change in self._table.since(self._version):
            if line := self._line(change, now):
                lines.append(line)
        self._version = max(self._version, self._storage.version)
        over = now >= self._until
        if now >= self._bookmark_at and not over:
            known = max(self._known, self._table.last, self._storage.told)
            if self._plan.bookmarks and known > self._plan.start:
                lines.append(self._bookmark(known))
            self._known = self._storage.version
            self._bookmark_at = self._next_bookmark(now)
        if over or self._ends != self._table.ends:
            self.close()
        return lines

    def close(self) -> None:
        """End it; it may have ended already."""
        self.ended = True
        if self._ring in self._table.bells:
            self._table.bells.remove(self._ring)

    def silence(self) -> None:
        """Let it say nothing any more, and not end either."""
        self.silent = True

    def snap(self) -> None:
        """Break its connection."""
        self.broken = True
        self.wake()

    def _next_bookmark(self, now: Instant) -> Instant:
        last = self._until - BEFORE_END
        return Instant(min(now + BOOKMARKS, last if last > now else self._until))

    def _ring(self) -> None:
        self.wake()

    def _initial(self, now: Instant) -> list[bytes]:
        self._first = False
        plan = self._plan
        lines = [_line("ADDED", plan.form.one(stored, now)) for stored in plan.initial]
        if plan.announce:
            lines.append(self._bookmark(plan.start, annotations={INITIAL_EVENTS_END: "true"}))
        return lines

    def _bookmark(self, version: int, **more: Any) -> bytes:
        return _line("BOOKMARK", self._plan.form.bookmark({"resourceVersion": str(version), **more}))

    def _line(self, change: Change, now: Instant) -> bytes | None:
        """What a change is to this watch: an object may come into the selection, and leave it, without being new."""
        was = change.before is not None and self._sees(change.key, change.before)
        sees = change.type != "DELETED" and self._sees(change.key, change.now)
        if not (was or sees):
            return None
        what = "DELETED" if not sees else "MODIFIED" if was else "ADDED"
        shown = change.now
        if what == "DELETED" and change.type != "DELETED" and change.before is not None:
            metadata = {**change.before.object["metadata"], "resourceVersion": str(shown.version)}
            shown = Stored({**change.before.object, "metadata": metadata}, shown.version)
        return _line(what, self._plan.form.one(shown, now))

    def _sees(self, key: Key, stored: Stored) -> bool:
        namespace = self._plan.namespace
        return (not namespace or key[0] == namespace) and self._plan.selection.takes(stored.object)


def _line(what: str, shown: bytes) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (what.encode(), shown)
