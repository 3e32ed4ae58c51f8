"""Tasks that would come to a node together, and what the node itself says to them."""

from collections.abc import Sequence

import msgspec

from sky_core.kubernetes import node_affinity, taints
from sky_core.model import Node, Shape, Task, TaskId
from sky_core.reasons import Code, Reason
from sky_core.resources import NOTHING, Resources
from sky_core.world import World


class Comers(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who is asked about: the tasks of a parcel, or one task. They count against each other, none against itself.

    `shapes` are the distinct ones; `load` is what those take that are on no node yet.
    """

    tasks: tuple[Task, ...]
    ids: frozenset[TaskId]
    shapes: tuple[Shape, ...]
    load: Resources
    ports: bool
    looks_around: bool


def comers(tasks: Sequence[Task]) -> Comers:
    """These tasks as one."""
    shapes = tuple(dict.fromkeys(task.shape for task in tasks))
    load = NOTHING
    for task in tasks:
        if task.node is None:
            load += task.shape.load
    return Comers(
        tasks=tuple(tasks),
        ids=frozenset(task.id for task in tasks),
        shapes=shapes,
        load=load,
        ports=any(shape.ports for shape in shapes),
        looks_around=any(shape.looks_around for shape in shapes),
    )


def unfit(shape: Shape, node: Node) -> Reason | None:
    """What the node refuses a pod of this shape for, whoever else is there."""
    if not node.ready:
        return Reason(Code.NODE_NOT_READY)
    if (node.unschedulable or node.taints) and (refusal := taints.refusal(shape.tolerations, node)) is not None:
        return refusal
    if (requirement := node_affinity.unmet(shape.selector, node.labels)) is not None:
        return Reason(Code.NODE_SELECTOR_NOT_MATCH, detail=str(requirement))
    if not node_affinity.allows(shape.node_affinity, node):
        return Reason(Code.NODE_AFFINITY_NOT_MATCH)
    if not all(node_affinity.any_matches(terms, node) for terms in shape.volumes):
        return Reason(Code.VOLUME_NODE_AFFINITY_NOT_MATCH)
    return None


def crowded(world: World, who: Comers, node: Node) -> Reason | None:
    """Too many pods, or a host port taken twice: kube-scheduler's NodeResourcesFit (pods) and NodePorts."""
    claims = sum(len(world.quotas[name].claims) for name in world.quotas_on.get(node.name, ()))
    at_most = len(world.tasks_on.get(node.name, ())) + claims + len(who.tasks)
    if at_most <= node.pods_max and not who.ports:
        return None
    others = [task for task in world.present(node.name) if task.id not in who.ids]
    if len(others) + len(who.tasks) > node.pods_max:
        return Reason(Code.TOO_MANY_PODS, detail=f"{len(others)} of {node.pods_max}")
    return _clash(who, others) if who.ports else None


def _clash(who: Comers, others: Sequence[Task]) -> Reason | None:
    taken = [port for task in others for port in task.shape.ports]
    for task in who.tasks:
        for port in task.shape.ports:
            if any(port.clashes(other) for other in taken):
                return Reason(Code.PORT_CONFLICT, detail=f"{port.protocol} {port.port}")
        taken += task.shape.ports
    return None
