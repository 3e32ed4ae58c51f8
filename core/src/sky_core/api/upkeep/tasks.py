"""Keeps tasks: each pod with what other objects say of it, and which are on which node."""

from collections.abc import Iterable, Mapping

from sky_core.api import pods, shapes
from sky_core.api.annotations import NO_WISH
from sky_core.api.assumptions import Assumptions
from sky_core.api.faults import Fault
from sky_core.api.identity import Key
from sky_core.api.pods import PodReading
from sky_core.api.priorities import BUILT_IN, Priority
from sky_core.api.store import Store
from sky_core.api.upkeep.concerns import Concerns
from sky_core.api.upkeep.coverage import Coverage
from sky_core.api.upkeep.indexes import Index
from sky_core.api.upkeep.openings import asks_the_same, pod_opens
from sky_core.api.upkeep.quotas import QuotaUpkeep
from sky_core.api.upkeep.tables import settle
from sky_core.constraints import NodeTerm
from sky_core.model import JobId, NodeName, Task, TaskId
from sky_core.reasons import Topic
from sky_core.settings import Settings
from sky_core.world import World


class TaskUpkeep:
    """Tasks as the store has their pods.

    `members` are the tasks of each job. `changed` are the jobs one of whose tasks has changed, `altered` those of them
    whose pods ask for something else than before; both are for `JobUpkeep` to empty. `faults` are those that show only
    among pods.
    """

    def __init__(
        self,
        store: Store,
        world: World,
        settings: Settings,
        quotas: QuotaUpkeep,
        coverage: Coverage,
        assumed: Assumptions,
    ) -> None:
        """Nothing is there."""
        self._store = store
        self._world = world
        self._settings = settings
        self._quotas = quotas
        self._coverage = coverage
        self._assumed = assumed
        self.classes: Mapping[str, Priority] = BUILT_IN
        self.members: Index[JobId, TaskId] = Index()
        self.changed: set[JobId] = set()
        self.altered: set[JobId] = set()
        self.faults: dict[Key, Fault] = {}
        self._ids: dict[Key, TaskId] = {}
        self._concerns = Concerns(store)
        self._on: Index[NodeName, TaskId] = Index()

    def flush(self, dirty: Mapping[str, set[Key]], tied: Iterable[TaskId]) -> set[NodeName]:
        """Take up changed pods, and those that other changed objects concern. Returns the nodes that this touches.

        `tied` are the pods that came to claim a quota, or ceased to, and those of which something else is assumed.
        """
        if dirty["PriorityClass"]:
            self.classes = {**BUILT_IN, **{key.name: one for key, one in self._store.priorities.items()}}
        changes = self._derive(self._concerns.pods(dirty, tied))
        touched: set[NodeName] = set()
        for id_, new in changes.items():
            touched |= self._account(self._world.tasks.get(id_), new)
        settle(self._world.tasks, changes, lambda _, task: _order(task))
        on = {node: tuple(sorted(self._on.of(node), key=self._arrival)) or None for node in touched}
        settle(self._world.tasks_on, on, lambda node, _: node)
        return touched

    def _derive(self, keys: set[Key]) -> dict[TaskId, Task | None]:
        """The tasks of these pods, None for those that are gone. Of two pods with one uid the first by name counts."""
        changes: dict[TaskId, Task | None] = {self._ids.pop(key): None for key in keys if key in self._ids}
        for key in sorted(keys):
            self.faults.pop(key, None)
            reading = self._store.pods.get(key)
            if reading is None:
                continue
            uid = reading.task.id
            first = self._concerns.first(uid)
            if first != key:
                self.faults[key] = Fault(str(key), "metadata.uid", f"is that of {first} too")
                continue
            self._ids[key] = uid
            self._assumed.seen(uid, reading)
            changes[uid] = self._task(key, reading)
        for uid, task in changes.items():
            if task is None:
                self._assumed.seen(uid, None)
        return changes

    def _task(self, key: Key, reading: PodReading) -> Task:
        group = self._store.groups.get(Key("PodGroup", key.namespace, reading.group)) if reading.group else None
        volumes = tuple(self._reachable(key, reading)) if reading.volumes else ()
        shape = reading.task.shape
        return pods.task(
            reading,
            quota=self._quotas.claimed_by(reading.task.id),
            bound=self._assumed.bound(reading.task.id),
            evicted=self._assumed.evicted(reading.task.id),
            shape=self._store.shape(shapes.with_volumes(shape, volumes)) if volumes else shape,
            priority=self.classes.get(reading.priority_class),
            wish=(group.wish if group else NO_WISH).over(reading.wish),
            settings=self._settings,
        )

    def _reachable(self, key: Key, reading: PodReading) -> Iterable[tuple[NodeTerm, ...]]:
        for name in reading.volumes:
            claim = self._store.claims.get(Key("PersistentVolumeClaim", key.namespace, name), "")
            terms = self._store.volumes.get(Key("PersistentVolume", "", claim))
            if terms is not None:
                yield terms

    def _account(self, old: Task | None, new: Task | None) -> set[NodeName]:
        """Write down one change, in everything but the tasks themselves. Returns the nodes that it touches."""
        if (either := new or old) is None:
            return set()
        id_ = either.id
        self._world.news.tasks.add(id_)
        self.members.move(id_, _job(old), _job(new))
        for job in (*_job(old), *_job(new)):
            self.changed.add(job)
            if old is None or new is None or not asks_the_same(old, new):
                self.altered.add(job)
        nodes = _node(old), _node(new)
        self._on.move(id_, *nodes)
        self._world.anti_affine += _keeps_away(new) - _keeps_away(old)
        self._world.openings[Topic.POD] += pod_opens(old, new)
        self._coverage.pod(old, new)
        return {*nodes[0], *nodes[1], *self._promised(old), *self._promised(new)}

    def _promised(self, task: Task | None) -> Iterable[NodeName]:
        """The node of the quota that a task claims: there it counts before it has come."""
        quota = self._world.quotas.get(task.quota) if task and task.quota else None
        return (quota.node,) if quota and quota.node else ()

    def _arrival(self, id_: TaskId) -> tuple[object, ...]:
        return _order(self._world.tasks[id_])


def _order(task: Task) -> tuple[object, ...]:
    return (task.created, task.namespace, task.name, task.id)


def _job(task: Task | None) -> tuple[JobId, ...]:
    return (task.job,) if task and task.job is not None else ()


def _node(task: Task | None) -> tuple[NodeName, ...]:
    return (task.node,) if task and task.node is not None and task.unfinished else ()


def _keeps_away(task: Task | None) -> bool:
    return task is not None and bool(task.shape.pod_affinity.anti_required)
