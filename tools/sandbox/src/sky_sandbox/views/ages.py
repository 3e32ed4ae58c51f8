"""How long ago something was, as kubectl writes it (apimachinery, duration.HumanDuration)."""

from typing import Final

from sky_core.api.instants import instant
from sky_core.model import SECOND, Instant

_SECOND, _MINUTE, _HOUR, _DAY, _YEAR = 1, 60, 3600, 86_400, 365 * 86_400
_NAMES: Final = {_SECOND: "s", _MINUTE: "m", _HOUR: "h", _DAY: "d", _YEAR: "y"}
_UNITS: Final = (
    (2 * _MINUTE, _SECOND, None), (10 * _MINUTE, _MINUTE, _SECOND), (3 * _HOUR, _MINUTE, None),
    (8 * _HOUR, _HOUR, _MINUTE), (2 * _DAY, _HOUR, None), (8 * _DAY, _DAY, _HOUR), (2 * _YEAR, _DAY, None),
    (8 * _YEAR, _YEAR, _DAY),
)  # fmt: skip
"""Below so many seconds: in which unit, and in which finer one too."""


def age(since: object, now: Instant) -> str:
    """The time since an RFC 3339 instant; `<unknown>` if it is none."""
    try:
        seconds = (now - instant(since)) // SECOND if isinstance(since, str) else None
    except ValueError:
        seconds = None
    return "<unknown>" if seconds is None else span(seconds)


def span(seconds: int) -> str:
    """So many seconds, in two units where the first alone would be coarse."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    coarse, fine = next(((coarse, fine) for below, coarse, fine in _UNITS if seconds < below), (_YEAR, None))
    rest = seconds % coarse // fine if fine else 0
    return f"{seconds // coarse}{_NAMES[coarse]}" + (f"{rest}{_NAMES[fine]}" if fine and rest else "")
