"""What pods and quotas would rather have, by kube-scheduler's own scores (behaviour.md 7.3).

Four parts, a quarter each, each relative to the candidates: preferred node affinity, preferred pod affinity, taints of
effect PreferNoSchedule, soft topology spread. Where nobody prefers anything, a node without taints scores the quarter
of the taints wherever it stands.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from sky_core.constraints import NodeAffinity
from sky_core.kubernetes import node_affinity, pod_affinity, spread, taints
from sky_core.model import Node, NodeName, Shape, Task, TaskId
from sky_core.normal_scores import FULL, between, evening, falling, rising
from sky_core.plugin import QN, TN, Context, Field, Functions, Parcel, Plugin

PARTS: Final = 4

Scores = dict[NodeName, int]
Kinds = Sequence[tuple[Task, int]]
"""One task of each shape, and how many there are of it."""


def open_session(context: Context, _: None) -> Functions:
    """Opens the scores that look at other nodes; those of one choice are computed together."""
    world = context.world
    near, cost = pod_affinity.preferred(world), spread.preferred(world)

    def compared(kinds: Kinds, quota: NodeAffinity, nodes: Sequence[Node]) -> Scores:
        parts = (
            rising([_affinity(kinds, quota, node) for node in nodes]),
            between([sum(n * near(task, node) for task, n in kinds) for node in nodes]),
            falling(
                [sum(n * taints.discouraging(t.shape.tolerations, node.taints) for t, n in kinds) for node in nodes]
            ),
            _evenness(kinds, cost, nodes),
        )
        return {node.name: sum(scores) // PARTS for node, *scores in zip(nodes, *parts, strict=True)}

    @lru_cache(maxsize=8)
    def for_parcel(parcel: Parcel, field: Field) -> Scores:
        shapes = Counter(task.shape for task in parcel.tasks)
        firsts = {task.shape: task for task in reversed(parcel.tasks)}
        kinds = [(firsts[shape], n) for shape, n in shapes.items()]
        return compared(kinds, parcel.quota.spec.node_affinity, field.nodes)

    @lru_cache(maxsize=8)
    def for_task(task: TaskId, field: Field) -> Scores:
        return compared([(world.tasks[task], 1)], _NO_PREFERENCE, field.nodes)

    def node_for_parcel(parcel: Parcel, node: Node, field: Field) -> int:
        if not node.taints and not parcel.quota.spec.node_affinity.preferred and not any(map(_prefers, parcel.tasks)):
            return FULL // PARTS
        return for_parcel(parcel, field)[node.name]

    def many_for_parcel(parcel: Parcel, nodes: Sequence[Node]) -> list[int]:
        plain = FULL // PARTS if not any(map(_prefers, parcel.tasks)) else None
        if plain is not None and not parcel.quota.spec.node_affinity.preferred:
            return [for_parcel(parcel, Field((node,)))[node.name] if node.taints else plain for node in nodes]
        return [for_parcel(parcel, Field((node,)))[node.name] for node in nodes]

    def node_for_task(task: Task, node: Node, field: Field) -> int:
        if not node.taints and not _prefers(task):
            return FULL // PARTS
        return for_task(task.id, field)[node.name]

    return Functions(qn=QN(order=node_for_parcel, orders=many_for_parcel, order_holds=True), tn=TN(order=node_for_task))


_NO_PREFERENCE: Final = NodeAffinity()


def _prefers(task: Task) -> bool:
    """Whether the pod itself tells nodes apart, taints aside."""
    shape = task.shape
    return bool(
        shape.node_affinity.preferred
        or shape.pod_affinity.preferred
        or shape.pod_affinity.anti_preferred
        or any(not constraint.hard for constraint in shape.spread)
    )


def _affinity(kinds: Kinds, quota: NodeAffinity, node: Node) -> int:
    """A quota's preference counts like one of a task."""
    tasks = sum(n * node_affinity.preference(task.shape.node_affinity, node) for task, n in kinds)
    return tasks + node_affinity.preference(quota, node)


def _evenness(
    kinds: Kinds, cost: Callable[[Task, Sequence[Node]], list[int | None]], nodes: Sequence[Node]
) -> list[int]:
    """0 for all where nobody has a soft constraint."""
    spreading = [(task, n) for task, n in kinds if _soft(task.shape)]
    if not spreading:
        return [0] * len(nodes)
    totals: list[int | None] = [0] * len(nodes)
    for task, n in spreading:
        costs = cost(task, nodes)
        totals = [
            None if sum_ is None or one is None else sum_ + n * one for sum_, one in zip(totals, costs, strict=True)
        ]
    return evening(totals)


def _soft(shape: Shape) -> bool:
    return any(not constraint.hard for constraint in shape.spread)


PLUGIN = Plugin(name="nodeorder", open=open_session)
