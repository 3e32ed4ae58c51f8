"""Slurm's controller and the core, asked to place the same jobs on the same machine, one after the other.

    .venv/bin/python tools/bench-slurm/bench_slurm.py [ROW...] [--rounds N] [-o table|json]

What is compared is processor time: slurmctld's, from the release of all jobs until the last has its nodes, and that of
a cycle of the core (hop 2 alone beside it).
"""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from threading import Event
from typing import Final, NamedTuple

from sky_core.decisions import BindTask
from sky_core.world import World
from skyctl.bench.clusters import MACHINE, PLAIN_CARD, Amounts
from skyctl.bench.result import Result
from skyctl.bench.scale import Scale
from skyctl.bench.telling import tell_results
from skyctl.bench.timing import cycle, decided, hop_two
from skyctl.bench.workload import Goal, at_least
from skyctl.bench.worlds import gangs, world
from skyctl.terminal import tell
from slurm_daemon import Slurm, missing, running, wait
from slurm_texts import leaves

LEAF: Final = 32
NODES: Final = 5_000


class Row(NamedTuple):
    """So many gangs of one size; what each task asks for, of us and of Slurm; how many times faster we are to be."""

    gangs: int
    size: int
    requests: Amounts
    options: Sequence[str]
    goal: Goal


class Round(NamedTuple):
    """Milliseconds, and on how many leaves a gang was in the mean."""

    slurm: float
    cycle: float
    hop: float
    slurm_leaves: float
    leaves: float


ROWS: Final[Mapping[str, Row]] = {
    "slurm-625x8": Row(625, 8, MACHINE, ("--nodes=8", "--exclusive"), at_least(50)),
    "slurm-4000x1": Row(4_000, 1, PLAIN_CARD, ("--ntasks=1",), at_least(50)),
    "slurm-5x1000": Row(5, 1_000, MACHINE, ("--nodes=1000", "--exclusive"), at_least(1.5)),
}


def main(words: Sequence[str]) -> int:
    """Measure the rows that are named, or all; 2 where there is no Slurm."""
    parser = ArgumentParser(description="Slurm's controller and the core on the same jobs.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all unless given")
    parser.add_argument("--rounds", type=int, default=3, help="how often each of both is run (%(default)s)")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    given = parser.parse_args(words)
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"no row {', '.join(sorted(unknown))}: there are {', '.join(ROWS)}")
    if gone := missing():
        tell(f"{', '.join(gone)}: not here; apt-get install slurmctld slurm-client")
        return 2
    tell_results(_results(given.rows or list(ROWS), given.rounds), given.output)
    return 0


def _results(names: Sequence[str], rounds: int) -> Iterator[Result]:
    for name in names:
        row = ROWS[name]
        found = [_round(row) for _ in range(rounds)]
        points = {
            "slurmctld, ms": median(each.slurm for each in found),
            "cycle, ms": median(each.cycle for each in found),
            "hop 2, ms": median(each.hop for each in found),
            "Slurm's leaves per gang": median(each.slurm_leaves for each in found),
            "ours": median(each.leaves for each in found),
        }
        times = [each.slurm / each.cycle for each in found]
        yield Result.of(name, times, unit="times", goal=row.goal, better="more", points=points)


def _round(row: Row) -> Round:
    with running(NODES, LEAF) as slurm:
        took, placed = _slurm(slurm, row)
    make = world(gangs(row.gangs, row.size, row.requests, on=NODES, leaf=LEAF, kinds=1))
    made = make(Scale())
    return Round(took, cycle(made), hop_two(make(Scale())), placed, _ours(made))


def _slurm(slurm: Slurm, row: Row) -> tuple[float, float]:
    """The milliseconds of placing the row's jobs, less those of releasing nobody; the leaves per gang."""
    begun = slurm.release()
    Event().wait(2.0)
    nothing = slurm.processor_time() - begun
    slurm.hold()
    slurm.submit(row.gangs, row.options)
    Event().wait(2.0)
    begun = slurm.release()
    wait(lambda: len(slurm.allocated()) == row.gangs, f"{row.gangs} jobs to be placed")
    took = slurm.processor_time() - begun - nothing
    return took, fmean(leaves(nodes, LEAF) for nodes in slurm.allocated().values())


def _ours(made: World) -> float:
    gangs_on: dict[str, set[int]] = {}
    for each in decided(made).decisions:
        if isinstance(each, BindTask):
            gangs_on.setdefault(each.job, set()).add(int(each.node.removeprefix("node-")) // LEAF)
    return fmean(len(on) for on in gangs_on.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
