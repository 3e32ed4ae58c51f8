"""Tables whose rows stand in a defined order, whatever order they came in."""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, TypeVar

_K = TypeVar("_K")
_R = TypeVar("_R")


def settle(table: dict[_K, _R], changes: Mapping[_K, _R | None], order: Callable[[_K, _R], Any]) -> None:
    """Bring a table up to date in place, its rows in ascending `order`; a change to None removes.

    No two rows may have the same order. What is added at the end costs least: rows that come after the first new one
    are taken out and put back.
    """
    moved: list[tuple[Any, _K, _R]] = []
    for key, row in changes.items():
        old = table.get(key)
        place = None if row is None else order(key, row)
        if row is not None and old is not None and order(key, old) == place:
            table[key] = row
            continue
        if old is not None:
            del table[key]
        if row is not None:
            moved.append((place, key, row))
    if not moved:
        return
    moved.sort(key=itemgetter(0))
    first = moved[0][0]
    while table:
        key, row = table.popitem()
        if order(key, row) < first:
            table[key] = row
            break
        moved.append((order(key, row), key, row))
    moved.sort(key=itemgetter(0))
    table.update((key, row) for _, key, row in moved)
