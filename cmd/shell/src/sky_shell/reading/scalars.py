"""What a plain YAML scalar means: what it means in JSON, and text otherwise.

YAML 1.1 would read `on` as true, `1:30` as 90 and `2026-01-01` as a date. Here they stay what was written.
"""

import re
from typing import Final

_WORDS: Final[dict[str, object]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DIGITS_MAX: Final = 128


def plain_scalar(text: str) -> object:
    """The value of an unquoted YAML scalar."""
    if text in _WORDS:
        return _WORDS[text]
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    return float(text) if number[1] or number[2] else integer(text)


def integer(text: str) -> int | str:
    """A JSON integer; text again where it has more digits than any field takes, so that its reader refuses it."""
    return int(text) if len(text) <= _DIGITS_MAX else text
