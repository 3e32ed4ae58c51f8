"""The answer as a picture and sentences for a terminal. What colours say, letters and signs say too."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from skyctl.scene import Card, Job, Machine, Scene, Use, Zone
from skyctl.terminal import plain

SHOWN_MAX: Final = 200
"""How many machines of a zone, jobs, events or faults are shown; of more it is said how many there are."""

_FILLING: Final = re.compile(r" +$", re.MULTILINE)
_CARDS_MAX: Final = 32
_PODS_MAX: Final = 3
_JOB_COLOURS: Final = ("bright_blue", "yellow", "cyan", "magenta", "green", "bright_red")
_ZONE_COLOURS: Final = ("bold cyan", "bold yellow", "bold magenta", "bold green")
_USE_STYLES: Final = {Use.FOREIGN: "red", Use.SPOT: "bright_yellow", Use.PROMISED: "bold", Use.IDLE: "dim"}


def table(scene: Scene) -> str:
    """All of it: zones with their machines, jobs, then setbacks and faults, if any."""
    return printed(_parts(scene))


def printed(parts: Iterable[RenderableType]) -> str:
    """The text of these, as wide as the terminal (80 columns where there is none), in colour where it has colours."""
    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        for part in parts:
            console.print(part)
    return _FILLING.sub("", captured.get())


def zones(scene: Scene) -> Iterator[RenderableType]:
    """The picture: every zone with its machines and their cards."""
    for zone in scene.zones:
        yield from ("", _heading(zone))
        yield from _machines(zone, scene)
    if scene.uses:
        yield from ("", _legend(scene.uses))


def job(job: Job) -> Iterator[RenderableType]:
    """Where a job is, or why it waits."""
    where = f", zone{'s' * (len(job.zones) > 1)} {', '.join(job.zones)}" if job.zones else ""
    stopped = f", stopped at {job.rung}" if job.reasons else ""
    said = f"{job.phase}, {job.placed} of {job.pods} pods placed{where}{stopped}"
    letter = Text(job.letter or " ", _style(job.letter or " ", Use.JOB))
    yield Padding(Text.assemble(letter, "  ", (plain(job.name), "bold"), f"  {said}"), (0, 0, 0, 2))
    for reason in job.reasons:
        yield Padding(Text.assemble((reason.code, "italic"), f": {plain(reason.message)}"), (0, 0, 0, 7))


def _parts(scene: Scene) -> Iterator[RenderableType]:
    yield Text(scene.summary, "bold")
    yield from zones(scene)
    if scene.jobs:
        yield from ("", Text("jobs", "bold"))
    for one in scene.jobs[:SHOWN_MAX]:
        yield from job(one)
    yield from _left_out(scene.jobs, "jobs")
    yield from _sentences("what happened besides", scene.setbacks)
    yield from _sentences("what is wrong with the input", scene.faults)


def _heading(zone: Zone) -> Text:
    cards = f"   {zone.count(Use.IDLE)} of {zone.count()} cards idle" if zone.count() else ""
    return Text.assemble((plain(zone.title), _zone_style(zone)), cards)


def _machines(zone: Zone, scene: Scene) -> Iterator[RenderableType]:
    rows = scene.rows(zone)
    columns = ("", "name", *(["spec"] if scene.mixed else []), "cards", "pods")
    grid = Table.grid(*(Column(column, overflow="fold") for column in columns), padding=(0, 2, 0, 0))
    for alike in rows[:SHOWN_MAX]:
        first = alike[0]
        name = f"{first.name} to {alike[-1].name}" if len(alike) > 1 else first.name
        spec = [Text(plain(first.spec or "no spec"))] if scene.mixed else []
        grid.add_row("", Text(plain(name)), *spec, _cards(first.cards), Text(plain(_beside(alike))))
    yield grid
    yield from _left_out(rows, "machines")


def _beside(alike: Sequence[Machine]) -> str:
    pods = alike[0].pods
    more = [f"{len(pods) - _PODS_MAX} more"] if len(pods) > _PODS_MAX else []
    count = [f"{len(alike)} alike"] if len(alike) > 1 else []
    return "; ".join((*filter(None, [", ".join((*pods[:_PODS_MAX], *more))]), *alike[0].notes, *count))


def _cards(cards: Sequence[Card]) -> Text:
    """A sign per card; where there are very many, each sign with its count."""
    runs = [(sign, use, len(list(run))) for (sign, use), run in groupby(cards, lambda card: (card.sign, card.use))]
    if len(cards) <= _CARDS_MAX:
        return Text.assemble(*((sign * count, _style(sign, use)) for sign, use, count in runs))
    return Text(" ").join(Text(f"{count}{sign}", _style(sign, use)) for sign, use, count in runs)


def _style(sign: str, use: Use) -> str:
    return _USE_STYLES.get(use) or _JOB_COLOURS[ord(sign) % len(_JOB_COLOURS)]


def _zone_style(zone: Zone) -> str:
    return _ZONE_COLOURS[ord(zone.letter[-1]) % len(_ZONE_COLOURS)] if zone.letter else "bold"


def _legend(uses: Sequence[Use]) -> Text:
    signs = (Text.assemble((use.sign, _style(use.sign, use)), f" {use.meaning}") for use in uses)
    return Text("a sign is a card:  ") + Text("   ").join(signs)


def _sentences(title: str, sentences: Sequence[str]) -> Iterator[RenderableType]:
    if sentences:
        yield from ("", Text(title, "bold"))
    for sentence in sentences[:SHOWN_MAX]:
        yield Padding(Text(plain(sentence)), (0, 0, 0, 2))
    yield from _left_out(sentences, "lines")


def _left_out(things: Sequence[object], name: str) -> Iterator[RenderableType]:
    if len(things) > SHOWN_MAX:
        yield Text(f"  and {len(things) - SHOWN_MAX:,} more {name}; -o json has them all")
