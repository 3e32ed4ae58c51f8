"""The few messages that kubectl sends as protobuf whatever a server prefers: what `create` makes, and evictions.

The field numbers are those of the generated.proto files of k8s.io/api and k8s.io/apimachinery.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from sky_sandbox.api.refusals import bad_request, unsupported

MAGIC: Final = b"k8s\x00"


class _Field(NamedTuple):
    """How a field is read: as `text`, `int`, `bool`, `map`, or as a message; `many` of them or one."""

    name: str
    of: "str | _Message"
    many: bool = False


_Message: TypeAlias = Mapping[int, _Field]

_METADATA: Final[_Message] = {
    1: _Field("name", "text"), 2: _Field("generateName", "text"), 3: _Field("namespace", "text"),
    4: _Field("selfLink", "text"), 5: _Field("uid", "text"), 6: _Field("resourceVersion", "text"),
    7: _Field("generation", "int"), 8: _Field("creationTimestamp", {}), 11: _Field("labels", "map"),
    12: _Field("annotations", "map"), 14: _Field("finalizers", "text", many=True),
}  # fmt: skip
_SELECTOR: Final[_Message] = {
    1: _Field("matchLabels", "map"),
    2: _Field(
        "matchExpressions",
        {1: _Field("key", "text"), 2: _Field("operator", "text"), 3: _Field("values", "text", many=True)},
        many=True,
    ),
}
_AMOUNT: Final[_Message] = {1: _Field("type", "int"), 2: _Field("intVal", "int"), 3: _Field("strVal", "text")}
_BUDGET: Final[_Message] = {
    1: _Field("minAvailable", _AMOUNT), 2: _Field("selector", _SELECTOR), 3: _Field("maxUnavailable", _AMOUNT),
    4: _Field("unhealthyPodEvictionPolicy", "text"),
}  # fmt: skip
_DELETE_OPTIONS: Final[_Message] = {
    1: _Field("gracePeriodSeconds", "int"),
    2: _Field("preconditions", {1: _Field("uid", "text"), 2: _Field("resourceVersion", "text")}),
    4: _Field("propagationPolicy", "text"),
    5: _Field("dryRun", "text", many=True),
}
_EMPTY: Final[_Message] = {1: _Field("phase", "text")}
_ZEROES: Final[_Message] = {number: _Field(str(number), "int") for number in (1, 3, 4, 5, 6)}

MESSAGES: Final[Mapping[tuple[str, str], _Message]] = {
    ("v1", "Namespace"): {1: _Field("metadata", _METADATA), 2: _Field("spec", {}), 3: _Field("status", _EMPTY)},
    ("v1", "ConfigMap"): {1: _Field("metadata", _METADATA), 2: _Field("data", "map")},
    ("scheduling.k8s.io/v1", "PriorityClass"): {
        1: _Field("metadata", _METADATA), 2: _Field("value", "int"), 3: _Field("globalDefault", "bool"),
        4: _Field("description", "text"), 5: _Field("preemptionPolicy", "text"),
    },
    ("policy/v1", "PodDisruptionBudget"): {
        1: _Field("metadata", _METADATA), 2: _Field("spec", _BUDGET), 3: _Field("status", _ZEROES),
    },
    ("policy/v1", "Eviction"): {1: _Field("metadata", _METADATA), 2: _Field("deleteOptions", _DELETE_OPTIONS)},
    ("meta.k8s.io/v1", "DeleteOptions"): _DELETE_OPTIONS,
    ("v1", "DeleteOptions"): _DELETE_OPTIONS,
}  # fmt: skip


def decode(body: bytes) -> dict[str, Any]:
    """The object that a body says.

    Raises:
        Refusal: It is malformed, or of a kind or with a field that is not known here.
    """
    if not body.startswith(MAGIC):
        raise bad_request("the body is no protobuf of Kubernetes")
    try:
        envelope = dict(_fields(body[len(MAGIC) :]))
        said = {number: bytes(text).decode() for number, text in _fields(envelope[1])}
        kind = (said.get(1, ""), said.get(2, ""))
        if kind not in MESSAGES:
            raise unsupported(f"read {kind[1]} of {kind[0]} as protobuf; send JSON, as `kubectl create -f` does")
        return {"apiVersion": kind[0], "kind": kind[1], **_message(envelope[2], MESSAGES[kind])}
    except (IndexError, KeyError, TypeError, UnicodeDecodeError):
        raise bad_request("the body is no protobuf of Kubernetes") from None


def _message(data: Any, fields: _Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        if number not in fields:
            if not fields:
                continue
            raise unsupported(f"read field {number} of this protobuf; send JSON")
        field = fields[number]
        if field.of == "map":
            pair = {1: b"", 2: b"", **dict(_fields(value))}
            found.setdefault(field.name, {})[bytes(pair[1]).decode()] = bytes(pair[2]).decode()
        elif field.many:
            found.setdefault(field.name, []).append(_value(value, field.of))
        else:
            found[field.name] = _value(value, field.of)
    return {name: value for name, value in found.items() if value != ""}


def _value(value: Any, of: str | _Message) -> Any:
    if of == "text":
        return bytes(value).decode()
    if of == "int":
        return value - 2**64 if value >= 2**63 else value
    if isinstance(of, str):
        return bool(value)
    found = _message(value, of)
    if of is _AMOUNT:
        return found["strVal"] if found.get("type") else found.get("intVal", 0)
    return found


def _fields(data: Any) -> Iterator[tuple[int, Any]]:
    """The fields of a message, in order: numbers as they are, everything else as bytes."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, position = _varint(data, position)
            yield number, value
        elif wire == 2:
            length, position = _varint(data, position)
            if position + length > len(data):
                raise IndexError
            yield number, data[position : position + length]
            position += length
        else:
            raise TypeError


def _varint(data: Any, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, position
