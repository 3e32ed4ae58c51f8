"""What tasks claim, as hop 2 places it: each quota with its tasks."""

from collections.abc import Sequence

from sky_core.members import by_rank
from sky_core.model import Job, Quota, Task
from sky_core.plugin import Parcel
from sky_core.world import World


def parcels_of(world: World, job: Job, tasks: Sequence[Task]) -> list[Parcel]:
    """The unbound quotas that these tasks claim, by the lowest rank among their claims.

    Of parcels that are alike in a row only the first is made from scratch.
    """
    quotas, found, last = world.quotas, list[Parcel](), None
    for name in dict.fromkeys([task.quota for task in tasks if task.quota is not None]):
        quota = quotas[name]
        if quota.node is not None or quota.spec.static_node:
            continue
        claiming = _claiming(world, quota)
        if last is None or not _alike(world, last, quota, claiming):
            last = Parcel(job=job, quota=quota, tasks=claiming)
            found.append(last)
        else:
            found.append(last.twin(quota, claiming))
    return sorted(found, key=_lowest_rank)


def _lowest_rank(parcel: Parcel) -> tuple[object, ...]:
    return parcel.tasks[0].rank


def _claiming(world: World, quota: Quota) -> tuple[Task, ...]:
    """Who claims a quota, in rank order."""
    tasks = world.tasks
    found = [tasks[claim.task] for claim in quota.claims if claim.task in tasks]
    if len(found) > 1:
        found.sort(key=by_rank)
    return tuple(found)


def _alike(world: World, one: Parcel, quota: Quota, tasks: Sequence[Task]) -> bool:
    """Whether nodes answer to these tasks in this quota as to that parcel.

    Labels count where anybody keeps others away by them.
    """
    other = one.quota
    if quota.spec is not other.spec or quota.claimed != other.claimed or len(tasks) != len(one.tasks):
        return False
    if quota.shadow or other.shadow or quota.over_allocated or other.over_allocated:
        return False
    labels_count = world.anti_affine > 0
    for task, twin in zip(tasks, one.tasks, strict=True):
        if task.shape is not twin.shape or task.node is not None or twin.node is not None:
            return False
        if labels_count and task.labels != twin.labels:
            return False
    return True
