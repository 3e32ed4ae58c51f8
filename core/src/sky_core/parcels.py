"""What tasks claim, as hop 2 places it: each quota with its tasks."""

from collections.abc import Sequence

from sky_core.members import by_rank
from sky_core.model import Job, JobId, Quota, Task
from sky_core.plugin import Parcel
from sky_core.world import World


class Parcels:
    """Those of each job, made again when a row of it has changed."""

    def __init__(self, world: World) -> None:
        """None is made."""
        self._world = world
        self._made: dict[JobId, tuple[list[Task], list[Quota], list[Parcel]]] = {}

    def of(self, job: Job, tasks: Sequence[Task]) -> list[Parcel]:
        """The unbound quotas that these tasks claim, by the lowest rank among their claims."""
        quotas = self._world.quotas
        claiming = [task for task in tasks if task.quota is not None]
        claimed = [quotas[name] for name in dict.fromkeys([task.quota for task in claiming]) if name is not None]
        made = self._made.get(job.id)
        if made is not None and made[:2] == (claiming, claimed):
            return made[2]
        parcels = self._make(job, [quota for quota in claimed if quota.node is None and not quota.spec.static_node])
        if sum([len(quota.claims) for quota in claimed]) == len(claiming):  # nobody else's row is in them
            self._made[job.id] = (claiming, claimed, parcels)
        return parcels

    def _make(self, job: Job, quotas: Sequence[Quota]) -> list[Parcel]:
        """Of parcels that are alike in a row only the first is made from scratch."""
        found, last = list[Parcel](), None
        for quota in quotas:
            tasks = self._claiming(quota)
            if last is not None and self._alike(last, quota, tasks):
                found.append(last.twin(quota, tasks))
            else:
                last = Parcel(job=job, quota=quota, tasks=tasks)
                found.append(last)
        return sorted(found, key=_lowest_rank)

    def _claiming(self, quota: Quota) -> tuple[Task, ...]:
        """Who claims a quota, in rank order."""
        tasks = self._world.tasks
        found = [tasks[claim.task] for claim in quota.claims if claim.task in tasks]
        if len(found) > 1:
            found.sort(key=by_rank)
        return tuple(found)

    def _alike(self, one: Parcel, quota: Quota, tasks: Sequence[Task]) -> bool:
        """Whether nodes answer to these tasks in this quota as to that parcel.

        Labels count where anybody keeps others away by them.
        """
        other = one.quota
        if quota.spec is not other.spec or quota.claimed != other.claimed or len(tasks) != len(one.tasks):
            return False
        if quota.shadow or other.shadow or quota.over_allocated or other.over_allocated:
            return False
        labels_count = self._world.anti_affine > 0
        for task, twin in zip(tasks, one.tasks, strict=True):
            if task.shape is not twin.shape or task.node is not None or twin.node is not None:
                return False
            if labels_count and task.labels != twin.labels:
                return False
        return True


def _lowest_rank(parcel: Parcel) -> tuple[object, ...]:
    return parcel.tasks[0].rank
