"""JSON merge patch (RFC 7386)."""

from typing import Any


def merged(value: Any, patch: Any) -> Any:
    """The value with a patch on it: maps merge, null takes away, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), change)
    return result
