"""PodDisruptionBudgets: whom they protect, and the status that a cluster's controller gives them (policy/v1)."""

from collections.abc import Iterable
from typing import Any, Final

from sky_core.api import budgets
from sky_core.api.conditions import condition, merged
from sky_core.api.faults import Invalid
from sky_core.model import Instant
from sky_core.simulation.objects import Object, conditions, part, text
from sky_sandbox.api.metadata import whole

RESOURCE: Final = "poddisruptionbudgets.policy"
_ENDED: Final = frozenset({"Succeeded", "Failed"})


def protects(budget: Object, pod: Object) -> bool:
    """Whether a budget is about this pod; a malformed one is about none."""
    try:
        rule = budgets.read(budget)
    except Invalid:
        return False
    same = pod["metadata"]["namespace"] == budget["metadata"]["namespace"]
    return same and rule.pods.matches(part(pod, "metadata", "labels"))


def is_ready(pod: Object) -> bool:
    """Whether a pod is ready."""
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions(pod))


def disruptable(budget: Object, allowed: int) -> dict[str, Any]:
    """The condition that says whether a budget lets pods go."""
    reason = "SufficientPods" if allowed else "InsufficientPods"
    told = condition("DisruptionAllowed", holds=allowed > 0, reason=reason)
    return {**told, "observedGeneration": budget["metadata"]["generation"]}


def status(budget: Object, pods: Iterable[Object], now: Instant) -> dict[str, Any]:
    """What a well-formed budget says of these pods, which are those that it protects.

    A pod that was let go counts as disrupted until it is seen to go.
    """
    rule = budgets.read(budget)
    there = [pod for pod in pods if text(part(pod, "status"), "phase") not in _ENDED]
    staying = [pod for pod in there if not part(pod, "metadata").get("deletionTimestamp")]
    let_go = part(budget, "status", "disruptedPods")
    disrupted = {name: let_go[name] for name in sorted(let_go) if any(_name(pod) == name for pod in staying)}
    healthy = sum(is_ready(pod) and _name(pod) not in disrupted for pod in staying)
    if rule.unavailable_max is not None:
        desired = max(len(there) - rule.unavailable_max.of(len(there)), 0)
    else:
        desired = rule.available_min.of(len(there)) if rule.available_min is not None else len(there)
    allowed = max(healthy - desired, 0) if there else 0
    found: dict[str, Any] = {
        "observedGeneration": budget["metadata"]["generation"],
        "expectedPods": len(there),
        "desiredHealthy": desired,
        "currentHealthy": healthy,
        "disruptionsAllowed": allowed,
        "conditions": merged(conditions(budget), disruptable(budget, allowed), whole(now)),
    }
    return {**found, "disruptedPods": disrupted} if disrupted else found


def _name(pod: Object) -> str:
    return text(pod["metadata"], "name")
