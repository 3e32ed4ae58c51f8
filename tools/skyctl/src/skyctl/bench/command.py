"""`skyctl bench`: time the core's workloads, and say how they came out."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Annotated

from cyclopts import Parameter

from skyctl.bench.result import Result
from skyctl.bench.scale import FULL, Scale
from skyctl.bench.telling import Format, tell_results
from skyctl.bench.workload import Sample
from skyctl.bench.workloads import WORKLOADS, chosen
from skyctl.faults import UsageError
from skyctl.terminal import answer, progress


def bench(
    *names: str,
    runs: int = 7,
    limit: float = 30.0,
    scale: float = 1.0,
    compare: str | None = None,
    listed: Annotated[bool, Parameter(name="--list", negative=())] = False,
    output: Annotated[Format, Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Time the workloads, all or those named, and print the results; the exit status.

    Raises:
        UsageError: The command line makes no sense.
        InputError: The file to compare with can't be used.
    """
    found = names_of(names)
    if runs < 1:
        raise UsageError(f"--runs {runs}: expected 1 or more")
    size = scaled(scale)
    if listed:
        answer("".join(f"{name:<22}{WORKLOADS[name].about}\n" for name in found))
        return 0
    tell_results(measured(found, runs, limit, size), output, compare)
    return 0


def names_of(patterns: tuple[str, ...]) -> list[str]:
    """The workloads that these name.

    Raises:
        UsageError: One of them names none.
    """
    found = chosen(patterns)
    if isinstance(found, str):
        raise UsageError(f"no workload {found!r}: skyctl bench --list shows what there is")
    return found


def scaled(factor: float) -> Scale:
    """Nodes and work by this factor.

    Raises:
        UsageError: It makes no sense.
    """
    if not (math.isfinite(factor) and 0 < factor <= 100):
        raise UsageError(f"--scale {factor}: expected more than 0, and 100 at most")
    return Scale(factor, factor)


def measured(names: Sequence[str], runs: int, limit: float, scale: Scale) -> Iterator[Result]:
    """The workloads' results, one by one: each of so many runs, of which none begins after `limit` seconds."""
    for name in names:
        with progress() as say:
            samples = _samples(name, runs, limit, scale, say)
        workload = WORKLOADS[name]
        yield Result.of(
            name,
            [sample.figure for sample in samples],
            unit=workload.unit,
            better=workload.better,
            goal=workload.goal if scale == FULL else None,
            beside=_medians([sample.beside for sample in samples]),
            points=_medians([sample.points for sample in samples]),
        )


def _samples(name: str, runs: int, limit: float, scale: Scale, say: Callable[[str], None]) -> list[Sample]:
    begun = time.monotonic()
    source, found = WORKLOADS[name].samples(scale), list[Sample]()
    while not found or (len(found) < runs and time.monotonic() - begun < limit):
        say(f"{name}: {WORKLOADS[name].about}: run {len(found) + 1} of {runs}")
        found.append(next(source))
    return found


def _medians(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: median(row[name] for row in rows) for name in rows[0]}
