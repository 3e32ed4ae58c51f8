"""Objects by resource and key, every version of the recent past, and who wants to hear of changes.

An object is kept without `apiVersion` and `kind`, which its kind knows, and is never changed in place.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from sky_core.model import Instant

REMEMBERED_MAX: Final = 20_000
"""So many changes of one resource are remembered at most, and half as many at least."""

Key: TypeAlias = tuple[str, str]
"""Namespace (empty for kinds of the cluster) and name."""


class Stored(msgspec.Struct, gc=False):
    """One version of an object."""

    object: Mapping[str, Any]
    version: int
    _json: bytes | None = None

    @property
    def json(self) -> bytes:
        """The object's JSON."""
        if self._json is None:
            self._json = msgspec.json.encode(self.object)
        return self._json


class Change(NamedTuple):
    """What happened to one object. `now` has the version of the change, also where it is a deletion."""

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    resource: str
    key: Key
    now: Stored
    before: Stored | None
    at: Instant


Listener: TypeAlias = Callable[[Change], None]
Bell: TypeAlias = Callable[[], None]


class Table:
    """The objects of one resource, and its recent changes.

    `ends` counts how often its watches had to end. `bells` are rung when there is something new to look at. `last` is
    the version of the last change.
    """

    def __init__(self, floor: int) -> None:
        """Empty; nothing is known of versions before `floor`."""
        self.objects: dict[Key, Stored] = {}
        self.floor = self.last = floor
        self.ends = 0
        self.bells: list[Bell] = []
        self._changes: list[Change] = []

    def record(self, change: Change) -> None:
        """Remember a change, and forget the oldest half when there are too many."""
        self._changes.append(change)
        self.last = change.now.version
        if len(self._changes) > REMEMBERED_MAX:
            self.forget(self._changes[REMEMBERED_MAX // 2].now.version)
        self.ring()

    def end_watches(self) -> None:
        """End the watches once they have told everything."""
        self.ends += 1
        self.ring()

    def ring(self) -> None:
        """Let whoever waits for news look."""
        for bell in list(self.bells):
            bell()

    def forget(self, version: int) -> None:
        """Know nothing of what was before this version."""
        self.floor = max(self.floor, version)
        del self._changes[: self._after(version)]

    def since(self, version: int) -> Iterator[Change]:
        """What has happened after this version, which is not below the floor, in order."""
        for index in range(self._after(version), len(self._changes)):
            yield self._changes[index]

    def as_of(self, version: int) -> dict[Key, Stored]:
        """The objects as they were at this version, which is not below the floor."""
        objects = dict(self.objects)
        for change in reversed(self._changes[self._after(version) :]):
            if change.before is None:
                objects.pop(change.key, None)
            else:
                objects[change.key] = change.before
        return objects

    def version_at(self, instant: Instant) -> int:
        """The last version that was there at this instant, as far as is remembered."""
        return next((change.now.version for change in reversed(self._changes) if change.at <= instant), self.floor)

    def _after(self, version: int) -> int:
        return bisect_right(self._changes, version, key=lambda change: change.now.version)


class Storage:
    """All objects.

    Attributes:
        version: The resourceVersion of the last change: a number that only grows.
        told: The version at the last list of anything: for a list etcd is asked how far it is, and tells every watch.
    """

    def __init__(self) -> None:
        """Empty."""
        self.version = self.told = 1
        self._floor = 1
        self._tables: dict[str, Table] = {}
        self._listeners: dict[str, list[Listener]] = {}

    def table(self, resource: str) -> Table:
        """The table of a resource, which need not have objects yet."""
        if resource not in self._tables:
            self._tables[resource] = Table(self._floor)
        return self._tables[resource]

    def find(self, resource: str, key: Key) -> Stored | None:
        """An object; None if there is none."""
        return self.table(resource).objects.get(key)

    def objects(self, resource: str, namespace: str = "") -> list[Stored]:
        """The objects of a resource, in one namespace if one is named, by key."""
        found = sorted(self.table(resource).objects.items(), key=lambda item: item[0])
        return [stored for key, stored in found if not namespace or key[0] == namespace]

    def resources(self) -> list[str]:
        """The resources of which there is something."""
        return [resource for resource, table in self._tables.items() if table.objects]

    def put(self, resource: str, key: Key, raw: Mapping[str, Any], now: Instant) -> Stored:
        """Keep an object as the newest version of its key."""
        objects = self.table(resource).objects
        before = objects.get(key)
        stored = self._next(raw)
        objects[key] = stored
        self._tell(Change("ADDED" if before is None else "MODIFIED", resource, key, stored, before, now))
        return stored

    def remove(self, resource: str, key: Key, now: Instant, last: Mapping[str, Any] | None = None) -> Stored:
        """Keep it no more; `last` is how it was in the end, if that is more than was kept."""
        before = self.table(resource).objects.pop(key)
        gone = self._next(before.object if last is None else last)
        self._tell(Change("DELETED", resource, key, gone, before, now))
        return gone

    def compact(self) -> None:
        """Forget what was, of every resource."""
        self._floor = self.version
        for table in self._tables.values():
            table.forget(self.version)

    def restore(self, resource: str, key: Key, raw: Mapping[str, Any]) -> None:
        """Keep an object in the version that it says it has, and tell nobody."""
        self.table(resource).objects[key] = Stored(raw, int(raw["metadata"]["resourceVersion"]))

    def go_on_from(self, version: int) -> None:
        """Number what comes from this version on, and forget what was."""
        self.version = max(self.version, version)
        self.compact()

    def listen(self, resource: str, listener: Listener) -> None:
        """Tell of every change of a resource, or of all with `*`, right after it."""
        self._listeners.setdefault(resource, []).append(listener)

    def _next(self, raw: Mapping[str, Any]) -> Stored:
        self.version += 1
        metadata = {**raw["metadata"], "resourceVersion": str(self.version)}
        return Stored({**raw, "metadata": metadata}, self.version)

    def _tell(self, change: Change) -> None:
        self.table(change.resource).record(change)
        for heard in (change.resource, "*"):
            for listener in self._listeners.get(heard, ()):
                listener(change)
