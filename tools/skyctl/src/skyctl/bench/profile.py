"""`skyctl bench profile`: where the time of a workload goes."""

import cProfile
import pstats
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from sky_core.actions import ACTIONS
from skyctl.bench import lens
from skyctl.bench.command import names_of, scaled
from skyctl.bench.workloads import WORKLOADS
from skyctl.faults import UsageError
from skyctl.terminal import answer, progress

_STEPS: Final = {action.__code__.co_name: name for name, action in ACTIONS.items() if hasattr(action, "__code__")}


class Spent(NamedTuple):
    """On a function, in milliseconds: by itself, and with all that it called."""

    own: float
    whole: float
    calls: int
    where: str
    name: str


def profile(name: str, *, scale: float = 1.0, rows: int = 25) -> int:
    """Run a workload under the profiler and print what it found; the exit status.

    Raises:
        UsageError: The command line makes no sense.
    """
    found = names_of((name,))
    if len(found) != 1:
        raise UsageError(f"{name!r} names {len(found)} workloads: expected one")
    if rows < 1:
        raise UsageError(f"--rows {rows}: expected 1 or more")
    samples = WORKLOADS[found[0]].samples(scaled(scale))
    profiler = cProfile.Profile(time.thread_time)
    with progress() as say:
        say(f"{found[0]}: once to get warm")
        next(samples)
        say(f"{found[0]}: under the profiler")
        with lens.through(profiler):
            next(samples)
    answer(_told(sorted(_spent(profiler), reverse=True), rows))
    return 0


def _spent(profiler: cProfile.Profile) -> Iterator[Spent]:
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # typeshed leaves it out
    for (file, line, function), (_, calls, own, whole, _) in stats.items():
        yield Spent(own * 1000, whole * 1000, calls, _place(file, line), function)


def _place(file: str, line: int) -> str:
    """The last two parts of a file's path, and the line; of what is built in nothing."""
    return f"{'/'.join(Path(file).parts[-2:])}:{line}" if line else ""


def _told(spent: list[Spent], rows: int) -> str:
    total = sum(each.own for each in spent)
    steps = [each for each in spent if each.name in _STEPS and each.where.startswith("actions/")]
    steps.sort(key=lambda each: list(_STEPS).index(each.name))
    lines = [f"{total:.1f} ms under the profiler"]
    lines += [f"{each.whole:>10.1f} ms  {each.whole / total:>4.0%}  {_STEPS[each.name]}" for each in steps]
    lines += ["", f"{'own ms':>10}{'':>6}{'whole ms':>11}{'calls':>10}  function"]
    for each in islice(spent, rows):
        share = f"{each.own / total:.0%}"
        lines.append(
            f"{each.own:>10.1f}{share:>6}{each.whole:>11.1f}{each.calls:>10,}  {each.name} {each.where}".rstrip()
        )
    return "\n".join(lines) + "\n"
