"""Zones as inline SVG: a row per machine, a square per card. Each square says what it is, in a sign and in a title."""

from collections.abc import Iterator
from html import escape
from typing import Final

from skyctl.scene import Card, Machine, Scene, Use, Zone
from skyctl.terminal import plain

_SIDE: Final = 22
_TOP: Final = 4
_LETTER_WIDTH: Final = 8.5

JOB_COLOURS: Final = ("#56b4e9", "#e69f00", "#2fb48a", "#d889b5", "#f0e442", "#ee8a4a")
"""Okabe and Ito's, which people with any colour vision tell apart, light enough for black signs."""

_FILLS: Final = {Use.FOREIGN: "#5f6368", Use.SPOT: "#d5d8dc", Use.PROMISED: "#ffffff", Use.IDLE: "#ffffff"}


def drawing(zone: Zone, scene: Scene, name: str) -> str:
    """The picture of a zone. `name` makes its ids unique on the page."""
    rows = scene.rows(zone)
    left = _LETTER_WIDTH * max(len(_name(alike, scene)) for alike in rows) + 12
    width = left + _SIDE * max(len(alike[0].cards) for alike in rows) + 4
    height = _TOP * 2 + _SIDE * len(rows)
    said = f"{zone.count(Use.IDLE)} of {zone.count()} cards idle on {len(zone.machines)} machines"
    body = "".join(part for at, alike in enumerate(rows) for part in _row(alike, _TOP + _SIDE * at, left, scene))
    return (
        f'<svg role="img" aria-labelledby="{name}-t {name}-d" viewBox="0 0 {width:g} {height}" '
        f'width="{width:g}" height="{height}"><title id="{name}-t">{_text(zone.title)}</title>'
        f'<desc id="{name}-d">{_text(said)}</desc>{body}</svg>'
    )


def colour(letter: str) -> str:
    """The colour of a job's cards."""
    return JOB_COLOURS[ord(letter) % len(JOB_COLOURS)]


def _row(alike: list[Machine], top: int, left: float, scene: Scene) -> Iterator[str]:
    yield f'<text x="2" y="{top + 15}">{_text(_name(alike, scene))}</text>'
    for at, card in enumerate(alike[0].cards):
        x = left + _SIDE * at
        fill = colour(card.sign) if card.use is Use.JOB else _FILLS[card.use]
        dashes = ' stroke-dasharray="3 2"' if card.use is Use.PROMISED else ""
        ink = ' fill="#ffffff"' if card.use is Use.FOREIGN else ""
        yield (
            f'<g><title>{_text(_meaning(card))}</title><rect x="{x:g}" y="{top}" width="{_SIDE - 3}" '
            f'height="{_SIDE - 3}" rx="3" fill="{fill}" stroke="#5f6368"{dashes}/>'
            f'<text x="{x + 9.5:g}" y="{top + 14}" text-anchor="middle"{ink}>{card.sign}</text></g>'
        )


def _name(alike: list[Machine], scene: Scene) -> str:
    first, last = alike[0], alike[-1]
    name = first.name if first is last else f"{first.name} to {last.name}"
    return f"{name} {first.spec or 'no spec'}" if scene.mixed else name


def _meaning(card: Card) -> str:
    return f"{card.pod}: {card.use.meaning}" if card.pod else card.use.meaning


def _text(text: str) -> str:
    return escape(plain(text))
