"""Keeps jobs: PodGroups, and whoever belongs to them."""

from collections.abc import Iterable

from msgspec.structs import replace

from sky_core.api import jobs
from sky_core.api.faults import Fault
from sky_core.api.identity import Key, job_id
from sky_core.api.jobs import Member
from sky_core.api.store import Dirty, Store
from sky_core.api.upkeep.tables import settle
from sky_core.api.upkeep.tasks import TaskUpkeep
from sky_core.model import Job, JobId
from sky_core.settings import Settings
from sky_core.world import World


class JobUpkeep:
    """Jobs as the store has their PodGroups and the world their tasks. `faults` are those that show among members."""

    def __init__(self, store: Store, world: World, settings: Settings, tasks: TaskUpkeep) -> None:
        """Nothing is there."""
        self._store = store
        self._world = world
        self._settings = settings
        self._tasks = tasks
        self.faults: dict[JobId, Fault] = {}

    def flush(self, dirty: Dirty) -> None:
        """Take up changed PodGroups, and jobs of which something has become, or whose pods ask for something else.

        The row of each is another one afterwards, be it equal: so one sees that there is something to tell of it.
        """
        tasks, restated = self._tasks, self._tasks.concerns.restated
        concerned = tasks.altered | restated | {job_id(key.namespace, key.name) for key in dirty["PodGroup"]}
        concerned |= self._by_classes(dirty["PriorityClass"])
        changes = {id_: self._job(id_) for id_ in sorted(concerned)}
        changes.update((id_, replace(self._world.jobs[id_])) for id_ in sorted(tasks.changed - concerned))
        self._world.news.jobs |= concerned | tasks.changed
        settle(self._world.jobs, changes, lambda id_, job: (job.created, id_))
        for done in (tasks.changed, tasks.altered, restated):
            done.clear()

    def _by_classes(self, dirty: Iterable[Key]) -> set[JobId]:
        names = {key.name for key in dirty}
        groups = self._store.groups.items() if names else ()
        return {job_id(key.namespace, key.name) for key, group in groups if group.priority_class in names}

    def _job(self, id_: JobId) -> Job | None:
        """The job, one version on where it has changed in more than what became of it."""
        self.faults.pop(id_, None)
        namespace, _, name = id_.partition("/")
        group_key = Key("PodGroup", namespace, name)
        group = self._store.groups.get(group_key)
        members = self._members(id_)
        if group is None and not members:
            return None
        mixed = jobs.mixed(members, self._settings)
        if mixed:
            subject = group_key if group else Key("Pod", namespace, members[0].task.name)
            self.faults[id_] = Fault(str(subject), "", mixed)
        new = jobs.job(id_, group, members, self._tasks.classes, mixed)
        old = self._world.jobs.get(id_)
        if old is None:
            return new
        new = replace(new, version=old.version)
        became = replace(old, phase=new.phase, waiting_since=new.waiting_since)
        return new if became == new and id_ not in self._tasks.altered else replace(new, version=old.version + 1)

    def _members(self, id_: JobId) -> list[Member]:
        tasks, readings = self._world.tasks, self._store.pods
        pods = [readings[key] for key in self._tasks.concerns.members.of(id_)]
        members = [Member(tasks[pod.task.id], pod) for pod in pods]
        own = [one for one in members if one.task.key == one.reading.task.key]  # else another pod has its uid
        return sorted(own, key=jobs.by_rank)
