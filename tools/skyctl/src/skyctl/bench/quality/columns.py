"""The policies side by side, as a table for people."""

from collections.abc import Sequence
from typing import Final

from skyctl.bench.board import shown
from skyctl.bench.quality.measures import Measure, Outcomes, results
from skyctl.bench.result import Result

NAME: Final = 30
COLUMN: Final = 16
FOOT: Final = "! a goal that is missed; with several seeds, the median of them\n"


def columns(title: str, outcomes: Outcomes, measures: Sequence[Measure]) -> str:
    """A column for each policy, a row for each measure."""
    head = f"{'':<{NAME}}{''.join(f'{policy:>{COLUMN}}' for policy in outcomes)}"
    lines = [title, "", head.rstrip()]
    for measure, found in results(outcomes, measures):
        cells = (_cell(found[policy]) if policy in found else "" for policy in outcomes)
        lines.append(f"{measure.name:<{NAME}}{''.join(f'{cell:>{COLUMN}}' for cell in cells)}".rstrip())
    return "\n".join([*lines, "", FOOT])


def figure(result: Result) -> str:
    """A median in its unit."""
    if result.unit == "share":
        return f"{result.median:.1%}"
    return f"{shown(result.median)}{_UNITS.get(result.unit, '')}"


def _cell(result: Result) -> str:
    if result.goal is None:
        return figure(result)
    sign = "≥" if result.better == "more" else "≤"
    return f"{figure(result)} {sign}{result.goal:g}{'' if result.met else '!'}"


_UNITS: Final = {"s": " s", "times": "x"}
