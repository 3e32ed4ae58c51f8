"""The order of names that people expect: q-2 before q-10."""

import re
from typing import Final, TypeAlias

Natural: TypeAlias = tuple[tuple[int, int, str], ...]

_PART: Final = re.compile(r"([0-9]+)|[^0-9]+")


def natural(name: str) -> Natural:
    """A key that orders names by their words and numbers; no two names have the same."""
    return tuple((0, int(match[1]), match[0]) if match[1] else (1, 0, match[0]) for match in _PART.finditer(name))
