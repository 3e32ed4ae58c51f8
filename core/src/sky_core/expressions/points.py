"""The function points of a session: their types and the expressions that hold where the configuration has none."""

from collections.abc import Mapping
from typing import Final

from sky_core.expressions.operators import DEFAULT_OPERATOR, Kind

_STAGES: Final[Mapping[str, Kind]] = {
    "select": Kind.VERDICT,
    "prePredicate": Kind.VERDICT,
    "predicate": Kind.VERDICT,
    "order": Kind.NUMBER,
    "batchOrder": Kind.NUMBER,
    "best": Kind.VALUE,
}

POINTS: Final[Mapping[str, Kind]] = {
    **{f"{bundle}.{stage}": kind for bundle in ("tq", "qn", "tn") for stage, kind in _STAGES.items()},
    "jobOrder": Kind.COMPARISON,
    "queueOrder": Kind.COMPARISON,
    "taskOrder": Kind.COMPARISON,
    "jobValid": Kind.VERDICT,
    "jobEnqueueable": Kind.VERDICT,
    "jobReady": Kind.BOOLEAN,
    "jobPipelined": Kind.BOOLEAN,
    "jobStarving": Kind.BOOLEAN,
    "quotaReady": Kind.BOOLEAN,
    "quotaAllocate": Kind.VERDICT,
    "predicateZone": Kind.VALUE,
    "reclaimable": Kind.SET,
}
"""Each function point with the type of its answers; tq is task → quota, qn quota → node, tn task → node."""

SYNONYMS: Final[Mapping[str, str]] = {"preemptable": "reclaimable"}
"""Other names that a configuration may use, with the point that they mean."""


def default_text(kind: Kind) -> str:
    """The expression of a point of this type whose default `DEFAULTS` has no reason to spell out."""
    return f"{DEFAULT_OPERATOR[kind]}(*)"


DEFAULTS: Final[Mapping[str, str]] = {
    **{point: default_text(kind) for point, kind in POINTS.items()},
    "jobValid": "firstNotPass(*)",
    # Who waits takes nobody's turn, and goes on telling what it was refused for.
    "jobEnqueueable": "firstNotPass(backoff, *)",
    "quotaAllocate": "and(*)",
    # Avoid evictions, then pack, then the rest.
    "qn.order": "sum(weight(sylas, 100), weight(binpack, 10), weight(topology, 2), nodeorder)",
    "tn.order": "sum(weight(sylas, 100), weight(binpack, 10), nodeorder)",
    "reclaimable": "intersect(conformance, sylas)",
}
"""The expression of each point where the configuration has none; to be compiled with `strict=False`."""
