"""Selectors and tolerations of objects, as the rows that judge by them."""

from collections.abc import Iterable, Mapping
from typing import Final

from sky_core.api.faults import Invalid
from sky_core.api.wire import meta
from sky_core.constraints import Effect, NodeAffinity, NodeTerm, PreferredNode, Toleration
from sky_core.quantity import shown
from sky_core.selectors import EVERYTHING, Operator, Requirement, Selector, equals

NOBODY: Final = Selector((Requirement("", Operator.IN),))
"""The selector that nothing meets: what an absent label selector of an affinity term stands for."""

_NO_AFFINITY: Final = NodeAffinity()
_SETS: Final = frozenset({Operator.IN, Operator.NOT_IN})
_BOUNDS: Final = frozenset({Operator.GT, Operator.LT})
_EFFECTS: Final[Mapping[str, Effect | None]] = {"": None, **{effect.value: effect for effect in Effect}}
_EXISTS: Final = {"": False, "Equal": False, "Exists": True}


def selector(field: str, written: meta.LabelSelector) -> Selector:
    """A label selector, its requirements sorted, so that equal ones are equal rows.

    Raises:
        Invalid: A requirement has values where it takes none, or none where it needs some.
    """
    if not written.match_expressions:
        return equals(written.match_labels) if written.match_labels else EVERYTHING
    found = list(equals(written.match_labels).requirements)
    for i, expression in enumerate(written.match_expressions):
        operator = Operator(expression.operator)
        found.append(_requirement(f"{field}.matchExpressions[{i}]", expression.key, operator, expression.values))
    return Selector(tuple(sorted(found, key=_by_key)))


def selector_or_nobody(field: str, written: meta.LabelSelector | None) -> Selector:
    """A label selector where an absent one selects nobody, as in Kubernetes."""
    return NOBODY if written is None else selector(field, written)


def node_terms(field: str, terms: Iterable[meta.NodeSelectorTerm]) -> tuple[NodeTerm, ...]:
    """The terms of a node selector.

    Raises:
        Invalid: As `selector`.
    """
    return tuple(_node_term(f"{field}[{i}]", term) for i, term in enumerate(terms))


def node_affinity(field: str, written: meta.NodeAffinity) -> NodeAffinity:
    """What is asked of nodes.

    Raises:
        Invalid: As `selector`.
    """
    hard = written.required_during_scheduling_ignored_during_execution
    soft = written.preferred_during_scheduling_ignored_during_execution
    if hard is None and not soft:
        return _NO_AFFINITY
    required = f"{field}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
    preferred = f"{field}.preferredDuringSchedulingIgnoredDuringExecution"
    return NodeAffinity(
        required=None if hard is None else node_terms(required, hard.node_selector_terms),
        preferred=tuple(
            PreferredNode(term.weight, _node_term(f"{preferred}[{i}].preference", term.preference))
            for i, term in enumerate(soft)
        ),
    )


def tolerations(written: Iterable[meta.Toleration]) -> tuple[Toleration, ...]:
    """What is tolerated. One whose operator or effect nobody here knows is left out: it tolerates nothing."""
    return tuple(
        Toleration(key=one.key, exists=_EXISTS[one.operator], value=one.value, effect=_EFFECTS[one.effect])
        for one in written
        if one.operator in _EXISTS and one.effect in _EFFECTS
    )


def _node_term(field: str, term: meta.NodeSelectorTerm) -> NodeTerm:
    return NodeTerm(
        labels=_node_requirements(f"{field}.matchExpressions", term.match_expressions),
        fields=_node_requirements(f"{field}.matchFields", term.match_fields),
    )


def _node_requirements(field: str, expressions: Iterable[meta.NodeRequirement]) -> tuple[Requirement, ...]:
    found = [_requirement(f"{field}[{i}]", one.key, one.operator, one.values) for i, one in enumerate(expressions)]
    return tuple(sorted(found, key=_by_key))


def _requirement(field: str, key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    if operator in _SETS and not values:
        raise Invalid(f"{field}.values", f"{operator} of {shown(key)} needs a value")
    if operator in _BOUNDS and len(values) != 1:
        raise Invalid(f"{field}.values", f"{operator} of {shown(key)} needs exactly one value")
    return Requirement(key, operator, tuple(sorted(set(values))))


def _by_key(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return (requirement.key, requirement.operator, requirement.values)
