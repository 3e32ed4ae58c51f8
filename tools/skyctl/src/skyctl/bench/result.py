"""What a measurement came to: the one form in which every benchmark tells its figures (contracts.md)."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from sky_shell.reading.places import InputError
from skyctl.bench.workload import Goal

DIGITS: Final = 4
"""Of every figure that is told."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One row. `spread`: how far the middle half of the runs lies apart, as a part of the median.

    `goal`: what the median is to be at most, or at least where `better` is more; `met` None where there is none.
    `beside`: the medians, in the same unit, of what ran in the same run; `points`: what the figure was made of.
    """

    name: str
    unit: str
    median: float
    min: float
    max: float
    spread: float = 0.0
    runs: int
    better: str = "less"
    goal: float | None = None
    met: bool | None = None
    beside: Mapping[str, float] = {}
    points: Mapping[str, float] = {}

    @classmethod
    def of(
        cls,
        name: str,
        samples: Sequence[float],
        *,
        unit: str = "ms",
        goal: Goal | None = None,
        better: str = "less",
        beside: Mapping[str, float] | None = None,
        points: Mapping[str, float] | None = None,
    ) -> Self:
        """What these samples, of which there is at least one, come to."""
        median = statistics.median(samples)
        return cls(
            name=name,
            unit=unit,
            median=_short(median),
            min=_short(min(samples)),
            max=_short(max(samples)),
            spread=_short(_spread(samples)),
            runs=len(samples),
            better=better,
            goal=None if goal is None else goal.value,
            met=None if goal is None else goal.met(median),
            beside={who: _short(figure) for who, figure in (beside or {}).items()},
            points={what: _short(figure) for what, figure in (points or {}).items()},
        )

    def against(self, before: float) -> float:
        """How many times better than a figure this median is."""
        worse, better = (before, self.median) if self.better == "more" else (self.median, before)
        return better / worse if worse else float("inf")


def encoded(results: Sequence[Result], before: Mapping[str, Result]) -> str:
    """The results as JSON; with what they were `before`, where that is known."""
    rows = [_row(result, before.get(result.name)) for result in results]
    return msgspec.json.format(msgspec.json.encode({"results": rows}, order="sorted"), indent=2).decode() + "\n"


def read(path: str) -> dict[str, Result]:
    """The results in a file that `-o json` was written to, by name.

    Raises:
        InputError: There is no such file, or it holds something else.
    """
    try:
        found = msgspec.json.decode(Path(path).read_bytes(), type=_File)
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not what skyctl bench -o json writes: {error}") from None
    return {result.name: result for result in found.results}


class _File(msgspec.Struct):
    results: list[Result]


def _row(result: Result, before: Result | None) -> dict[str, Any]:
    row: dict[str, Any] = msgspec.to_builtins(result)
    return row if before is None else {**row, "before": before.median}


def _spread(samples: Sequence[float]) -> float:
    if len(samples) < 2:
        return 0.0
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive")
    return (high - low) / median if median else 0.0


def _short(figure: float) -> float:
    return float(f"{figure:.{DIGITS}g}")
