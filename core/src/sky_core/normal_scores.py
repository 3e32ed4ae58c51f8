"""From raw numbers to scores: 0 to 100 points relative to the candidates, in whole thousandths rounded down."""

from collections.abc import Sequence
from typing import Final

from sky_core.plugin import POINT

FULL: Final = 100 * POINT


def rising(raw: Sequence[int]) -> list[int]:
    """The largest gets 100, 0 gets 0; all 0 if none is above (kube-scheduler's DefaultNormalizeScore)."""
    top = max(raw, default=0)
    return [FULL * value // top if top > 0 else 0 for value in raw]


def falling(raw: Sequence[int]) -> list[int]:
    """0 gets 100, the largest 0; all 100 if none is above (the same, reversed)."""
    return [FULL - score for score in rising(raw)]


def between(raw: Sequence[int]) -> list[int]:
    """The smallest gets 0, the largest 100, whatever their sign; all 0 if they are equal (InterPodAffinity)."""
    low, high = min(raw, default=0), max(raw, default=0)
    return [FULL * (value - low) // (high - low) if high > low else 0 for value in raw]


def evening(raw: Sequence[int | None]) -> list[int]:
    """The smallest gets 100, larger ones less in proportion; None gets 0 (PodTopologySpread)."""
    costs = [value for value in raw if value is not None]
    low, high = min(costs, default=0), max(costs, default=0)
    return [0 if value is None else FULL * (high + low - value) // high if high > 0 else FULL for value in raw]
