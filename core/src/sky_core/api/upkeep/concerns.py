"""Whom a change concerns: the pods whose task must be derived anew."""

from collections.abc import Iterable
from typing import NamedTuple

from sky_core.api.annotations import NO_WISH, Wish
from sky_core.api.identity import Key, job_id
from sky_core.api.pods import PodReading
from sky_core.api.store import Dirty, Store
from sky_core.api.upkeep.indexes import Index
from sky_core.model import JobId, TaskId


class Concerned(NamedTuple):
    """The pods that changes concern, and the uids that pods had before and have no more."""

    pods: dict[Key, None]
    lost: list[TaskId]


class Concerns:
    """Pods, looked up by what they say of other objects.

    `members` are the pods of each job. `restated` are the jobs of which a pod says something else than before; it is
    for `JobUpkeep` to empty.
    """

    def __init__(self, store: Store) -> None:
        """No pod."""
        self._store = store
        self._wishes: dict[JobId, Wish] = {}
        self._by_uid: Index[TaskId, Key] = Index()
        self._by_claim: Index[Key, Key] = Index()
        self.members: Index[JobId, Key] = Index()
        self.restated: set[JobId] = set()

    def first(self, uid: TaskId) -> Key | None:
        """Of the pods with this uid the first by name."""
        return self._by_uid.first(uid)

    def wish(self, reading: PodReading) -> Wish:
        """What a pod's PodGroup asks of its job, and what that leaves open as the pod asks."""
        wish = self._wishes.get(reading.task.job) if reading.task.job is not None else None
        return reading.wish if wish is None else wish.over(reading.wish)

    def pods(self, dirty: Dirty, tied: Iterable[TaskId]) -> Concerned:
        """The pods that these changes concern; `tied` are those that came to claim a quota, or ceased to."""
        concerned, lost = dict.fromkeys(dirty["Pod"]), list[TaskId]()
        for key, old in dirty["Pod"].items():
            new = self._store.pods.get(key)
            self._reindex(key, old, new)
            if new is not None and len(namesakes := self._by_uid.of(new.task.id)) > 1:
                concerned.update(dict.fromkeys(namesakes))
            if old is not None and (new is None or old.task.id != new.task.id):
                concerned.update(dict.fromkeys(self._by_uid.of(old.task.id)))
                lost.append(old.task.id)
        for uid in tied:
            concerned.update(dict.fromkeys(self._by_uid.of(uid)))
        for key in dirty["PodGroup"]:
            job = job_id(key.namespace, key.name)
            if self._wishes_anew(key, job):
                concerned.update(dict.fromkeys(self.members.of(job)))
        concerned.update(self._by_volumes(dirty))
        concerned.update(self._by_classes(dirty["PriorityClass"]))
        return Concerned(concerned, lost)

    def _reindex(self, key: Key, old: PodReading | None, new: PodReading | None) -> None:
        """Look a pod up by what it says now."""
        was, now = old.task if old else None, new.task if new else None
        self._by_uid.shift(key, was.id if was else None, now.id if now else None)
        self.members.shift(key, was.job if was else None, now.job if now else None)
        if (old and old.volumes) or (new and new.volumes):
            self._by_claim.move(key, _claims(key, old), _claims(key, new))
        if old is None or new is None or _of_its_job(old) != _of_its_job(new):
            for task in (was, now):
                if task is not None and task.job is not None:
                    self.restated.add(task.job)

    def _wishes_anew(self, key: Key, job: JobId) -> bool:
        """Whether a PodGroup asks for something else of its pods than before: its status changes more often."""
        group = self._store.groups.get(key)
        wish = group.wish if group else NO_WISH
        if self._wishes.get(job, NO_WISH) == wish:
            return False
        self._wishes[job] = wish
        if wish is NO_WISH:
            del self._wishes[job]
        return True

    def _by_volumes(self, dirty: Dirty) -> dict[Key, None]:
        changed = dict.fromkeys(dirty["PersistentVolumeClaim"])
        if names := {key.name for key in dirty["PersistentVolume"]}:
            changed.update({key: None for key, volume in self._store.claims.items() if volume in names})
        return {pod: None for claim in changed for pod in self._by_claim.of(claim)}

    def _by_classes(self, dirty: Iterable[Key]) -> dict[Key, None]:
        names = {key.name for key in dirty}
        pods = self._store.pods.items() if names else ()
        return {key: None for key, reading in pods if reading.priority_class in names}


def _of_its_job(reading: PodReading) -> tuple[object, ...]:
    return (reading.group, reading.queue, reading.wish, reading.fault)


def _claims(key: Key, reading: PodReading | None) -> set[Key]:
    names = reading.volumes if reading else ()
    return {Key("PersistentVolumeClaim", key.namespace, name) for name in names}
