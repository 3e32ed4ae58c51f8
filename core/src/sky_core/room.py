"""Room on a node for who comes to claim there, and for whom others may be made to go."""

from collections.abc import Container

from sky_core.model import BY_NODE, Job, NodeName, Quota, Shape, TaskId
from sky_core.resources import NOTHING, Resources
from sky_core.world import World


def awaited(world: World, node: NodeName, but: Container[TaskId] = ()) -> Resources:
    """What those will take of a node's idle who claim quotas bound to it and are not on it yet.

    Whoever is asked about is left out (`but`), so that nobody stands in their own way.
    """
    total = NOTHING
    for name in world.quotas_on.get(node, ()):
        for claim in world.quotas[name].claims:
            if claim.task not in but:
                task = world.tasks.get(claim.task)
                if task is not None and task.node is None:
                    total += task.shape.load
    return total


def expected(world: World, node: NodeName) -> tuple[Resources, int]:
    """What all those will take who are awaited on a node, and how many they are."""
    coming: dict[Shape, int] = {}
    for name in world.quotas_on.get(node, ()):
        for claim in world.quotas[name].claims:
            task = world.tasks.get(claim.task)
            if task is not None and task.node is None:
                coming[task.shape] = coming.get(task.shape, 0) + 1
    total = NOTHING
    for shape, count in coming.items():
        total += shape.load.times(count)
    return total, sum(coming.values())


def may_evict(job: Job, quota: Quota, more: Resources = NOTHING) -> bool:
    """Whether pods may be evicted for the job's claims on a quota, once it has claimed so much more.

    Not for a job that never preempts, and not for claims beyond the quota's request (behaviour.md 4, 5.4).
    """
    if not (quota.shadow or quota.over_allocated):
        return job.preempts  # nothing but the request bounds its claims
    claimed = (quota.claimed + more).without(BY_NODE - quota.spec.named)
    return job.preempts and claimed.fits_in(quota.spec.request)
