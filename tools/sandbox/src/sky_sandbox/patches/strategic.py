"""Strategic merge patch: a JSON merge patch that merges lists by key, with its directives (kubectl sends them)."""

from collections.abc import Callable
from typing import Any

from sky_sandbox.api.refusals import defect
from sky_sandbox.patches.lists import Schema, field, is_set, items, patch_key

_ORDER = "$setElementOrder/"
_REMOVE = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"
_DIRECTIVE = "$patch"


def merged(value: Any, patch: Any, schema: Schema) -> Any:
    """The value with a patch on it.

    Raises:
        Refusal: A directive is none that there is.
    """
    if not isinstance(patch, dict):
        return patch
    if (directive := patch.get(_DIRECTIVE)) is not None:
        if directive == "replace":
            return {name: kept for name, kept in patch.items() if name != _DIRECTIVE}
        if directive == "delete":
            return {}
        if directive != "merge":
            raise defect(f"unknown patch type: {directive}")
    result = dict(value) if isinstance(value, dict) else {}
    if _RETAIN in patch:
        result = {name: kept for name, kept in result.items() if name in patch[_RETAIN]}
    for name, change in patch.items():
        if name.startswith(_REMOVE):
            listed = name.removeprefix(_REMOVE)
            result[listed] = [item for item in result.get(listed, ()) if item not in change]
        elif name.startswith("$"):
            continue
        elif change is None:
            result.pop(name, None)
        elif isinstance(change, list):
            order = patch.get(_ORDER + name)
            result[name] = _list(result.get(name) or [], change, field(schema, name), order)
        else:
            result[name] = merged(result.get(name), change, field(schema, name))
    return result


def _list(old: list[Any], change: list[Any], schema: Schema, order: list[Any] | None) -> list[Any]:
    if is_set(schema):
        return _ordered(
            old, [item for i, item in enumerate(change) if item not in change[:i]], order, lambda item: item
        )
    key = patch_key(schema)
    if not key or not all(isinstance(item, dict) for item in change):
        return change
    if any(item.get(_DIRECTIVE) == "replace" for item in change):
        return [item for item in change if _DIRECTIVE not in item]
    new, left = [], list(old)
    for item in change:
        if key not in item:
            raise defect(f"map: {item!r} does not contain declared merge key: {key}")
        if item.get(_DIRECTIVE) == "delete":
            left = [one for one in left if one.get(key) != item[key]]
        else:
            there = next((one for one in old if one.get(key) == item[key]), None)
            new.append(merged(there, item, items(schema)))
    return _ordered(left, new, order, lambda item: item.get(key))


def _ordered(old: list[Any], new: list[Any], order: list[Any] | None, key_of: Callable[[Any], Any]) -> list[Any]:
    """What the patch has, in the patch's order, and what it has not, before what it stood before (mergeSortedSlice)."""
    if order is not None:
        wanted = [key_of(item) for item in order]
        new = sorted(new, key=lambda item: wanted.index(key_of(item)) if key_of(item) in wanted else len(wanted))
    stood = [key_of(item) for item in old]
    patched = [key_of(item) for item in new]
    left = [item for item in old if key_of(item) not in patched]
    result = []
    for item in new:
        while left and key_of(item) in stood and stood.index(key_of(left[0])) < stood.index(key_of(item)):
            result.append(left.pop(0))
        result.append(item)
    return result + left
