"""Room on a node for who comes to claim there."""

from collections.abc import Container

from sky_core.model import NodeName, TaskId
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
