"""The policies side by side, as one page with bars: no script, no network."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from skyctl.bench.quality.columns import figure
from skyctl.bench.quality.measures import Measure, Outcomes, results
from skyctl.bench.result import Result
from skyctl.drawing import JOB_COLOURS
from skyctl.frame import framed

_STYLE: Final = """\
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(30rem, 1fr)); gap: 1rem 2rem; }
h1, p { grid-column: 1 / -1; margin: 0; }
figure { margin: 0; }
svg { display: block; max-width: 100%; height: auto; font: 14px system-ui, sans-serif; }
"""
_LEFT, _WIDTH, _ROW, _BAR = 110, 480, 26, 270


def page(title: str, outcomes: Outcomes, measures: Sequence[Measure]) -> str:
    """The whole page: a picture for each measure."""
    said = "A dashed line is a goal; the thin line shows the least and the most of several seeds."
    figures = "".join(_picture(measure, found) for measure, found in results(outcomes, measures))
    head = f"<h1>Quality of placement</h1>\n<p>{escape(title)}</p>\n<p>{said}</p>\n"
    return framed("quality of placement", _STYLE, head + figures)


def _picture(measure: Measure, found: dict[str, Result]) -> str:
    top = max((max(each.max, each.goal or 0.0) for each in found.values()), default=0.0) or 1.0
    bars = "".join(_bar(at, policy, each, top) for at, (policy, each) in enumerate(found.items()))
    said = "; ".join(f"{policy} {figure(each)}" for policy, each in found.items())
    return (
        f"<figure><figcaption>{escape(measure.name)}</figcaption>"
        f'<svg role="img" viewBox="0 0 {_WIDTH} {_ROW * len(found) + 4}" width="{_WIDTH}">'
        f"<title>{escape(measure.name)}: {escape(said)}</title>{bars}</svg></figure>\n"
    )


def _bar(at: int, policy: str, result: Result, top: float) -> str:
    return "".join(_parts(_ROW * at + 2, policy, result, top, JOB_COLOURS[at % len(JOB_COLOURS)]))


def _parts(y: int, policy: str, result: Result, top: float, colour: str) -> Iterator[str]:
    def along(value: float) -> str:
        return f"{_LEFT + _BAR * value / top:.1f}"

    middle = y + (_ROW - 6) / 2
    yield f'<text x="{_LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(policy)}</text>'
    width = _BAR * result.median / top
    yield f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_ROW - 6}" fill="{colour}" stroke="#5f6368"/>'
    if result.runs > 1:
        ends = f'x1="{along(result.min)}" x2="{along(result.max)}"'
        yield f'<line {ends} y1="{middle}" y2="{middle}" stroke="#1b1d1f"/>'
    if result.goal is not None:
        x = along(result.goal)
        yield f'<line x1="{x}" x2="{x}" y1="{y - 2}" y2="{y + _ROW - 4}" stroke="#1b1d1f" stroke-dasharray="4 2"/>'
    missed = "" if result.met in (None, True) else " (goal missed)"
    yield f'<text x="{_LEFT + _BAR + 8}" y="{y + 15}">{escape(figure(result))}{missed}</text>'
