"""Time at the edge: RFC 3339 instants and Go durations, as nanoseconds."""

import re
from datetime import date
from functools import lru_cache
from typing import Final

from sky_core.api.faults import Invalid
from sky_core.model import SECOND, Duration, Instant
from sky_core.quantity import shown

_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH: Final = date(1970, 1, 1).toordinal()
_DAY: Final = 86_400

_UNITS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 1_000_000,
    "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_PART: Final = re.compile(r"(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))(ns|us|µs|μs|ms|s|m|h)")
_DURATION_TEXT_MAX: Final = 64
_DURATION_MAX: Final = 2**63 - 1


@lru_cache(maxsize=1 << 14)  # objects of one cluster share their seconds
def instant(text: str) -> Instant:
    """The instant that RFC 3339 text names.

    Raises:
        ValueError: It is none.
    """
    if (match := _RFC3339.fullmatch(text)) is None:
        raise ValueError(f"{shown(text)} is not a time; write it as 2026-01-31T12:00:00Z")
    year, month, day, hour, minute, second, fraction, sign, ahead, ahead_minutes = match.groups("0")
    try:
        days = date(int(year), int(month), int(day)).toordinal() - _EPOCH
    except ValueError:
        raise ValueError(f"{shown(text)} names a day that is in no calendar") from None
    offset = int(ahead) * 3600 + int(ahead_minutes) * 60
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59 or int(ahead) > 23 or int(ahead_minutes) > 59:
        raise ValueError(f"{shown(text)} names a time of day that is on no clock")
    seconds = days * _DAY + int(hour) * 3600 + int(minute) * 60 + int(second)
    seconds += offset if sign == "-" else -offset
    return Instant(seconds * SECOND + int(fraction.ljust(9, "0")))


def instant_at(field: str, text: str) -> Instant:
    """The instant in this field; the epoch where the field is empty.

    Raises:
        Invalid: It is none.
    """
    if not text:
        return Instant(0)
    try:
        return instant(text)
    except ValueError as error:
        raise Invalid(field, str(error)) from None


def rfc3339(when: Instant) -> str:
    """The text of an instant, in UTC, with as much of a fraction as it has."""
    seconds, fraction = divmod(when, SECOND)
    days, rest = divmod(seconds, _DAY)
    tail = f".{fraction:09d}".rstrip("0") if fraction else ""
    clock = f"{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"
    return f"{date.fromordinal(days + _EPOCH).isoformat()}T{clock}{tail}Z"


@lru_cache(maxsize=1 << 10)
def duration(text: str) -> Duration:
    """The duration that Go's `time.ParseDuration` reads: `90s`, `1h30m`, `1.5h`, `0`. What is finer than 1 ns is cut.

    Raises:
        ValueError: It is none, negative, or more than Go can hold.
    """
    body = text[1:] if text.startswith("+") else text
    if body == "0":
        return Duration(0)
    if len(text) > _DURATION_TEXT_MAX or body.startswith("-"):
        raise ValueError(f"{shown(text)} is not a duration of 0 or more; write it as 90s, 10m or 1h30m")
    total = position = 0
    while position < len(body):
        if (part := _PART.match(body, position)) is None:
            break
        whole, fraction, bare, unit = part.groups("")
        digits = fraction or bare
        total += int(whole or "0") * _UNITS[unit] + int(digits or "0") * _UNITS[unit] // 10 ** len(digits)
        position = part.end()
    if not body or position < len(body):
        raise ValueError(f"{shown(text)} is not a duration of 0 or more; write it as 90s, 10m or 1h30m")
    if total > _DURATION_MAX:
        raise ValueError(f"{shown(text)} is too long; allowed are 292 years")
    return Duration(total)


def duration_at(field: str, text: str) -> Duration:
    """The duration in this field.

    Raises:
        Invalid: It is none.
    """
    try:
        return duration(text)
    except ValueError as error:
        raise Invalid(field, str(error)) from None
