"""`skyctl bench cluster`: whole schedulers on a real control plane, one after the other on the same pods."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Final

import msgspec
import trio
from cyclopts import Parameter

from sky_control_plane import ControlPlane, NotAtHandError
from skyctl.bench.cluster.contenders import CONTENDERS, NULL, OURS, PEER, Contender, sampled
from skyctl.bench.cluster.objects import CARDS
from skyctl.bench.cluster.race import Finish, Heat, race
from skyctl.bench.cluster.stand import furnished, stand
from skyctl.bench.command import scaled
from skyctl.bench.result import Result
from skyctl.bench.telling import Format, tell_results
from skyctl.bench.workload import Goal, at_least, at_most
from skyctl.faults import UsageError
from skyctl.terminal import answer, progress, tell

Say = Callable[[str], object]
Round = Mapping[str, Finish]
"""By contender."""
_MIB: Final = 1 << 20


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Where a heat is run: on so many machines, of which so many are taken by gangs that run.

    `results` makes rows of the rounds, for its name; the goals are asked only at full size.
    """

    about: str
    nodes: int
    standing: int = 0
    gangs: int
    quotas: int
    results: Callable[[str, Sequence[Round], bool], Iterator[Result]]

    def scaled(self, factor: float) -> "Event":
        """All of it so many times as large."""
        few = {name: max(1, round(getattr(self, name) * factor)) for name in ("nodes", "gangs") if factor != 1}
        few["gangs"] = few.get("gangs", self.gangs) if self.gangs > 1 else 1
        return msgspec.structs.replace(self, **few, standing=round(self.standing * factor))


def rates(of_null: Goal, of_peer: Goal) -> Callable[[str, Sequence[Round], bool], Iterator[Result]]:
    """Pods a second, and how many times those of the others, round by round."""

    def results(name: str, rounds: Sequence[Round], full: bool) -> Iterator[Result]:
        others = {who: median(one[who].rate for one in rounds) for who in rounds[0] if who != OURS}
        yield Result.of(
            name,
            [one[OURS].rate for one in rounds],
            unit="pods/s",
            better="more",
            beside=others,
            points=_taken(rounds),
        )
        for who, goal in ((NULL, of_null), (PEER, of_peer)):
            if who in others:
                ratios = [one[OURS].rate / one[who].rate for one in rounds]
                yield Result.of(f"{name}/{who}", ratios, unit="times", better="more", goal=goal if full else None)

    return results


def starts(name: str, rounds: Sequence[Round], full: bool) -> Iterator[Result]:
    """From the start of the process to its first decision, and the memory that it had at most."""
    others = {who: median(one[who].began for one in rounds) for who in rounds[0] if who != OURS}
    seconds = [one[OURS].began for one in rounds]
    yield Result.of(name, seconds, unit="s", beside=others, goal=at_most(5) if full else None, points=_taken(rounds))
    others = {who: median(one[who].taken.memory / _MIB for one in rounds) for who in others}
    memory = [one[OURS].taken.memory / _MIB for one in rounds]
    yield Result.of(f"{name}-memory", memory, unit="MiB", beside=others, goal=at_most(400) if full else None)


def _taken(rounds: Sequence[Round]) -> dict[str, float]:
    """What the processes took of the machine, in the median."""
    points = {}
    for who in rounds[0]:
        points[f"{who}, s to first write"] = median(one[who].began for one in rounds)
        points[f"{who}, s of processor"] = median(one[who].taken.processor for one in rounds)
        points[f"{who}, MiB"] = median(one[who].taken.memory / _MIB for one in rounds)
    return points


EVENTS: Final[Mapping[str, Event]] = {
    "per-pod": Event(
        about="3,000 one-card pods in gangs of 8 on 1,000 nodes, a quota for each",
        nodes=1_000,
        gangs=3_000 // CARDS,
        quotas=CARDS,
        results=rates(at_least(0.85), at_least(0.8)),
    ),
    "per-gang": Event(
        about="the same, an eight-card quota for each gang",
        nodes=1_000,
        gangs=3_000 // CARDS,
        quotas=1,
        results=rates(at_least(0.85), at_least(1.3)),
    ),
    "start": Event(
        about="start where 5,000 nodes and 20,000 pods are, to the first decision",
        nodes=5_000,
        standing=20_000 // CARDS,
        gangs=1,
        quotas=1,
        results=starts,
    ),
}


def cluster(
    *names: str,
    rounds: int = 5,
    scale: float = 1.0,
    compare: str | None = None,
    output: Annotated[Format, Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Let the scheduler race on a real control plane and print how it came in; the exit status.

    Raises:
        UsageError: The command line makes no sense.
        InputError: The file to compare with can't be used.
    """
    _events(names)
    if rounds < 1:
        raise UsageError(f"--rounds {rounds}: expected 1 or more")
    tell_results(measured(names or tuple(EVENTS), rounds, scaled(scale).nodes), output, compare)
    return 0


def profile(name: str, *, scale: float = 1.0) -> int:
    """Run a workload once with the scheduler being looked at, and print where its time goes; the exit status.

    Raises:
        UsageError: The command line makes no sense.
    """
    (event,) = _events((name,))
    with tempfile.TemporaryDirectory() as folder, progress() as say:
        told = Path(folder, "profile.txt")
        say(f"{name}: starting a control plane")
        try:
            with furnished(Path(folder), tell) as plane:
                there = (sampled(told),)
                trio.run(_rounds, name, event.scaled(scaled(scale).nodes), 0, there, plane, Path(folder), say)
        except NotAtHandError as reason:
            tell(f"{name} is left out: {reason}")
            return 0
        answer(told.read_text())
    return 0


def _events(names: Sequence[str]) -> list[Event]:
    if unknown := [name for name in names if name not in EVENTS]:
        raise UsageError(f"no workload {unknown[0]!r}: there are {', '.join(EVENTS)}")
    return [EVENTS[name] for name in names]


def measured(names: Sequence[str], rounds: int, factor: float) -> Iterator[Result]:
    """The results, workload by workload, each on a control plane of its own. What can't run here is left out."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder, progress() as say:
            say(f"{name}: starting a control plane")
            try:
                with furnished(Path(folder), tell) as plane:
                    event = EVENTS[name].scaled(factor)
                    found = trio.run(_rounds, name, event, rounds, _there(plane), plane, Path(folder), say)
            except NotAtHandError as reason:
                tell(f"{name} is left out: {reason}")
                continue
        yield from EVENTS[name].results(name, found, factor == 1)


def _there(plane: ControlPlane) -> Sequence[Contender]:
    """Those whose programs are at hand."""
    for contender in CONTENDERS:
        if not contender.is_there(plane):
            tell(f"{contender.name} is left out: it is not among the control plane's programs")
    return [one for one in CONTENDERS if one.is_there(plane)]


async def _rounds(
    name: str,
    event: Event,
    rounds: int,
    there: Sequence[Contender],
    plane: ControlPlane,
    folder: Path,
    say: Say,
) -> Sequence[Round]:
    """Round after round, in each of which somebody else begins. What comes before the first is not counted."""
    async with stand(plane) as at:
        say(f"{name}: {event.nodes:,} machines")
        await at.machines(event.nodes)
        say(f"{name}: {event.standing:,} gangs that run")
        await at.occupy(event.standing)
        found = []
        for number in range(rounds + 1):
            finishes = {}
            turn = number % len(there)
            for contender in (*there[turn:], *there[:turn]) if number else there[:1]:
                say(f"{name}: round {number} of {rounds}, {contender.name}")
                heat = Heat(f"heat-{number}-{contender.name}-", event.gangs, event.quotas)
                finishes[contender.name] = await race(at, contender, heat, folder)
            found.append(finishes)
        return found[1:]
