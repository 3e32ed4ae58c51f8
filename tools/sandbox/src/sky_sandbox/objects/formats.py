"""Formats of texts: how Kubernetes writes an amount and a time, whoever has written it how."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sky_core.api.instants import instant, rfc3339
from sky_core.model import SECOND, Instant
from sky_core.quantity import Quantity

_MICRO_TIME: Final = re.compile(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{6}(Z|[+-][0-9:]{5})", re.ASCII)


def _amount(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("quantities must be a string or a number")
    return Quantity.parse(str(value)).canonical()


def _time(value: Any) -> str:
    instant(value)
    return str(value)


def _micro_time(value: Any) -> str:
    """Go reads six decimals, no more and no less."""
    if not _MICRO_TIME.fullmatch(value):
        raise ValueError(f'cannot parse "{value}" as "2006-01-02T15:04:05.000000Z07:00"')
    when = instant(value)
    if value.endswith("Z"):
        return str(value)
    return f"{rfc3339(Instant(when - when % SECOND)).removesuffix('Z')}.{when % SECOND // 1000:06d}Z"


WRITTEN: Final[Mapping[str, Callable[[Any], str]]] = {
    "date-time": _time, "micro-time": _micro_time, "quantity": _amount,
}  # fmt: skip
"""By the format, a value in the text that Kubernetes writes; raises TypeError or ValueError where it is none."""
