"""Node selectors and node affinity, of pods, quotas and volumes: kube-scheduler's NodeAffinity."""

from sky_core.constraints import NodeAffinity, NodeTerm
from sky_core.model import Node, Shape
from sky_core.selectors import Labels, Requirement, Selector


def unmet(selector: Selector, labels: Labels) -> Requirement | None:
    """The first requirement that these labels don't meet."""
    for requirement in selector.requirements:
        if not requirement.met_by(labels):
            return requirement
    return None


def any_matches(terms: tuple[NodeTerm, ...], node: Node) -> bool:
    """Whether one of the terms matches the node: none of no terms does."""
    return any(_matches(term, node) for term in terms)


def allows(affinity: NodeAffinity, node: Node) -> bool:
    """Whether the node meets what is required."""
    return affinity.required is None or any_matches(affinity.required, node)


def eligible(shape: Shape, node: Node) -> bool:
    """Whether the node meets both the plain node selector and the required affinity."""
    return shape.selector.matches(node.labels) and allows(shape.node_affinity, node)


def preference(affinity: NodeAffinity, node: Node) -> int:
    """The sum of the weights of the preferred terms that match."""
    return sum(preferred.weight for preferred in affinity.preferred if _matches(preferred.term, node))


def _matches(term: NodeTerm, node: Node) -> bool:
    """All labels and fields together; an empty term matches no node, preferred or required."""
    if not term.labels and not term.fields:
        return False
    fields = {"metadata.name": node.name}
    return all(r.met_by(node.labels) for r in term.labels) and all(r.met_by(fields) for r in term.fields)
