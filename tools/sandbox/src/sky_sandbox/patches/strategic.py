"""Strategic merge patch: a JSON merge patch that merges lists by key, with its directives (kubectl sends them)."""

from typing import Any

from sky_sandbox.api.refusals import bad_request
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
            raise bad_request(f"invalid {_DIRECTIVE}: {directive!r}")
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
        return list(dict.fromkeys([*old, *change]))
    key = patch_key(schema)
    if not key or not all(isinstance(item, dict) for item in change):
        return change
    if any(item.get(_DIRECTIVE) == "replace" for item in change):
        return [item for item in change if _DIRECTIVE not in item]
    result = list(old)
    for item in change:
        if key not in item:
            raise bad_request(f"map: {item!r} does not contain declared merge key: {key}")
        at = next((i for i, one in enumerate(result) if one.get(key) == item[key]), None)
        if item.get(_DIRECTIVE) == "delete":
            result = [one for one in result if one.get(key) != item[key]]
        elif at is None:
            result.append(merged({}, item, items(schema)))
        else:
            result[at] = merged(result[at], item, items(schema))
    return _ordered(result, [one.get(key) for one in order], key) if order else result


def _ordered(result: list[Any], order: list[Any], key: str) -> list[Any]:
    """The items in the patch's order; those that it does not name stay behind the one before them."""
    ranks, last = {}, -1
    for position, item in enumerate(result):
        if item.get(key) in order:
            last = order.index(item[key])
        ranks[position] = (last, item.get(key) not in order, position)
    return [result[position] for position in sorted(ranks, key=ranks.__getitem__)]
