"""From a msgspec struct to the structural schema of a CustomResourceDefinition."""

import inspect
import re
from collections.abc import Iterator
from typing import Final

from msgspec import inspect as types

from shared_parts import AMOUNT, PARTS, Schema

EXACT_MAX: Final = 2**53
"""API servers keep bounds as floats. One that is a float beyond its own format makes them refuse every value."""

_AMOUNT_TYPES: Final = {types.StrType, types.IntType, types.FloatType}
_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.*(?:\n {6,}.*)*)", re.MULTILINE)


def schema(type_: types.Type) -> Schema:
    """The schema of a type.

    Bounds are the type's; `extra_json_schema` is laid over what they give. Descriptions are those of the struct's
    docstring and of its `Attributes:`; a default is written where it says more than that nothing was given.

    Raises:
        TypeError: A schema can't say this type.
    """
    match type_:
        case types.Metadata(type=inner, extra_json_schema=extra):
            found = {**schema(inner), **(extra or {})}
        case types.StructType(cls=cls):
            found = dict(PARTS[cls]) if cls in PARTS else _struct(type_)
        case types.StrType(min_length=shortest, max_length=longest):
            found = {"type": "string", "minLength": shortest, "maxLength": longest}
        case types.IntType(ge=least, le=most):
            width = "int32" if most is not None and most < 2**31 else "int64"
            found = {"type": "integer", "format": width, "minimum": least, "maximum": most}
        case types.BoolType():
            found = {"type": "boolean"}
        case types.LiteralType(values=values):
            found = {"type": "string", "enum": [value for value in values if value != ""]}
        case types.VarTupleType(item_type=item, max_length=most):
            found = {"type": "array", "maxItems": most, "items": schema(item), "x-kubernetes-list-type": "atomic"}
        case types.DictType(value_type=value, max_length=most):
            found = {"type": "object", "maxProperties": most, "additionalProperties": schema(value)}
        case types.UnionType(types=members):
            found = _union([member for member in members if not isinstance(member, types.NoneType)])
        case _:
            raise TypeError(f"a schema can't say {type_}")
    return {name: value for name, value in found.items() if value is not None}


def unbounded(part: Schema, path: str = "") -> Iterator[str]:
    """The paths of strings, whole numbers, lists and maps that have no bound, or one that no API server can hold."""
    match part:
        case {"type": "string"}:
            bounded = not part.keys().isdisjoint({"maxLength", "enum"})
        case {"type": "integer"}:
            bounded = part.keys() >= {"minimum", "maximum"} and part["maximum"] <= EXACT_MAX
        case {"type": "array", "items": items}:
            bounded = "maxItems" in part
            yield from unbounded(items, f"{path}[]")
        case {"type": "object", "additionalProperties": value}:
            bounded = "maxProperties" in part
            yield from unbounded(value, f"{path}{{}}")
        case {"type": "object", "properties": properties}:
            bounded = True
            for name, value in properties.items():
                yield from unbounded(value, f"{path}.{name}")
        case _:
            bounded = True
    if not bounded:
        yield path


def _struct(struct: types.StructType) -> Schema:
    docstring = inspect.getdoc(struct.cls) or ""
    words, _, attributes = docstring.partition("\n\nAttributes:\n")
    described = {name: _sentence(text) for name, text in _ATTRIBUTE.findall(attributes)}
    properties = {}
    for field in struct.fields:
        part = schema(field.type)
        if field.name in described:
            part = {"description": described[field.name], **{k: v for k, v in part.items() if k != "description"}}
        if isinstance(field.default, str | int) and field.default:
            part["default"] = field.default
        properties[field.encode_name] = part
    required = [field.encode_name for field in struct.fields if field.required] or None
    return {"description": _sentence(words), "type": "object", "required": required, "properties": properties}


def _union(members: list[types.Type]) -> Schema:
    if {type(member) for member in members} == _AMOUNT_TYPES:
        return dict(AMOUNT)
    (only,) = members
    return schema(only)


def _sentence(text: str) -> str:
    return " ".join(text.split())
