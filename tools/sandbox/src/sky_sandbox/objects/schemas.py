"""Structural schemas: what is wrong with an object.

A definition is admitted only with a schema that is well formed and has no word that would be unknown here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects.formats import WRITTEN
from sky_sandbox.objects.rules import RULES
from sky_sandbox.objects.schema_fields import INT_OR_STRING, field
from sky_sandbox.objects.schema_words import Schema

INVALID: Final = "FieldValueInvalid"
WRONG_TYPE: Final = "FieldValueTypeInvalid"
BLOCKING: Final = frozenset(
    {WRONG_TYPE, "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueTooMany"}
)
"""Where a fault is of such a type, rules are not asked."""

ROOT: Final = "<nil>"
"""Where Kubernetes says that something is wrong with an object as a whole."""

ABSENT: Final = object()
"""In the place of a value that there is none of; equal to no other."""

_RULES: Final = "x-kubernetes-validations"


def faults(value: Any, schema: Schema, at: str = "", before: Any = ABSENT) -> Iterator[Cause]:
    """What is wrong with a value, but for its rules. What was the same `before` is let be (CRDValidationRatcheting)."""
    if (value is None and schema.get("nullable")) or value == before:
        return
    if not _is_of_type(value, schema):
        kind = "integer,string" if schema.get(INT_OR_STRING) else schema["type"]
        yield Cause(at, f"Invalid value: {_text(value)}: {at} in body must be of type {kind}", WRONG_TYPE)
        return
    if bits := _too_long_for(value, schema.get("format", "")):
        yield Cause(ROOT, f'Invalid value: "": Checked value must be of type integer with format {bits} in {at}')
    for word, check in _CHECKS.items():
        if word in schema and (wrong := check(value, schema[word])):
            yield Cause(at, f"Invalid value: {_text(value)}: {at} in body {wrong}", _TYPE_OF.get(word, INVALID))
    yield from _combined(value, schema, at)
    yield from _inside(value, schema, at, before)


def mistyped(value: Any, schema: Schema, at: str = "") -> Iterator[str]:
    """The places where a value is of another type than its schema says, but for nulls."""
    if value is None:
        return
    if not _is_of_type(value, schema):
        yield at
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from mistyped(inner, field(schema, name) or {}, f"{at}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from mistyped(inner, schema.get("items", {}), f"{at}[{index}]")


def broken_rules(value: Any, schema: Schema, at: str = "", before: Any = ABSENT) -> Iterator[Cause]:
    """The rules that a value is not as they want it; those are let be that a value broke `before`."""
    if value == before:
        return
    for rule in schema.get(_RULES, ()):
        if rule["rule"] in RULES and not RULES[rule["rule"]](value):
            yield Cause(at, f"Invalid value: {rule.get('message', 'failed rule: ' + rule['rule'])}")
    if isinstance(value, dict):
        for name, inner in value.items():
            if own := field(schema, name):
                yield from broken_rules(inner, own, f"{at}.{name}" if at else name, _part(before, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from broken_rules(inner, schema.get("items", {}), f"{at}[{index}]")


def has_rules(schema: Schema) -> bool:
    """Whether there is a rule anywhere in a schema."""
    inside = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    return _RULES in schema or any(has_rules(inner) for inner in inside if isinstance(inner, Mapping))


def _combined(value: Any, schema: Schema, at: str) -> Iterator[Cause]:
    for inner in schema.get("allOf", ()):
        yield from faults(value, inner, at)
    if "anyOf" in schema and all(any(faults(value, inner, at)) for inner in schema["anyOf"]):
        yield Cause(at, f"Invalid value: {_text(value)}: {at} in body must validate at least one schema (anyOf)")


def _inside(value: Any, schema: Schema, at: str, before: Any) -> Iterator[Cause]:
    """Of lists it is not asked which item is which of those before."""
    if isinstance(value, dict):
        for name in schema.get("required", ()):
            if name not in value:
                yield Cause(f"{at}.{name}" if at else name, "Required value", "FieldValueRequired")
        for name, inner in value.items():
            if own := field(schema, name):
                yield from faults(inner, own, f"{at}.{name}" if at else name, _part(before, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from faults(inner, schema.get("items", {}), f"{at}[{index}]")
        yield from _twice(value, schema, at)


def _part(before: Any, name: str) -> Any:
    return before.get(name, ABSENT) if isinstance(before, Mapping) else ABSENT


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


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, float) and kind == "integer":
        return value.is_integer()
    return isinstance(value, _TYPES[kind])


def _is_of_type(value: Any, schema: Schema) -> bool:
    if schema.get(INT_OR_STRING):
        return _is(value, "integer") or isinstance(value, str)
    return not schema.get("type") or _is(value, schema["type"])


def _text(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 200 else text[:200] + "…"


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.ASCII)


def _in_format(value: Any, name: str) -> str:
    """Why a value is not in a format; empty if it is."""
    write = WRITTEN.get(name)
    try:
        if write is not None:
            write(value)
    except (TypeError, ValueError) as error:
        return f"must be of type {name}: {error}"
    return ""


def _too_long_for(value: Any, name: str) -> str:
    """The format into which a number does not fit; empty if it does."""
    bits = {"int32": 31, "int64": 63}.get(name)
    return name if bits and isinstance(value, int) and not -(2**bits) <= value < 2**bits else ""


def _bound(kinds: type | tuple[type, ...], ok: Callable[[Any, Any], bool], wrong: str) -> Callable[[Any, Any], str]:
    """A check of values of these types; others pass."""
    return lambda value, limit: wrong.format(limit) if isinstance(value, kinds) and not ok(value, limit) else ""


_NUMBER: Final = (int, float)
_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": _NUMBER,
}  # fmt: skip
_TYPE_OF: Final[Mapping[str, str]] = {
    "enum": "FieldValueNotSupported", "format": WRONG_TYPE, "maxLength": "FieldValueTooLong",
    "maxItems": "FieldValueTooMany", "maxProperties": "FieldValueTooMany",
}  # fmt: skip
"""The type of cause where a word is broken; else that of a wrong value."""
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
