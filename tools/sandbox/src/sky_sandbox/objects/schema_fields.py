"""The fields of a value by its schema: which are kept, which are filled in, and how they are written."""

from collections.abc import Mapping
from typing import Any, Final

from sky_sandbox.objects.formats import WRITTEN
from sky_sandbox.objects.schema_words import Schema

INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"


def pruned(value: Any, schema: Schema, at: str = "") -> tuple[Any, list[str]]:
    """The value without the fields that its schema does not have, and their paths."""
    lost: list[str] = []
    if isinstance(value, dict):
        kept = {}
        for name, inner in value.items():
            where = f"{at}.{name}" if at else name
            if (own := field(schema, name)) is None:
                lost.append(where)
            else:
                kept[name], more = pruned(inner, own, where)
                lost += more
        return kept, lost
    if isinstance(value, list) and "items" in schema:
        items = []
        for index, inner in enumerate(value):
            item, more = pruned(inner, schema["items"], f"{at}[{index}]")
            items.append(item)
            lost += more
        return items, lost
    return value, lost


def without_nulls(value: Any, schema: Schema) -> Any:
    """The value without the nulls that its schema does not allow."""
    if isinstance(value, dict):
        return {
            name: inner if own is None else without_nulls(inner, own)
            for name, inner in value.items()
            if (own := known(schema, name)) is None or inner is not None or own.get("nullable")
        }
    if isinstance(value, list) and "items" in schema:
        return [without_nulls(inner, schema["items"]) for inner in value]
    return value


def filled(value: Any, schema: Schema) -> Any:
    """The value with its schema's defaults; a null that may not be one gives way to its default."""
    if isinstance(value, dict):
        result = dict(value)
        for name, inner in schema.get("properties", {}).items():
            if "default" in inner and (name not in result or (result[name] is None and not inner.get("nullable"))):
                result[name] = inner["default"]
        return {
            name: inner if (own := field(schema, name)) is None else filled(inner, own)
            for name, inner in result.items()
        }
    if isinstance(value, list) and "items" in schema:
        return [filled(inner, schema["items"]) for inner in value]
    return value


def canonical(value: Any, schema: Schema) -> Any:
    """A value without faults, its amounts and times written as Kubernetes writes them."""
    if isinstance(value, dict):
        return {
            name: inner if (own := known(schema, name)) is None else canonical(inner, own)
            for name, inner in value.items()
        }
    if isinstance(value, list) and "items" in schema:
        return [canonical(inner, schema["items"]) for inner in value]
    write = WRITTEN.get(schema.get("format", ""))
    return value if write is None else write(value)


def known(schema: Schema, name: str) -> Schema | None:
    """What a schema says of a field; None if it says nothing."""
    found = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return found if isinstance(found, Mapping) else None


def field(schema: Schema, name: str) -> Schema | None:
    """The schema of a field; None if there is no such field."""
    if (found := known(schema, name)) is not None:
        return found
    is_open = schema.get("additionalProperties") is True or schema.get(_OPEN) or schema.get(INT_OR_STRING)
    return {_OPEN: True} if is_open or not schema else None
