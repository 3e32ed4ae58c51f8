"""JSON patch (RFC 6902): operations one after the other, all or none."""

from collections.abc import Callable, Mapping
from typing import Any, Final


class PatchError(ValueError):
    """An operation that cannot be carried out on this value."""


def patched(value: Any, operations: list[Any]) -> Any:
    """The value after these operations; what was given is left as it is.

    Raises:
        PatchError: One is malformed, leads nowhere, or is a test that fails.
    """
    for operation in operations:
        if not isinstance(operation, dict) or operation.get("op") not in _OPERATIONS:
            raise PatchError(f"unexpected kind of operation: {operation!r}")
        value = _OPERATIONS[operation["op"]](value, operation)
    return value


def _add(value: Any, operation: Mapping[str, Any]) -> Any:
    return _put(value, _path(operation, "path"), _value(operation), insert=True)


def _replace(value: Any, operation: Mapping[str, Any]) -> Any:
    """As in the library of the API server, what is not there in a map is replaced too."""
    return _put(value, _path(operation, "path"), _value(operation), insert=False)


def _remove(value: Any, operation: Mapping[str, Any]) -> Any:
    return _without(value, _path(operation, "path"))


def _copy(value: Any, operation: Mapping[str, Any]) -> Any:
    return _put(value, _path(operation, "path"), _get(value, _path(operation, "from")), insert=True)


def _move(value: Any, operation: Mapping[str, Any]) -> Any:
    source = _path(operation, "from")
    return _put(_without(value, source), _path(operation, "path"), _get(value, source), insert=True)


def _test(value: Any, operation: Mapping[str, Any]) -> Any:
    path = _path(operation, "path")
    if _get(value, path, absent=None) != operation.get("value"):
        raise PatchError(f"testing value {operation['path']} failed")
    return value


_OPERATIONS: Final[Mapping[object, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "add": _add, "replace": _replace, "remove": _remove, "copy": _copy, "move": _move, "test": _test,
}  # fmt: skip
_NEEDED: Final = object()


def _path(operation: Mapping[str, Any], name: str) -> list[str]:
    pointer = operation.get(name)
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise PatchError(f"{name} {pointer!r} is no JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _value(operation: Mapping[str, Any]) -> Any:
    if "value" not in operation:
        raise PatchError("the operation has no value")
    return operation["value"]


def _get(value: Any, path: list[str], absent: Any = _NEEDED) -> Any:
    for name in path:
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and _is_index(name, len(value) - 1):
            value = value[int(name)]
        elif absent is _NEEDED:
            raise PatchError(f"/{'/'.join(path)} leads nowhere")
        else:
            return absent
    return value


def _put(value: Any, path: list[str], new: Any, *, insert: bool) -> Any:
    """A copy with something new at a path; in a list it pushes the others on, if it is an insertion."""
    if not path:
        return new
    name, *rest = path
    if isinstance(value, list):
        last = len(value) if insert and not rest else len(value) - 1
        if name == "-" and insert and not rest:
            return [*value, new]
        if _is_index(name, last):
            index = int(name)
            inner = new if not rest else _put(value[index], rest, new, insert=insert)
            return [*value[:index], inner, *value[index + (bool(rest) or not insert) :]]
    elif isinstance(value, dict) and (not rest or name in value):
        return {**value, name: new if not rest else _put(value[name], rest, new, insert=insert)}
    raise PatchError(f"/{'/'.join(path)} leads nowhere")


def _without(value: Any, path: list[str]) -> Any:
    if not path:
        raise PatchError("the whole document cannot be removed")
    name, *rest = path
    inner = _get(value, [name])
    if rest:
        return _put(value, [name], _without(inner, rest), insert=False)
    if isinstance(value, list):
        return [*value[: int(name)], *value[int(name) + 1 :]]
    return {key: kept for key, kept in value.items() if key != name}


def _is_index(name: str, last: int) -> bool:
    return name.isascii() and name.isdigit() and int(name) <= last
