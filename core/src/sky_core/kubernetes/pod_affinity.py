"""Affinity and anti-affinity among pods: kube-scheduler's InterPodAffinity."""

from collections.abc import Callable, Iterable
from functools import cache

from sky_core.constraints import PodTerm
from sky_core.kubernetes.comers import Comers, comers
from sky_core.kubernetes.neighbours import Neighbours
from sky_core.model import Node, Shape, Task
from sky_core.reasons import Code, Reason
from sky_core.world import World


def required(world: World) -> Callable[[Comers, Node], Reason | None]:
    """Opens the filter for a session: what those who come require, and who is there and requires to be kept from them.

    As in Kubernetes: pods count for affinity only if they match all of its terms; the first pod of a group that
    requires its own kind may go wherever the topology exists; a node without the topology label has nobody near, which
    fails affinity and satisfies anti-affinity. Those who come together keep each other company.
    """

    @cache
    def company(shape: Shape) -> Neighbours[PodTerm]:
        terms = shape.pod_affinity.required
        return Neighbours(world, lambda task, _: terms if all(_matches(world, t, task) for t in terms) else ())

    @cache
    def avoided(shape: Shape) -> Neighbours[PodTerm]:
        return Neighbours(world, _each(world, shape.pod_affinity.anti_required))

    @cache
    def guarded() -> Neighbours[PodTerm]:
        return Neighbours(world, lambda task, _: task.shape.pod_affinity.anti_required)

    def together(task: Task, who: Comers, node: Node) -> bool:
        terms = task.shape.pod_affinity.required
        sight = company(task.shape).seen_by(task, who, node)
        if not all(term.topology_key in node.labels for term in terms):
            return False
        if all(sight.at(term, node) > 0 for term in terms):
            return True
        return not sight.anyone() and all(_matches(world, term, task) for term in terms)

    def avoids(task: Task, who: Comers, node: Node) -> bool:
        sight = avoided(task.shape).seen_by(task, who, node)
        return all(sight.at(term, node) <= 0 for term in task.shape.pod_affinity.anti_required)

    def kept_away(task: Task, who: Comers, node: Node) -> bool:
        near = [
            term
            for term, counts in guarded().census.subjects()
            if counts.get(node.labels.get(term.topology_key, "")) and _matches(world, term, task)
        ]
        if not near:
            return False
        sight = guarded().seen_by(task, who, node)
        return any(sight.at(term, node) > 0 for term in near)

    def refusal(who: Comers, node: Node) -> Reason | None:
        for task in who.tasks:
            affinity = task.shape.pod_affinity
            if affinity.required and not together(task, who, node):
                return Reason(Code.POD_AFFINITY_NOT_MATCH)
            if affinity.anti_required and not avoids(task, who, node):
                return Reason(Code.POD_ANTI_AFFINITY_NOT_MATCH)
            if world.anti_affine and kept_away(task, who, node):
                return Reason(Code.POD_ANTI_AFFINITY_NOT_MATCH, detail="pods there keep it away")
        return None

    return refusal


def preferred(world: World) -> Callable[[Task, Node], int]:
    """Opens the score for a session: the weights of the task's preferred terms, each times the pods that match it.

    Anti-affinity counts against. What the pods there prefer of the task does not count.
    """

    @cache
    def liked(shape: Shape) -> Neighbours[PodTerm]:
        affinity = shape.pod_affinity
        both = (*affinity.preferred, *affinity.anti_preferred)
        return Neighbours(world, _each(world, tuple(dict.fromkeys(preferred.term for preferred in both))))

    def score(task: Task, node: Node) -> int:
        affinity = task.shape.pod_affinity
        if not (affinity.preferred or affinity.anti_preferred):
            return 0
        sight = liked(task.shape).seen_by(task, comers((task,)), node)
        drawn = sum(liking.weight * sight.at(liking.term, node) for liking in affinity.preferred)
        return drawn - sum(dislike.weight * sight.at(dislike.term, node) for dislike in affinity.anti_preferred)

    return score


def _each(world: World, terms: tuple[PodTerm, ...]) -> Callable[[Task, Node], Iterable[PodTerm]]:
    """Counts a task for each term that it matches on its own."""
    return lambda task, _: [term for term in terms if _matches(world, term, task)]


def _matches(world: World, term: PodTerm, task: Task) -> bool:
    if task.namespace not in term.namespaces and (
        term.namespace_selector is None or not term.namespace_selector.matches(world.namespaces.get(task.namespace, {}))
    ):
        return False
    return term.selector.matches(task.labels)
