"""Whom a change concerns: the pods whose task must be derived anew."""

from collections.abc import Iterable, Mapping

from sky_core.api.annotations import NO_WISH, Wish
from sky_core.api.identity import Key
from sky_core.api.pods import PodReading
from sky_core.api.store import Store
from sky_core.api.upkeep.indexes import Index
from sky_core.model import TaskId


class Concerns:
    """Pods, looked up by what they say of other objects."""

    def __init__(self, store: Store) -> None:
        """No pod."""
        self._store = store
        self._known: dict[Key, PodReading] = {}
        self._wishes: dict[Key, Wish] = {}
        self._by_uid: Index[TaskId, Key] = Index()
        self._by_claim: Index[Key, Key] = Index()
        self._by_group: Index[Key, Key] = Index()

    def first(self, uid: TaskId) -> Key:
        """Of the pods with this uid the first by name."""
        return min(self._by_uid.of(uid))

    def pods(self, dirty: Mapping[str, set[Key]], tied: Iterable[TaskId]) -> set[Key]:
        """The pods that these changes concern; `tied` are those that came to claim a quota, or ceased to."""
        concerned = self._reindex(dirty["Pod"])
        for uid in tied:
            concerned.update(self._by_uid.of(uid))
        for key in dirty["PodGroup"]:
            if self._wishes_anew(key):
                concerned.update(self._by_group.of(key))
        return concerned | self._by_volumes(dirty) | self._by_classes(dirty["PriorityClass"])

    def _reindex(self, dirty: Iterable[Key]) -> set[Key]:
        """Look pods up by what they say. Returns these and whoever shares a uid with one of them."""
        concerned = set(dirty)
        for key in dirty:
            old, new = self._known.get(key), self._store.pods.get(key)
            self._by_uid.move(key, _uid(old), _uid(new))
            self._by_claim.move(key, _claims(key, old), _claims(key, new))
            self._by_group.move(key, _group(key, old), _group(key, new))
            for uid in (*_uid(old), *_uid(new)):
                concerned.update(self._by_uid.of(uid))
            if new is None:
                self._known.pop(key, None)
            else:
                self._known[key] = new
        return concerned

    def _wishes_anew(self, key: Key) -> bool:
        """Whether a PodGroup asks for something else of its pods than before: its status changes more often."""
        group = self._store.groups.get(key)
        wish = group.wish if group else NO_WISH
        if self._wishes.get(key, NO_WISH) == wish:
            return False
        self._wishes[key] = wish
        if wish is NO_WISH:
            del self._wishes[key]
        return True

    def _by_volumes(self, dirty: Mapping[str, set[Key]]) -> set[Key]:
        changed = set(dirty["PersistentVolumeClaim"])
        if names := {key.name for key in dirty["PersistentVolume"]}:
            changed.update(key for key, volume in self._store.claims.items() if volume in names)
        return {pod for claim in changed for pod in self._by_claim.of(claim)}

    def _by_classes(self, dirty: set[Key]) -> set[Key]:
        names = {key.name for key in dirty}
        return {key for key, reading in self._store.pods.items() if reading.priority_class in names} if names else set()


def _uid(reading: PodReading | None) -> tuple[TaskId, ...]:
    return (reading.task.id,) if reading else ()


def _claims(key: Key, reading: PodReading | None) -> set[Key]:
    names = reading.volumes if reading else ()
    return {Key("PersistentVolumeClaim", key.namespace, name) for name in names}


def _group(key: Key, reading: PodReading | None) -> tuple[Key, ...]:
    return (Key("PodGroup", key.namespace, reading.group),) if reading and reading.group else ()
