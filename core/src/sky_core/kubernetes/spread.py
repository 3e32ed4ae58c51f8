"""Even spread over topology domains: kube-scheduler's PodTopologySpread."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from sky_core.constraints import Spread
from sky_core.kubernetes import node_affinity, taints
from sky_core.kubernetes.comers import Comers, comers
from sky_core.kubernetes.neighbours import Neighbours
from sky_core.model import Node, Shape, Task
from sky_core.reasons import Code, Reason
from sky_core.states import TaskState
from sky_core.world import World


def required(world: World) -> Callable[[Comers, Node], Reason | None]:
    """Opens the filter for a session: with it there, a domain may exceed the emptiest by no more than maxSkew.

    A domain exists where a node has all topology keys of the pod's hard constraints and is let in by nodeAffinityPolicy
    and nodeTaintsPolicy. With fewer domains than minDomains the emptiest counts as empty. Terminating pods and pods of
    other namespaces don't count; those who come together do.
    """

    @cache
    def spread(shape: Shape) -> Neighbours[Spread]:
        constraints = _of(shape, hard=True)
        return Neighbours(world, _counted(shape, constraints), _domains(world, shape, constraints))

    def uneven(task: Task, who: Comers, node: Node) -> Reason | None:
        sight = spread(task.shape).seen_by(task, who, node)
        for constraint in _of(task.shape, hard=True):
            domain = node.labels.get(constraint.topology_key)
            if domain is None:
                return Reason(Code.TOPOLOGY_SPREAD_NOT_MATCH, detail=f"no label {constraint.topology_key}")
            least = sight.least(constraint) if sight.domains(constraint) >= constraint.min_domains else 0
            skew = sight.at(constraint, node) + constraint.selector.matches(task.labels) - least
            if skew > constraint.max_skew:
                detail = f"{constraint.topology_key}={domain} would have {skew} more than the emptiest"
                return Reason(Code.TOPOLOGY_SPREAD_NOT_MATCH, detail=detail)
        return None

    def refusal(who: Comers, node: Node) -> Reason | None:
        for task in who.tasks:
            if task.shape.spread and (refusal := uneven(task, who, node)) is not None:
                return refusal
        return None

    return refusal


def preferred(world: World) -> Callable[[Task, Sequence[Node]], list[int | None]]:
    """Opens the cost for a session: per candidate, in thousandths, how full its domains are; None without a key.

    A constraint's pods weigh ln(domains among the candidates + 2), so that a topology of few domains is not drowned by
    one of many; maxSkew less one is added to each, which evens out skews that are tolerated.
    """

    @cache
    def spread(shape: Shape) -> Neighbours[Spread]:
        return Neighbours(world, _counted(shape, _of(shape, hard=False)))

    def costs(task: Task, candidates: Sequence[Node]) -> list[int | None]:
        constraints = _of(task.shape, hard=False)
        keyed = [node for node in candidates if _has_keys(constraints, node)]
        sizes = [len({node.labels[constraint.topology_key] for node in keyed}) for constraint in constraints]
        weights = [round(math.log(size + 2) * 1_000_000) for size in sizes]
        alone = comers((task,))

        def cost(node: Node) -> int:
            sight = spread(task.shape).seen_by(task, alone, node)
            return sum(
                sight.at(constraint, node) * weight // 1000 + (constraint.max_skew - 1) * 1000
                for constraint, weight in zip(constraints, weights, strict=True)
            )

        return [cost(node) if _has_keys(constraints, node) else None for node in candidates]

    return costs


def _of(shape: Shape, *, hard: bool) -> tuple[Spread, ...]:
    return tuple(constraint for constraint in shape.spread if constraint.hard is hard)


def _has_keys(constraints: Sequence[Spread], node: Node) -> bool:
    return all(constraint.topology_key in node.labels for constraint in constraints)


def _includes(shape: Shape, constraint: Spread, node: Node) -> bool:
    """Whether the constraint's policies let the node take part."""
    if constraint.honor_node_affinity and not node_affinity.eligible(shape, node):
        return False
    return not constraint.honor_taints or taints.untolerated(shape.tolerations, node.taints) is None


def _domains(world: World, shape: Shape, constraints: Sequence[Spread]) -> dict[Spread, list[str]]:
    nodes = [node for node in world.nodes.values() if _has_keys(constraints, node)]
    return {c: [node.labels[c.topology_key] for node in nodes if _includes(shape, c, node)] for c in constraints}


def _counted(shape: Shape, constraints: Sequence[Spread]) -> Callable[[Task, Node], Iterable[Spread]]:
    """A selector without requirements counts nobody, as in kube-scheduler; its key is needed all the same."""
    counting = [constraint for constraint in constraints if constraint.selector.requirements]

    def counted(task: Task, node: Node) -> Iterable[Spread]:
        if task.namespace != shape.namespace or task.state is TaskState.RELEASING:
            return ()
        matching = [constraint for constraint in counting if constraint.selector.matches(task.labels)]
        if not matching or not _has_keys(constraints, node):
            return ()
        return [constraint for constraint in matching if _includes(shape, constraint, node)]

    return counted
