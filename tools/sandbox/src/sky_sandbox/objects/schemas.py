"""Structural schemas: what of an object is kept, what is filled in, and what is wrong with it.

A definition is admitted only with a schema that is well formed and has no word that would be unknown here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from sky_core.api.instants import instant
from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects.rules import RULES
from sky_sandbox.objects.schema_words import Schema

WRONG_TYPE: Final = "FieldValueTypeInvalid"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_RULES: Final = "x-kubernetes-validations"
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"


def pruned(value: Any, schema: Schema, at: str = "") -> tuple[Any, list[str]]:
    """The value without the fields that its schema does not have, and their paths."""
    lost: list[str] = []
    if isinstance(value, dict):
        kept = {}
        for name, inner in value.items():
            where = f"{at}.{name}" if at else name
            if (own := _field(schema, name)) is None:
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


def filled(value: Any, schema: Schema) -> Any:
    """The value with its schema's defaults; a null that may not be one gives way to its default."""
    if isinstance(value, dict):
        result = dict(value)
        for name, inner in schema.get("properties", {}).items():
            if "default" in inner and (name not in result or (result[name] is None and not inner.get("nullable"))):
                result[name] = inner["default"]
        return {
            name: inner if (own := _field(schema, name)) is None else filled(inner, own)
            for name, inner in result.items()
        }
    if isinstance(value, list) and "items" in schema:
        return [filled(inner, schema["items"]) for inner in value]
    return value


def faults(value: Any, schema: Schema, at: str = "") -> Iterator[Cause]:
    """What is wrong with a value."""
    if value is None and schema.get("nullable"):
        return
    kind = schema.get("type", "")
    if schema.get(_INT_OR_STRING):
        if not (_is(value, "integer") or isinstance(value, str)):
            yield _of_type(at, "integer,string", value)
            return
    elif kind and not _is(value, kind):
        yield _of_type(at, kind, value)
        return
    for word, check in _CHECKS.items():
        if word in schema and (wrong := check(value, schema[word])):
            yield Cause(at, f"Invalid value: {_text(value)}: {at} in body {wrong}")
    for rule in schema.get(_RULES, ()):
        if rule["rule"] in RULES and not RULES[rule["rule"]](value):
            yield Cause(at, f"Invalid value: {rule.get('message', 'failed rule: ' + rule['rule'])}")
    yield from _combined(value, schema, at)
    yield from _inside(value, schema, at)


def _combined(value: Any, schema: Schema, at: str) -> Iterator[Cause]:
    for inner in schema.get("allOf", ()):
        yield from faults(value, inner, at)
    if "anyOf" in schema and all(any(faults(value, inner, at)) for inner in schema["anyOf"]):
        yield Cause(at, f"Invalid value: {_text(value)}: {at} in body must validate at least one schema (anyOf)")


def _inside(value: Any, schema: Schema, at: str) -> Iterator[Cause]:
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield Cause(f"{at}.{name}" if at else name, "Required value", "FieldValueRequired")
        for name, inner in value.items():
            if own := _field(schema, name):
                yield from faults(inner, own, f"{at}.{name}" if at else name)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from faults(inner, schema.get("items", {}), f"{at}[{index}]")
        yield from _twice(value, schema, at)


def _twice(value: list[Any], schema: Schema, at: str) -> Iterator[Cause]:
    kind = schema.get("x-kubernetes-list-type")
    if kind not in {"set", "map"}:
        return
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen = []
    for index, item in enumerate(value):
        key = {name: item.get(name) for name in keys} if kind == "map" and isinstance(item, dict) else item
        if key in seen:
            yield Cause(f"{at}[{index}]", f"Duplicate value: {_text(key)}", "FieldValueDuplicate")
        seen.append(key)


def _field(schema: Schema, name: str) -> Schema | None:
    """The schema of a field; None if there is no such field."""
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if name in properties:
        return properties[name]
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        return more
    is_open = more is True or schema.get(_OPEN) or schema.get(_INT_OR_STRING)
    return {_OPEN: True} if is_open or not schema else None


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _of_type(at: str, kind: str, value: Any) -> Cause:
    return Cause(at, f"Invalid value: {_text(value)}: {at} in body must be of type {kind}", WRONG_TYPE)


def _text(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:200] + "…"


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII)


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and instant(value) is not None
    except ValueError:
        return False


def _in_format(value: Any, name: str) -> str:
    """Why a value is not in a format; empty if it is."""
    bits = {"int32": 31, "int64": 63}.get(name)
    if bits and isinstance(value, int) and not -(2**bits) <= value < 2**bits:
        return f"must be of format {name}"
    return "must be of format date-time" if name == "date-time" and not _is_time(value) else ""


def _bound(kinds: type | tuple[type, ...], ok: Callable[[Any, Any], bool], wrong: str) -> Callable[[Any, Any], str]:
    """A check of values of these types; others pass."""
    return lambda value, limit: wrong.format(limit) if isinstance(value, kinds) and not ok(value, limit) else ""


_NUMBER: Final = (int, float)
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": _NUMBER,
}  # fmt: skip
_CHECKS: Final[Mapping[str, Callable[[Any, Any], str]]] = {
    "enum": _bound(object, lambda value, listed: value in listed, "should be one of {}"),
    "format": _in_format,
    "maxItems": _bound(list, lambda value, most: len(value) <= most, "should have at most {} items"),
    "minItems": _bound(list, lambda value, least: len(value) >= least, "should have at least {} items"),
    "maxLength": _bound(str, lambda value, most: len(value) <= most, "should be at most {} chars long"),
    "minLength": _bound(str, lambda value, least: len(value) >= least, "should be at least {} chars long"),
    "maxProperties": _bound(dict, lambda value, most: len(value) <= most, "should have at most {} properties"),
    "minProperties": _bound(dict, lambda value, least: len(value) >= least, "should have at least {} properties"),
    "maximum": _bound(_NUMBER, lambda value, most: value <= most, "should be less than or equal to {}"),
    "minimum": _bound(_NUMBER, lambda value, least: value >= least, "should be greater than or equal to {}"),
    "pattern": _bound(str, lambda value, form: _pattern(form).search(value) is not None, "should match '{}'"),
}
