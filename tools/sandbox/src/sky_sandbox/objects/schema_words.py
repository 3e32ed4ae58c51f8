"""The words of structural schemas that the sandbox knows, OpenAPI's and Kubernetes' own, and what each may say."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta

from sky_sandbox.objects.rules import RULES, TRANSITIONS

Schema: TypeAlias = Mapping[str, Any]
Count = Annotated[int, Meta(ge=0)]

PREFIX: Final = "x-kubernetes-"
FORMATS: Final = frozenset({"date-time", "int32", "int64"})


class Rule(msgspec.Struct, frozen=True, rename="camel"):
    """A CEL rule. Without a message the rule itself is it."""

    rule: str
    message: str = ""
    reason: str = ""
    field_path: str = ""


class Words(msgspec.Struct, frozen=True, kw_only=True, rename={
    "additional_properties": "additionalProperties", "all_of": "allOf", "any_of": "anyOf",
    "max_items": "maxItems", "max_length": "maxLength", "max_properties": "maxProperties",
    "min_items": "minItems", "min_length": "minLength", "min_properties": "minProperties",
    "int_or_string": f"{PREFIX}int-or-string", "map_keys": f"{PREFIX}list-map-keys", "list_type": f"{PREFIX}list-type",
    "map_type": f"{PREFIX}map-type", "open": f"{PREFIX}preserve-unknown-fields", "rules": f"{PREFIX}validations",
}):  # fmt: skip
    """A schema that is well formed. There may be other words in it."""

    type: Literal["object", "array", "string", "boolean", "integer", "number"] = "object"
    properties: "dict[str, Words]" = {}
    additional_properties: "Words | bool | None" = None
    items: "Words | None" = None
    all_of: "tuple[Words, ...]" = ()
    any_of: "tuple[Words, ...]" = ()
    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] = ()
    default: Any = None
    nullable: bool = False
    format: str = ""
    pattern: str = ""
    maximum: float | None = None
    minimum: float | None = None
    max_items: Count | None = None
    min_items: Count | None = None
    max_length: Count | None = None
    min_length: Count | None = None
    max_properties: Count | None = None
    min_properties: Count | None = None
    int_or_string: bool = False
    list_type: Literal["atomic", "set", "map"] = "atomic"
    map_keys: tuple[str, ...] = ()
    map_type: Literal["atomic", "granular"] = "granular"
    open: bool = False
    rules: tuple[Rule, ...] = ()
    description: str = ""
    title: str = ""


KNOWN: Final = frozenset(field.encode_name for field in msgspec.structs.fields(Words))


def unknown_words(schema: Schema, at: str = "") -> Iterator[str]:
    """What the sandbox cannot judge by in a well-formed schema, each with its place."""
    where = at or "the root"
    yield from (f"{word} at {where}" for word in schema if word not in KNOWN)
    if schema.get("format") and schema["format"] not in FORMATS:
        yield f"the format {schema['format']} at {where}"
    if not _compiles(schema.get("pattern", "")):
        yield f"the pattern {schema['pattern']!r} at {where}"
    for rule in schema.get(f"{PREFIX}validations", ()):
        if rule["rule"] not in RULES and (at or rule["rule"] not in TRANSITIONS):
            yield f"the CEL rule {rule['rule']!r} at {where}"
    inside = {f".{name}": inner for name, inner in schema.get("properties", {}).items()}
    inside |= {f"{{{word}}}": schema[word] for word in ("items", "additionalProperties") if word in schema}
    inside |= {f"{{{word}[{i}]}}": one for word in ("allOf", "anyOf") for i, one in enumerate(schema.get(word, ()))}
    for name, inner in inside.items():
        if isinstance(inner, Mapping):
            yield from unknown_words(inner, f"{at}{name}")


def untyped(schema: Schema, at: str = "") -> Iterator[str]:
    """The places in a schema where a type is wanted and none is said."""
    if not (
        schema.get("type") or schema.get(f"{PREFIX}int-or-string") or schema.get(f"{PREFIX}preserve-unknown-fields")
    ):
        yield at
    inside = {f".properties[{name}]": inner for name, inner in schema.get("properties", {}).items()}
    inside |= {f".{word}": schema[word] for word in ("items", "additionalProperties") if word in schema}
    for name, inner in inside.items():
        if isinstance(inner, Mapping):
            yield from untyped(inner, f"{at}{name}")


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern, re.ASCII)
    except re.error:
        return False
    return True
