"""Gives the results to whoever asked, as they come: who stops it has what there is by then."""

from collections.abc import Iterable
from typing import Literal

from skyctl.bench import board
from skyctl.bench.result import Result, encoded, read
from skyctl.terminal import answer

Format = Literal["table", "json"]


def tell_results(results: Iterable[Result], output: Format, compare: str | None = None) -> None:
    """Print results as they come; as JSON when all are there, or when the user has had enough.

    Args:
        results: Measured one by one as this asks for them.
        output: For people or for programs.
        compare: A file with results of an earlier run, beside which these are set.

    Raises:
        InputError: That file can't be used.
        KeyboardInterrupt: The user has had enough.
    """
    before = read(compare) if compare is not None else {}
    found: list[Result] = []
    if output == "table":
        answer(board.head(compared=bool(before)))
    try:
        for result in results:
            found.append(result)
            if output == "table":
                answer(board.row(result, before))
    finally:
        answer(board.FOOT if output == "table" else encoded(found, before))
