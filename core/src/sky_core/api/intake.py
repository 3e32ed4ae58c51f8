"""Objects in, rows out: the world, brought up to date with what has changed."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from sky_core.api.assumptions import Assumptions
from sky_core.api.faults import Fault
from sky_core.api.identity import NAMESPACED, Key
from sky_core.api.store import Dirty, Said, Store
from sky_core.api.upkeep.coverage import Coverage
from sky_core.api.upkeep.jobs import JobUpkeep
from sky_core.api.upkeep.nodes import NodeUpkeep
from sky_core.api.upkeep.quotas import QuotaUpkeep
from sky_core.api.upkeep.tables import settle
from sky_core.api.upkeep.tasks import TaskUpkeep
from sky_core.decisions import Decision
from sky_core.model import JobId, JobQueue, Queue, QueueName
from sky_core.reasons import Topic
from sky_core.selectors import Labels
from sky_core.settings import Settings
from sky_core.world import World

_DEFAULT_NAMESPACE = "default"


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What in a world depends on what happened on the way: how often something opened, and each job's version."""

    openings: Mapping[Topic, int]
    versions: Mapping[JobId, int]


class Intake:
    """Keeps a world that is a function of the objects that are there, in whatever order they came.

    Its tables stand in a defined order: tasks by creation, namespace, name; jobs by creation and id; quotas by creation
    and natural name; nodes in index order; queues and job queues by creation and name; all else by key. `tasks_on` and
    `quotas_on` hold those of a node in the same orders, with no entry for a node that has none; there may be entries
    for nodes that do not exist. `Job.version`, `openings` and `changed` count what happened on the way.
    """

    def __init__(self, settings: Settings) -> None:
        """Nothing is there."""
        self._world = World()
        self._store = Store(settings)
        self._coverage = Coverage()
        self._assumed = Assumptions()
        self._quotas = QuotaUpkeep(self._store, self._world, self._assumed)
        self._tasks = TaskUpkeep(self._store, self._world, settings, self._quotas, self._coverage, self._assumed)
        self._jobs = JobUpkeep(self._store, self._world, settings, self._tasks)
        self._nodes = NodeUpkeep(self._store, self._world)

    def put(self, raw: Mapping[str, Any]) -> None:
        """An object has come or changed. Whatever it holds, nothing is raised: see `invalid` and `warnings`."""
        self._store.put(raw)

    def put_json(self, key: Key, raw: bytes) -> Said:
        """An object has come or changed, as JSON. What it says.

        Raises:
            msgspec.DecodeError, UnicodeDecodeError, RecursionError: It is no JSON; nothing has been done.
        """
        return self._store.put_json(key, raw)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        """An object has gone; nothing happens if it was not there. Kinds of the cluster have no namespace."""
        self._store.remove(Key(kind, (namespace or _DEFAULT_NAMESPACE) if kind in NAMESPACED else "", name))

    def assume(self, decision: Decision) -> None:
        """A decision is on its way: it counts as done although no object shows it, and nobody decides on it again.

        A bind or an eviction is assumed until its pod shows it or is gone; a write until it is forgotten.
        """
        self._assumed.add(decision)

    def forget(self, decision: Decision) -> None:
        """A decision is answered: from here on the objects say what became of it. Nothing happens if they do already.

        For a write, always; for a bind or an eviction, where it was refused.
        """
        self._assumed.drop(decision)

    @property
    def assumed(self) -> tuple[Decision, ...]:
        """The decisions that count as done although no object shows them."""
        self.world()
        return self._assumed.all

    @property
    def counts(self) -> Counts:
        """How far it has counted."""
        world = self.world()
        versions = {id_: job.version for id_, job in world.jobs.items() if job.version}
        return Counts(openings=dict(world.openings), versions=versions)

    def count_on(self, counts: Counts) -> None:
        """Go on counting where another intake with the same objects stood."""
        world = self.world()
        world.openings.update(counts.openings)
        for id_, version in counts.versions.items():
            world.jobs[id_] = replace(world.jobs[id_], version=version)

    def world(self) -> World:
        """The world as of the objects that are there: always the same one, brought up to date.

        To be called between cycles, when no trial is open.
        """
        world, store, assumed = self._world, self._store, self._assumed
        dirty = store.drain()
        if not (any(dirty.values()) or assumed.quotas or assumed.tasks):
            return world
        dirty["Quota"] |= {Key("Quota", "", name): None for name in assumed.quotas}
        tied, touched = self._quotas.flush(dirty["Quota"])
        touched |= self._tasks.flush(dirty, tied | assumed.tasks)
        self._jobs.flush(dirty)
        touched |= self._nodes.flush(dirty)
        self._nodes.recount(touched)
        self._flush_queues(dirty)
        for key in dirty["PodDisruptionBudget"]:
            self._coverage.rule(key, store.budgets.get(key), world.tasks)
        settle(world.budgets, dict(self._coverage.drain()), lambda key, _: key)
        assumed.quotas.clear()
        assumed.tasks.clear()
        world.unanswered = assumed.jobs(world)
        store.forget(task.shape for task in world.tasks.values())
        return world

    @property
    def invalid(self) -> tuple[Fault, ...]:
        """What is wrong with the objects that are there, sorted; among several objects, as of the last `world`."""
        own = (fault for faults in self._store.faults.values() for fault in faults)
        return tuple(sorted({*own, *self._tasks.faults.values(), *self._jobs.faults.values()}))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know, and is nobody's fault: sorted lines."""
        strangers = (f"{key} is of no kind that the scheduler reads" for key in self._store.strangers)
        return tuple(sorted([*strangers, *self._equal_indexes()]))

    def _equal_indexes(self) -> list[str]:
        """One line for the whole cluster, with the first two nodes of one index as an example."""
        nodes = sorted(self._world.nodes.values(), key=lambda node: node.order)
        pairs = [pair for pair in pairwise(nodes) if pair[0].index is not None and pair[0].index == pair[1].index]
        if not pairs:
            return []
        one, other = pairs[0]
        return [f"nodes share an index and are ordered by name: {one.name} and {other.name} have {one.index}"]

    def _flush_queues(self, dirty: Dirty) -> None:
        world, store = self._world, self._store
        queues: dict[QueueName, Queue | None] = {QueueName(key.name): store.queues.get(key) for key in dirty["Queue"]}
        settle(world.queues, queues, lambda name, queue: (queue.created, name))
        lanes: dict[str, JobQueue | None] = {key.name: store.job_queues.get(key) for key in dirty["JobQueue"]}
        settle(world.job_queues, lanes, lambda name, lane: (lane.created, name))
        spaces: dict[str, Labels | None] = {key.name: store.namespaces.get(key) for key in dirty["Namespace"]}
        settle(world.namespaces, spaces, lambda name, _: name)
        world.openings[Topic.QUEUE] += len(queues)
        world.openings[Topic.JOB_QUEUE] += len(lanes)
        world.openings[Topic.NAMESPACE] += len(spaces)
