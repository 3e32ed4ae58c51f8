"""Taints and tolerations: kube-scheduler's TaintToleration and NodeUnschedulable."""

from collections.abc import Sequence
from typing import Final

from sky_core.constraints import Effect, Taint, Toleration
from sky_core.model import Node
from sky_core.reasons import Code, Reason

UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", Effect.NO_SCHEDULE)
"""What a cordoned node counts as tainted with, even before the node controller has written it."""


def refusal(tolerations: Sequence[Toleration], node: Node) -> Reason | None:
    """Whether the node keeps out who has these tolerations."""
    if node.unschedulable and not tolerated(tolerations, UNSCHEDULABLE):
        return Reason(Code.NODE_UNSCHEDULABLE)
    taint = untolerated(tolerations, node.taints)
    return None if taint is None else Reason(Code.TAINT_NOT_TOLERATED, detail=_text(taint))


def untolerated(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> Taint | None:
    """The first taint of effect NoSchedule or NoExecute that none of them tolerates."""
    for taint in taints:
        if taint.effect is not Effect.PREFER_NO_SCHEDULE and not tolerated(tolerations, taint):
            return taint
    return None


def discouraging(tolerations: Sequence[Toleration], taints: Sequence[Taint]) -> int:
    """How many taints of effect PreferNoSchedule none of them tolerates."""
    return sum(taint.effect is Effect.PREFER_NO_SCHEDULE and not tolerated(tolerations, taint) for taint in taints)


def tolerated(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Whether any of them tolerates it."""
    return any(toleration.tolerates(taint) for toleration in tolerations)


def _text(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
