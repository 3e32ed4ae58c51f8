"""Structural schemas: what of an object is kept, what is filled in, and what is wrong with it.

A definition is admitted only with a schema that is well formed and has no word that would be unknown here.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec

from sky_core.api.instants import instant, rfc3339
from sky_core.model import SECOND, Instant
from sky_core.quantity import Quantity
from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects.rules import RULES
from sky_sandbox.objects.schema_words import Schema

INVALID: Final = "FieldValueInvalid"
WRONG_TYPE: Final = "FieldValueTypeInvalid"
BLOCKING: Final = frozenset(
    {WRONG_TYPE, "FieldValueRequired", "FieldValueNotSupported", "FieldValueTooLong", "FieldValueTooMany"}
)
"""Where a fault is of such a type, rules are not asked."""

ROOT: Final = "<nil>"
"""Where Kubernetes says that something is wrong with an object as a whole."""

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


def without_nulls(value: Any, schema: Schema) -> Any:
    """The value without the nulls that its schema does not allow."""
    if isinstance(value, dict):
        return {
            name: inner if own is None else without_nulls(inner, own)
            for name, inner in value.items()
            if (own := _known(schema, name)) is None or inner is not None or own.get("nullable")
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
            name: inner if (own := _field(schema, name)) is None else filled(inner, own)
            for name, inner in result.items()
        }
    if isinstance(value, list) and "items" in schema:
        return [filled(inner, schema["items"]) for inner in value]
    return value


def canonical(value: Any, schema: Schema) -> Any:
    """A value without faults, its amounts and times written as Kubernetes writes them."""
    if isinstance(value, dict):
        return {
            name: inner if (own := _known(schema, name)) is None else canonical(inner, own)
            for name, inner in value.items()
        }
    if isinstance(value, list) and "items" in schema:
        return [canonical(inner, schema["items"]) for inner in value]
    write = _WRITTEN.get(schema.get("format", ""))
    return value if write is None else write(value)


def faults(value: Any, schema: Schema, at: str = "") -> Iterator[Cause]:
    """What is wrong with a value, but for its rules."""
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
    if bits := _too_long_for(value, schema.get("format", "")):
        yield Cause(ROOT, f'Invalid value: "": Checked value must be of type integer with format {bits} in {at}')
    for word, check in _CHECKS.items():
        if word in schema and (wrong := check(value, schema[word])):
            yield Cause(at, f"Invalid value: {_text(value)}: {at} in body {wrong}", _TYPE_OF.get(word, INVALID))
    yield from _combined(value, schema, at)
    yield from _inside(value, schema, at)


def broken_rules(value: Any, schema: Schema, at: str = "") -> Iterator[Cause]:
    """The rules that a value is not as they want it."""
    for rule in schema.get(_RULES, ()):
        if rule["rule"] in RULES and not RULES[rule["rule"]](value):
            yield Cause(at, f"Invalid value: {rule.get('message', 'failed rule: ' + rule['rule'])}")
    if isinstance(value, dict):
        for name, inner in value.items():
            if own := _field(schema, name):
                yield from broken_rules(inner, own, f"{at}.{name}" if at else name)
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


def _known(schema: Schema, name: str) -> Schema | None:
    """What a schema says of a field; None if it says nothing."""
    found = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return found if isinstance(found, Mapping) else None


def _field(schema: Schema, name: str) -> Schema | None:
    """The schema of a field; None if there is no such field."""
    if (known := _known(schema, name)) is not None:
        return known
    is_open = schema.get("additionalProperties") is True or schema.get(_OPEN) or schema.get(_INT_OR_STRING)
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


def _in_format(value: Any, name: str) -> str:
    """Why a value is not in a format; empty if it is."""
    write = _WRITTEN.get(name)
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


def _amount(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("quantities must be a string or a number")
    return Quantity.parse(str(value)).canonical()


def _time(value: Any) -> str:
    instant(value)
    return str(value)


def _micro_time(value: Any) -> str:
    """Go reads six decimals, no more and no less."""
    if not _MICRO_TIME.fullmatch(value):
        raise ValueError(f'cannot parse "{value}" as "2006-01-02T15:04:05.000000Z07:00"')
    when = instant(value)
    if value.endswith("Z"):
        return str(value)
    return f"{rfc3339(Instant(when - when % SECOND)).removesuffix('Z')}.{when % SECOND // 1000:06d}Z"


_MICRO_TIME: Final = re.compile(r"[0-9-]{10}T[0-9:]{8}\.[0-9]{6}(Z|[+-][0-9:]{5})", re.ASCII)
_WRITTEN: Final[Mapping[str, Callable[[Any], str]]] = {
    "date-time": _time, "micro-time": _micro_time, "quantity": _amount,
}  # fmt: skip
"""By the format, a value in the text that Kubernetes writes; raises TypeError or ValueError where it is none."""

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
