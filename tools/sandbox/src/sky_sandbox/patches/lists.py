"""How lists and maps of a schema merge: whole, as a set, or item by item; said in the words of a structural schema."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from sky_sandbox.api.refusals import defect

Schema: TypeAlias = Mapping[str, Any]

ANY: Final[Schema] = {}
"""The schema of what nothing is known of: maps merge, lists are whole."""


def field(schema: Schema, name: str) -> Schema:
    """The schema of a map's field."""
    properties: Schema = schema.get("properties", ANY)
    found = properties.get(name, schema.get("additionalProperties"))
    return found if isinstance(found, Mapping) else ANY


def items(schema: Schema) -> Schema:
    """The schema of a list's items."""
    found: Schema = schema.get("items", ANY)
    return found


def map_keys(schema: Schema) -> tuple[str, ...]:
    """The fields that tell a list's items apart; none if it does not merge item by item."""
    return tuple(schema.get("x-kubernetes-list-map-keys", ())) if schema.get("x-kubernetes-list-type") == "map" else ()


def is_set(schema: Schema) -> bool:
    """Whether a list merges as a set."""
    return schema.get("x-kubernetes-list-type") == "set"


def is_whole(schema: Schema) -> bool:
    """Whether a map is replaced as a whole."""
    return schema.get("x-kubernetes-map-type") == "atomic"


def patch_key(schema: Schema) -> str:
    """The field by which a strategic merge patch tells a list's items apart; empty if it replaces the list."""
    return str(schema.get("x-kubernetes-patch-merge-key", ""))


def key_of(item: Any, keys: tuple[str, ...], schema: Schema) -> dict[str, Any]:
    """What tells an item apart; a key that it lacks has its default, if there is one.

    Raises:
        Refusal: It has none of the keys.
    """
    if not isinstance(item, Mapping):
        return {}
    defaults = {name: field(items(schema), name).get("default") for name in keys}
    found = {name: item.get(name, defaults[name]) for name in keys}
    if not any(value is not None for value in found.values()):
        raise defect(f"an item of a list by key omits all key fields {list(keys)}")
    return {name: value for name, value in found.items() if value is not None}
