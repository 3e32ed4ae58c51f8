"""As much of Kubernetes' JSONPath as printer columns need: fields, indices, `[*]`, and filters by equality."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, TypeAlias

Step: TypeAlias = Callable[[Any], Iterable[Any]]

_STEP: Final = re.compile(
    r"""\.(?P<field>(?:[^.\[\]\\*]|\\.)+)
      | \[(?P<quote>['"])(?P<key>(?:[^'"\\]|\\.)+)(?P=quote)\]
      | \[(?P<index>-?[0-9]+)\]
      | (?P<every>\[\*\]|\.\*)
      | \[\?\(\s*@(?P<where>(?:\.[^.\[\]\\=!<>\s]+)+)\s*==\s*(?P<mark>['"])(?P<value>[^'"]*)(?P=mark)\s*\)\]""",
    re.VERBOSE,
)


def find(path: str, value: Any) -> list[Any]:
    """What a path leads to, which may be nothing.

    Raises:
        ValueError: It is no path that this knows.
    """
    found = [value]
    for step in _steps(path):
        found = [inner for outer in found for inner in step(outer)]
    return found


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[Step, ...]:
    steps, position = [], 0
    while position < len(path):
        if (match := _STEP.match(path, position)) is None:
            raise ValueError(f"{path[position:]!r} in {path!r} is no step of a path that the sandbox knows")
        position = match.end()
        steps.append(_step(match))
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if name := match["field"] or match["key"]:
        return _field(re.sub(r"\\(.)", r"\1", name))
    if match["index"]:
        return _index(int(match["index"]))
    if match["every"]:
        return _every
    return _filter(match["where"], match["value"])


def _field(name: str) -> Step:
    return lambda outer: [outer[name]] if isinstance(outer, dict) and name in outer else []


def _index(index: int) -> Step:
    return lambda outer: outer[index:][:1] if isinstance(outer, list) else []


def _every(outer: Any) -> Iterable[Any]:
    return outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else []


def _filter(path: str, value: str) -> Step:
    return lambda outer: [inner for inner in outer if find(path, inner) == [value]] if isinstance(outer, list) else []
