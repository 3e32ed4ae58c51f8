"""Draws the life of a task from the table of moves, into core/README.md.

With --check it writes nothing, and exits with 1 if the README shows another table.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from sky_core.states import MOVES

README: Final = Path(__file__).parents[2] / "core" / "README.md"
START: Final = "<!-- state diagram -->"
END: Final = "<!-- /state diagram -->"

State = TypeVar("State", bound=str)
Move = TypeVar("Move", bound=str)


def diagram(moves: Mapping[State, Mapping[Move, State]]) -> str:
    """The table as a fenced mermaid block, row by row; a state without a move in or out stands by itself."""
    arrows = [f"    {state} --> {after}: {move}" for state, row in moves.items() for move, after in row.items()]
    reached = {after for row in moves.values() for after in row.values()}
    alone = [f"    {state}" for state, row in moves.items() if not row and state not in reached]
    return "\n".join(["```mermaid", "stateDiagram-v2", *arrows, *alone, "```"])


def drawn(page: str, picture: str) -> str:
    """The page with the picture between its markers, whatever stood there; ValueError without one pair of markers."""
    if page.count(START) != 1 or page.count(END) != 1 or page.index(START) > page.index(END):
        raise ValueError(f"the page needs one {START} and, after it, one {END}")
    before, rest = page.split(START)
    return f"{before}{START}\n{picture}\n{END}{rest.split(END)[1]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Bring core/README.md up to the table, or say that it is not."""
    parser = argparse.ArgumentParser(description="Draw the task states in core/README.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the diagram is out of date")
    check = parser.parse_args(arguments).check
    page = README.read_text()
    wanted = drawn(page, diagram(MOVES))
    if check and page != wanted:
        print("core/README.md: the state diagram is not that of sky_core.states.MOVES; `make diagram` draws it")
        return 1
    if not check:
        README.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
