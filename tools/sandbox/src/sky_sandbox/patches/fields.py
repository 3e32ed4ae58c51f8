"""Who owns which field: sets of paths, and the fieldsV1 notation in which managedFields holds them.

A path is a tuple of steps as fieldsV1 writes them: `f:name` for a field, `k:{"name":"a"}` for an item of a list by key,
`v:"a"` for an item of a set. What merges as a whole is one leaf.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from sky_sandbox.patches.lists import Schema, field, is_set, is_whole, items, key_of, map_keys

Path: TypeAlias = tuple[str, ...]

ITEM: Final = object()
"""The value of a list's item as such, which its owners share whatever is in it."""


def leaves(value: Any, schema: Schema, at: Path = ()) -> dict[Path, Any]:
    """Every path that an owner of this value owns, with the value there."""
    if isinstance(value, Mapping) and value and not is_whole(schema):
        return {
            path: leaf
            for name, inner in value.items()
            for path, leaf in leaves(inner, field(schema, name), (*at, f"f:{name}")).items()
        }
    if isinstance(value, list) and value and (keys := map_keys(schema)):
        found: dict[Path, Any] = {}
        for item in value:
            step = (*at, _step("k", key_of(item, keys, schema)))
            found[step] = ITEM
            found.update(leaves(item, items(schema), step))
        return found
    if isinstance(value, list) and value and is_set(schema):
        return {(*at, _step("v", item)): item for item in value}
    return {at: value}


def without(value: Any, schema: Schema, paths: Iterable[Path]) -> Any:
    """The value without what is at these paths, and without the maps and lists that this leaves empty."""
    below: dict[str, list[Path]] = {}
    for step, *rest in paths:
        below.setdefault(step, []).append(tuple(rest))
    if isinstance(value, Mapping):
        kept = {}
        for name, inner in value.items():
            paths_in = below.get(f"f:{name}")
            left = inner if paths_in is None else _without(inner, field(schema, name), paths_in)
            if left is not _NOTHING:
                kept[name] = left
        return kept
    if isinstance(value, list):
        left_of = [(item, below.get(_step_of(item, schema))) for item in value]
        return [
            left
            for item, inside in left_of
            if (left := item if inside is None else _without(item, items(schema), inside)) is not _NOTHING
        ]
    return value


def _without(value: Any, schema: Schema, paths: list[Path]) -> Any:
    if () in paths:
        return _NOTHING
    left = without(value, schema, paths)
    return left if left or not isinstance(left, dict | list) else _NOTHING


_NOTHING: Final = object()


def to_fields(paths: Iterable[Path]) -> dict[str, Any]:
    """The fieldsV1 object of a set of paths."""
    root: dict[str, Any] = {}
    owned = sorted(paths)
    inner = {path[:n] for path in owned for n in range(1, len(path))}
    for path in owned:
        node = root
        for step in path:
            node = node.setdefault(step, {})
        if path in inner:
            node["."] = {}
    return root


def from_fields(node: Mapping[str, Any], at: Path = ()) -> set[Path]:
    """The paths of a fieldsV1 object."""
    found: set[Path] = set()
    for step, inner in node.items():
        if step == ".":
            found.add(at)
        elif inner:
            found |= from_fields(inner, (*at, step))
        else:
            found.add((*at, step))
    return found


def named(path: Path) -> str:
    """A path for people: `.spec.containers[name="a"].image`."""
    text = ""
    for step in path:
        kind, _, rest = step.partition(":")
        if kind == "f":
            text += f".{rest}"
        elif kind == "k":
            keys = msgspec.json.decode(rest)
            text += (
                "[" + ",".join(f"{name}={msgspec.json.encode(value).decode()}" for name, value in keys.items()) + "]"
            )
        else:
            text += f"[={rest}]"
    return text


def _step_of(item: Any, schema: Schema) -> str:
    keys = map_keys(schema)
    return _step("k", key_of(item, keys, schema)) if keys else _step("v", item)


def _step(kind: str, value: Any) -> str:
    return f"{kind}:{msgspec.json.encode(value, order='sorted').decode()}"
