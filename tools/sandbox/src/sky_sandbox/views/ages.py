"""How long ago something was, as kubectl writes it (apimachinery, duration.HumanDuration)."""

from sky_core.api.instants import instant
from sky_core.model import SECOND, Instant

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_YEAR = 365 * _DAY


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
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(seconds: int, coarse: int, coarse_name: str, fine: int, fine_name: str) -> str:
    rest = seconds % coarse // fine
    return f"{seconds // coarse}{coarse_name}" + (f"{rest}{fine_name}" if rest else "")
