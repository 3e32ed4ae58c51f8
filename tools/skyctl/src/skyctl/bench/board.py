"""Results as a table for people, row by row as they come."""

from collections.abc import Mapping
from textwrap import fill
from typing import Final

from skyctl.bench.result import Result
from skyctl.terminal import plain

NAME: Final = 22
UNIT: Final = 9
FOOT: Final = """\
spread: how far the middle half of the runs lies apart; ! a goal that is missed; beside: what ran in the same run.
"""


def head(*, compared: bool = False) -> str:
    """What stands above the columns."""
    was = f"{'before':>9}{'':>8}" if compared else ""
    return (
        f"{'':<{NAME}}{'median':>9} {'':<{UNIT}}{'min':>9}{'max':>9}{'spread':>8}{'runs':>5}{'goal':>9}{was}  beside\n"
    )


def row(result: Result, before: Mapping[str, Result]) -> str:
    """A line of it; with what the result was before, where that is known, and how many times better it is."""
    return (
        f"{plain(result.name):<{NAME}}{shown(result.median):>9} {plain(result.unit):<{UNIT}}{shown(result.min):>9}"
        f"{shown(result.max):>9}{f'{result.spread:.0%}':>8}{result.runs:>5}{_goal(result):>9}"
        f"{_was(result, before)}  {_beside(result)}".rstrip()
        + "\n"
        + _points(result)
    )


def shown(figure: float) -> str:
    """A figure of four digits, for people."""
    return f"{figure:,.0f}" if abs(figure) >= 1000 else f"{figure:.4g}"


def _goal(result: Result) -> str:
    if result.goal is None:
        return ""
    return f"{'≥' if result.better == 'more' else '≤'} {result.goal:g}{' ' if result.met else '!'}"


def _was(result: Result, before: Mapping[str, Result]) -> str:
    if not before:
        return ""
    old = before.get(result.name)
    if old is None:
        return f"{'':>17}"
    return f"{shown(old.median):>9}{f'{result.against(old.median):.2f}x':>8}"


def _beside(result: Result) -> str:
    said = [f"{plain(who)} {shown(figure)} ({_times(result, figure)})" for who, figure in result.beside.items()]
    return ", ".join(said)


def _points(result: Result) -> str:
    if not result.points:
        return ""
    said = ", ".join(f"{plain(what)}: {shown(figure)}" for what, figure in result.points.items())
    return fill(said, 100, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False) + "\n"


def _times(result: Result, figure: float) -> str:
    times = result.against(figure)
    return f"{times:.0f}x" if times >= 10 else f"{times:.2g}x"
