"""Kubernetes objects as plain mappings: never written in place, so that a reader may keep what it was given."""

from collections.abc import Mapping
from typing import Any, TypeAlias

Object: TypeAlias = Mapping[str, Any]


def part(raw: Object, *path: str) -> Object:
    """The mapping at this path; empty where there is none."""
    for name in path:
        inner = raw.get(name)
        raw = inner if isinstance(inner, Mapping) else {}
    return raw


def text(raw: Object, name: str) -> str:
    """The text under this name; empty where there is none."""
    value = raw.get(name)
    return value if isinstance(value, str) else ""


def written(raw: Object, path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The object with this value at the path; None takes away what is there."""
    name, *rest = path
    if rest:
        value = written(part(raw, name), tuple(rest), value)
    elif value is None:
        return {key: kept for key, kept in raw.items() if key != name}
    return {**raw, name: value}


def conditions(raw: Object) -> list[Object]:
    """The conditions in the object's status."""
    found = part(raw, "status").get("conditions")
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list | tuple) else []
