"""Bounds of the fields of our own kinds.

They hold for whoever reads an object; what is in `extra_json_schema` is asked by the API server alone.
"""

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from sky_core.api.wire.meta import Amounts, Condition

NAMES: Final = {
    "x-kubernetes-validations": [
        {
            "rule": "self.all(key, key.matches('^[A-Za-z0-9]([-A-Za-z0-9_./]{0,315}[A-Za-z0-9])?$'))",
            "message": "each key must be a name of letters, digits and -_./, at most 317 characters",
        }
    ]
}
"""What a schema has no word for: the keys of a map that people write."""

MAGNITUDE: Final = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{1,2}))?"
"""Of a quantity: all but its sign. The exponent is short because older API servers compute `1e99999999` for ever."""

SIGNED: Final = {
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
        "maxLength": 32,
        "pattern": f"^[+-]?{MAGNITUDE}$",
    }
}
"""Of a map of amounts: they may be negative."""

Name = Annotated[str, Meta(max_length=253)]
Label = Annotated[str, Meta(max_length=63)]
Time = Annotated[str, Meta(max_length=64, extra_json_schema={"format": "date-time"})]
Text = Annotated[str, Meta(max_length=1024)]
Sums: TypeAlias = Annotated[Amounts, Meta(max_length=64)]
Bounded: TypeAlias = Annotated[Amounts, Meta(max_length=16)]
Left: TypeAlias = Annotated[Bounded, Meta(extra_json_schema=SIGNED)]
"""What is left of something: less than nothing where it has shrunk."""
Request: TypeAlias = Annotated[Bounded, Meta(extra_json_schema=NAMES)]
BySpec: TypeAlias = Annotated[dict[str, Bounded], Meta(max_length=64)]
Conditions: TypeAlias = Annotated[
    tuple[Condition, ...],
    Meta(
        max_length=16,
        extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
]
