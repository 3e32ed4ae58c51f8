"""`skyctl bench quality`: play a trace under one policy after the other, and set what comes of it side by side."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from cyclopts import Parameter
from msgspec.structs import replace

from skyctl.bench.quality.chart import page
from skyctl.bench.quality.columns import columns
from skyctl.bench.quality.figures import Figures, figures
from skyctl.bench.quality.filling import fill, openb, policies
from skyctl.bench.quality.measures import BASE, FILLING, PLAYING, Measure, Outcomes, flat
from skyctl.bench.quality.play import play
from skyctl.bench.quality.policies import POLICIES, Notes
from skyctl.bench.quality.site import Site
from skyctl.bench.quality.trace import Job, kalos, philly
from skyctl.bench.result import encoded
from skyctl.faults import UsageError
from skyctl.terminal import answer, progress

KALOS_SITE: Final = Site(leaves=32, per_leaf=32, per_spine=8)
PHILLY_SITE: Final = Site(leaves=10, per_leaf=8, per_spine=5)

Run = Callable[[int, Callable[[int], None]], Any]
"""Plays the jobs of a seed under one policy; says how far it has got."""


class Plan(msgspec.Struct, frozen=True):
    """What is to be played: by policy, and what is to be said of it."""

    title: str
    runs: Mapping[str, Run]
    measures: Sequence[Measure]


def quality(
    *names: str,
    philly: str | None = None,
    openb: str | None = None,
    jobs: int = 3_000,
    load: float = 0.9,
    leaves: int = KALOS_SITE.leaves,
    nodes: int = 300,
    seed: int = 5,
    seeds: int = 1,
    output: Annotated[Literal["table", "json", "html"], Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Play a trace under all policies, or those named beside index order, and print what came of it; the exit status.

    Raises:
        UsageError: The command line makes no sense.
        InputError: A trace can't be used.
    """
    if min(jobs, leaves, nodes, seeds) < 1 or not 0 < load <= 10:
        raise UsageError("--jobs, --leaves, --nodes and --seeds are 1 or more, --load is more than 0 and at most 10")
    if philly is not None and openb is not None:
        raise UsageError("--philly or --openb: one of them")
    plan = _of_philly(philly, jobs) if philly else _of_openb(openb, nodes) if openb else _of_kalos(jobs, load, leaves)
    if unknown := [name for name in names if name not in plan.runs]:
        raise UsageError(f"no policy {unknown[0]!r} for this trace: there are {', '.join(plan.runs)}")
    chosen = [name for name in plan.runs if not names or name in (*names, BASE)]
    outcomes: dict[str, list[Any]] = {name: [] for name in chosen}
    try:
        for number in range(seed, seed + seeds if philly is None else seed + 1):
            _play(plan, number, outcomes)
    finally:
        answer(_FORMATS[output](plan.title, {name: some for name, some in outcomes.items() if some}, plan.measures))
    return 0


def _play(plan: Plan, seed: int, outcomes: Mapping[str, list[Any]]) -> None:
    for name, found in outcomes.items():
        with progress() as say:
            found.append(plan.runs[name](seed, partial(_tell, say, f"seed {seed}, {name}")))


def _tell(say: Callable[[str], None], what: str, done: int) -> None:
    say(f"{what}: {done:,} have come")


def _of_kalos(count: int, load: float, leaves: int) -> Plan:
    site = replace(KALOS_SITE, leaves=leaves)
    title = f"{count:,} jobs like Kalos', {site.nodes:,} nodes, leaves of {site.per_leaf}, load {load:g}"

    def jobs(seed: int) -> Sequence[Job]:
        return list(kalos(count, cards=site.cards, load=load, seed=seed))

    return Plan(title, _runs(site, jobs), PLAYING)


def _of_philly(path: str, count: int) -> Plan:
    site, found = PHILLY_SITE, philly(Path(path), count)
    title = f"{len(found):,} jobs of Philly, {site.nodes:,} nodes, leaves of {site.per_leaf}"
    return Plan(title, _runs(site, lambda _seed: found), PLAYING)


def _of_openb(path: str, count: int) -> Plan:
    rooms, needs = openb(Path(path), count)
    runs = {name: partial(fill, rooms, needs, policy) for name, policy in policies().items()}
    return Plan(f"pods of openb, in random order, until {len(rooms)} of its nodes are asked for", runs, FILLING)


def _runs(site: Site, jobs: Callable[[int], Sequence[Job]]) -> dict[str, Run]:
    def run(notes: Notes, seed: int, say: Callable[[int], None]) -> Figures:
        return figures(play(jobs(seed), site, notes, say), site)

    return {name: partial(run, notes) for name, notes in POLICIES.items()}


def _json(_title: str, outcomes: Outcomes, measures: Sequence[Measure]) -> str:
    return encoded(flat(outcomes, measures), {})


_FORMATS: Final[Mapping[str, Callable[[str, Outcomes, Sequence[Measure]], str]]] = {
    "table": columns,
    "json": _json,
    "html": page,
}
