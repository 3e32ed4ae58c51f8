"""JSON to values, as strictly as YAML is read here: no duplicate keys, bounded depth. Several values may follow."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from sky_shell.reading.places import InputError, Place
from sky_shell.reading.scalars import integer
from sky_shell.reading.yaml_text import DEPTH_MAX

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DEEP: Final = f"it is nested more than {DEPTH_MAX} levels deep, which no manifest is"


class NotJsonError(InputError):
    """The text is something else than JSON."""


class _TwiceError(ValueError):
    """An object has a key twice: which."""


def json_documents(file: str, text: str) -> Iterator[tuple[Place, Any]]:
    """Each value, and where it begins.

    `NaN` and the infinities, which JSON does not have, become text, so that whoever reads the field refuses it.

    Raises:
        NotJsonError: It is not JSON.
        InputError: It is, but a key is given twice, or it is nested too deeply.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_object, parse_constant=str, parse_int=integer)
    document, line, end = 0, 1, 0
    while (begin := _after_space(text, end)) < len(text):
        document += 1
        line += text.count("\n", end, begin)
        place = Place(file, document, line)
        try:
            value, end = decoder.raw_decode(text, begin)
        except json.JSONDecodeError as error:
            place = place._replace(line=error.lineno, column=error.colno)
            raise NotJsonError(f"{place}: not JSON: {error.msg[:1].lower()}{error.msg[1:]}") from None
        except _TwiceError as error:
            raise place.wrong(f"the key {str(error)!r} is given twice; keep one of the two") from None
        except RecursionError:
            raise place.wrong(_DEEP) from None
        if _deep(value):
            raise place.wrong(_DEEP)
        yield place, value
        line += text.count("\n", begin, end)


def _after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _TwiceError(next(key for at, key in enumerate(keys) if key in keys[:at]))
    return made


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH_MAX):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [inner for inner in inside if isinstance(inner, dict | list)]
