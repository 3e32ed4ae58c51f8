"""What is said of a played trace."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Final

import msgspec

from skyctl.bench.quality.play import Placed, Played
from skyctl.bench.quality.site import Site, is_ring

CLASSES: Final[Mapping[str, tuple[float, float]]] = {
    "below 8": (0, 8), "8": (8, 9), "9 to 64": (9, 65), "65 to 256": (65, 257), "more": (257, float("inf"))
}  # fmt: skip
"""Sizes of jobs in cards: from, and to but not including."""


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """Of one trace under one policy. Times are in seconds, shares 0 to 1.

    Attributes:
        leaves: Per job on several nodes.
        bound: Below that no policy can be.
        more: Jobs on more leaves than they could have been on by what was free when they were placed.
        across_leaves: The share of a ring's edges that cross leaves, weighted by the job's card-hours.
        across_spines: The same of spines.
        broken_nodes: Of the free cards, the share on nodes that are not empty: the mean over time.
        broken_leaves: Of the empty nodes, but no more than a leaf has, the share not to be had behind one leaf.
        used: The share of the cards.
        wait: Mean of all jobs.
        late: The 95th percentile of their waits.
        waits: Mean by size (`CLASSES`), where there are such jobs.
    """

    jobs: int
    unplaced: int
    leaves: float
    bound: float
    more: int
    across_leaves: float
    across_spines: float
    broken_nodes: float
    broken_leaves: float
    used: float
    wait: float
    late: float
    waits: Mapping[str, float]

    @property
    def excess(self) -> float:
        """Leaves against the bound."""
        return self.leaves / self.bound if self.bound else 1.0


def figures(played: Played, site: Site) -> Figures:
    """Count it up."""
    rings = [each for each in played.placed if is_ring(each.job)]
    moments = played.moments
    waits = sorted(each.waited for each in played.placed)
    return Figures(
        jobs=len(played.placed),
        unplaced=played.unplaced,
        leaves=_mean(len(_leaves(each, site)) for each in rings),
        bound=_mean(site.bound(each.job) for each in rings),
        more=sum(len(_leaves(each, site)) > each.fewest for each in rings),
        across_leaves=_weighted(rings, lambda each: _crossing(each.nodes, site.per_leaf)),
        across_spines=_weighted(rings, lambda each: _crossing(each.nodes, site.per_leaf * site.per_spine)),
        broken_nodes=_mean(1 - m.whole * 8 / m.cards for m in moments if m.cards),
        broken_leaves=_mean(1 - m.largest / min(m.whole, site.per_leaf) for m in moments if m.whole),
        used=_mean(1 - m.cards / site.cards for m in moments),
        wait=_mean(waits),
        late=waits[int(len(waits) * 0.95)] if waits else 0.0,
        waits={name: _mean(some) for name in CLASSES if (some := _waits(played.placed, name))},
    )


def _leaves(placed: Placed, site: Site) -> set[int]:
    return {node // site.per_leaf for node in placed.nodes}


def _crossing(nodes: Sequence[int], width: int) -> float:
    """The share of the edges of this ring whose ends are not within the same `width` nodes."""
    behind = [node // width for node in nodes]
    return fmean(one != other for one, other in pairwise([*behind, behind[0]]))


def _weighted(rings: Sequence[Placed], share: Callable[[Placed], float]) -> float:
    hours = [each.job.cards * each.job.lasts for each in rings]
    return sum(share(each) * weight for each, weight in zip(rings, hours, strict=True)) / (sum(hours) or 1)


def _waits(placed: Iterable[Placed], size: str) -> list[float]:
    low, high = CLASSES[size]
    return [each.waited for each in placed if low <= each.job.cards < high]


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return fmean(found) if found else 0.0
