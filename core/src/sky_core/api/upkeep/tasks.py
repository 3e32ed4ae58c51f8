"""Keeps tasks: each pod with what other objects say of it, and which are on which node."""

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Final

from sky_core.api import pods, shapes
from sky_core.api.assumptions import Assumptions
from sky_core.api.faults import Fault
from sky_core.api.identity import Key
from sky_core.api.pods import PodReading
from sky_core.api.priorities import BUILT_IN, Priority
from sky_core.api.store import Dirty, Store
from sky_core.api.upkeep.concerns import Concerned, Concerns
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

    `changed` are the jobs one of whose tasks has changed, `altered` those of them whose pods ask for something else
    than before; both are for `JobUpkeep` to empty. `faults` are those that show only among pods.
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
        self.changed: set[JobId] = set()
        self.altered: set[JobId] = set()
        self.faults: dict[Key, Fault] = {}
        self.concerns = Concerns(store)
        self._on: Index[NodeName, TaskId] = Index()

    def flush(self, dirty: Dirty, tied: Iterable[TaskId]) -> set[NodeName]:
        """Take up changed pods, and those that other changed objects concern. Returns the nodes that this touches.

        `tied` are the pods that came to claim a quota, or ceased to, and those of which something else is assumed.
        """
        if dirty["PriorityClass"]:
            self.classes = {**BUILT_IN, **{key.name: one for key, one in self._store.priorities.items()}}
        tasks, touched = self._world.tasks, set[NodeName]()
        changes = self._derive(self.concerns.pods(dirty, tied))
        for id_, new in changes.items():
            old = tasks.get(id_)
            if old != new:
                self._account(id_, old, new, touched)
        self._world.news.tasks.update(changes)
        settle(tasks, changes, lambda _, task: _arrival(task))
        settle(self._world.tasks_on, {node: self._arrived(node) for node in sorted(touched)}, lambda node, _: node)
        return touched

    def _derive(self, concerned: Concerned) -> dict[TaskId, Task | None]:
        """The tasks of these pods, None for those that are gone. Of two pods with one uid the first by name counts."""
        changes: dict[TaskId, Task | None] = dict.fromkeys(concerned.lost)
        readings, first, seen = self._store.pods, self.concerns.first, self._assumed.seen
        self.faults = {key: fault for key, fault in self.faults.items() if key not in concerned.pods}
        for key in sorted(concerned.pods):
            reading = readings.get(key)
            if reading is None:
                continue
            uid = reading.task.id
            if (other := first(uid)) != key:
                self.faults[key] = Fault(str(key), "metadata.uid", f"is that of {other} too")
                continue
            seen(uid, reading)
            changes[uid] = self._task(key, reading)
        for uid, task in changes.items():
            if task is None:
                seen(uid, None)
        return changes

    def _task(self, key: Key, reading: PodReading) -> Task:
        uid, shape = reading.task.id, reading.task.shape
        if reading.volumes and (volumes := tuple(self._reachable(key, reading))):
            shape = self._store.shape(shapes.with_volumes(shape, volumes))
        return pods.task(
            reading,
            quota=self._quotas.claimed_by(uid),
            bound=self._assumed.bound(uid),
            evicted=self._assumed.evicted(uid),
            shape=shape,
            priority=self.classes.get(reading.priority_class),
            wish=self.concerns.wish(reading),
            settings=self._settings,
        )

    def _reachable(self, key: Key, reading: PodReading) -> Iterable[tuple[NodeTerm, ...]]:
        for name in reading.volumes:
            claim = self._store.claims.get(Key("PersistentVolumeClaim", key.namespace, name), "")
            terms = self._store.volumes.get(Key("PersistentVolume", "", claim))
            if terms is not None:
                yield terms

    def _account(self, id_: TaskId, old: Task | None, new: Task | None, touched: set[NodeName]) -> None:
        """Write down one change, in everything but the tasks themselves; and in `touched` the nodes that it touches."""
        world, was, now = self._world, _node(old), _node(new)
        altered = old is None or new is None or not asks_the_same(old, new)
        for sign, task, node in ((-1, old, was), (1, new, now)):
            if task is None:
                continue
            if task.job is not None:
                self.changed.add(task.job)
                if altered:
                    self.altered.add(task.job)
            if task.shape.pod_affinity.anti_required:
                world.anti_affine += sign
            if node is not None:
                touched.add(node)
            if task.quota is not None and (quota := world.quotas.get(task.quota)) is not None and quota.node:
                touched.add(quota.node)  # there it counts before it has come
        if old is not None:
            world.openings[Topic.POD] += pod_opens(old, new)
        self._on.shift(id_, was, now)
        self._coverage.pod(old, new)

    def _arrived(self, node: NodeName) -> tuple[TaskId, ...] | None:
        """The tasks on a node in their order; None for none."""
        tasks = self._world.tasks
        return tuple([task.id for task in sorted([tasks[id_] for id_ in self._on.of(node)], key=_arrival)]) or None


_arrival: Final = attrgetter("created", "namespace", "name", "id")


def _node(task: Task | None) -> NodeName | None:
    return task.node if task is not None and task.unfinished else None
