"""The rows of the answer: what is said of each policy, and what of it is to be reached."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from skyctl.bench.quality.figures import CLASSES, Figures
from skyctl.bench.quality.filling import Filled
from skyctl.bench.result import Result
from skyctl.bench.workload import Goal, at_most

BASE: Final = "index-order"
"""The policy that the others are measured against."""

Outcomes = Mapping[str, Sequence[Any]]
"""By policy, what came of each seed (`Figures` or `Filled`); of one seed all policies have had the same jobs."""


class Measure(msgspec.Struct, frozen=True):
    """One row. `of` takes what came of a policy, and of the base on the same jobs; None: there is nothing to say.

    `goals` are by policy.
    """

    name: str
    unit: str
    of: Callable[[Any, Any], float | None]
    goals: Mapping[str, Goal] = {}
    better: str = "less"


def results(outcomes: Outcomes, measures: Sequence[Measure]) -> Iterator[tuple[Measure, dict[str, Result]]]:
    """Each measure with the results of all policies, those of the others beside each; measures of nothing left out."""
    bases = outcomes.get(BASE, ())
    for measure in measures:
        found: dict[str, Result] = {}
        for policy, runs in outcomes.items():
            samples = [measure.of(run, base) for run, base in zip(runs, bases, strict=False)]
            figures = [sample for sample in samples if sample is not None]
            if figures:
                goal = measure.goals.get(policy)
                name = f"{policy}: {measure.name}"
                found[policy] = Result.of(name, figures, unit=measure.unit, goal=goal, better=measure.better)
        if found:
            yield measure, found


def flat(outcomes: Outcomes, measures: Sequence[Measure]) -> list[Result]:
    """The same, one after the other, each with the other policies' medians beside it."""
    return [
        msgspec.structs.replace(one, beside={other: r.median for other, r in found.items() if other != policy})
        for _, found in results(outcomes, measures)
        for policy, one in found.items()
    ]


def _wait_of(size: str) -> Callable[[Figures, Figures], float | None]:
    return lambda figures, _base: figures.waits.get(size)


def _to_base(of: Callable[[Figures], float]) -> Callable[[Figures, Figures], float | None]:
    return lambda figures, base: of(figures) / of(base) if of(base) else None


_OPTIMAL: Final = dict.fromkeys(("best-fit", "patience", "required"), at_most(0))
_BOUND: Final = {"best-fit": at_most(1.25), "patience": at_most(1.12)}

PLAYING: Final[Sequence[Measure]] = (
    Measure("leaves per job", "leaves", lambda f, _: f.leaves),
    Measure("leaves to the bound", "times", lambda f, _: f.excess, _BOUND),
    Measure("on more leaves than needed", "jobs", lambda f, _: f.more, _OPTIMAL),
    Measure("ring edges across leaves", "share", lambda f, _: f.across_leaves),
    Measure("that to index order", "times", _to_base(lambda f: f.across_leaves), {"best-fit": at_most(0.2)}),
    Measure("ring edges across spines", "share", lambda f, _: f.across_spines),
    Measure("free cards on broken nodes", "share", lambda f, _: f.broken_nodes),
    Measure("empty nodes not in one leaf", "share", lambda f, _: f.broken_leaves),
    Measure("cards in use", "share", lambda f, _: f.used, better="more"),
    Measure("wait, mean", "s", lambda f, _: f.wait),
    Measure("mean wait to index order", "times", _to_base(lambda f: f.wait), {"best-fit": at_most(1.1)}),
    Measure("wait, 95th percentile", "s", lambda f, _: f.late),
    *(Measure(f"wait, {size} cards", "s", _wait_of(size)) for size in CLASSES),
    Measure("never placed", "jobs", lambda f, _: f.unplaced),
)
"""Of jobs that come, run and go."""


def _filled(name: str, unit: str, of: Callable[[Filled], float], better: str = "less") -> Measure:
    return Measure(name, unit, lambda f, _: of(f), better=better)


FILLING: Final[Sequence[Measure]] = (
    _filled("cards in use", "share", lambda f: f.used, better="more"),
    _filled("cards free in vain", "share", lambda f: f.unusable),
    _filled("pods placed", "pods", lambda f: f.placed, better="more"),
    _filled("pods refused", "pods", lambda f: f.refused),
)
"""Of pods that come until everything is full."""
