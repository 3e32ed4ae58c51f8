"""The scheduler's configuration file: a document with nothing unknown in it becomes a policy.

Every error names the path into the document; the caller, who has the text, adds the file and the line.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from sky_core.api.instants import duration
from sky_core.expressions import POINTS, SYNONYMS, ExpressionError
from sky_core.model import Duration
from sky_core.plugin import Plugin
from sky_core.policy import Enabled, Policy, compile_policy
from sky_core.settings import Settings

API_VERSION: Final = "config.scheduling.infini-ai.com/v1alpha1"
KIND: Final = "SchedulerConfiguration"

Path = tuple[str | int, ...]


class ConfigurationError(ValueError):
    """A configuration can't be used: `path` says where in the document, `line` and `column` where in an expression."""

    def __init__(self, path: Path, fault: str, *, line: int = 0, column: int = 0) -> None:
        """`fault` says what was found and what was expected."""
        super().__init__(f"{shown(path)}: {fault}" if path else fault)
        self.path = path
        self.fault = fault
        self.line = line
        self.column = column


class Registry(msgspec.Struct, frozen=True):
    """What a configuration may name: plugins (with those enabled by default, in order), and actions."""

    plugins: Mapping[str, Plugin]
    default: Sequence[str]
    actions: Sequence[str]


def read_configuration(document: object, registry: Registry) -> Policy:
    """The policy that a document stands for. What is absent has its default.

    Raises:
        ConfigurationError: Something is unknown, missing or wrong; nothing of the document is used then.
    """
    fields = _mapping((), document)
    _known((), fields, ("apiVersion", "kind", *_SETTINGS, "plugins", "expressions"))
    for key, expected in (("apiVersion", API_VERSION), ("kind", KIND)):
        if fields.get(key) != expected:
            raise ConfigurationError((key,), f"found {fields.get(key)!r}, expected {expected!r}")
    settings: dict[str, Any] = {}
    for key, read in _SETTINGS.items():
        if key in fields:
            settings |= read((key,), fields[key])
    unknown = [name for name in settings.get("actions", ()) if name not in registry.actions]
    if unknown:
        raise ConfigurationError(("actions",), f"unknown action {unknown[0]!r}, expected {', '.join(registry.actions)}")
    plugins = _plugins(fields["plugins"], registry) if "plugins" in fields else None
    enabled = plugins or [Enabled.by_default(registry.plugins[name]) for name in registry.default]
    return _compiled(Settings(**settings), enabled, _expressions(fields.get("expressions", {})))


def shown(path: Path) -> str:
    """A path as people write it: `plugins[2].args`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _compiled(settings: Settings, enabled: Sequence[Enabled], expressions: Mapping[str, tuple[str, str]]) -> Policy:
    texts = {point: text for point, (_, text) in expressions.items()}
    try:
        return compile_policy(settings, enabled, texts)
    except ExpressionError as error:
        key = next(key for key, text in expressions.values() if text == error.text)
        raise ConfigurationError(("expressions", key), error.message, line=error.line, column=error.column) from None


def _plugins(value: object, registry: Registry) -> list[Enabled]:
    found: dict[str, Enabled] = {}
    for at, entry in enumerate(_sequence(("plugins",), value)):
        path: Path = ("plugins", at)
        fields = _mapping(path, entry)
        _known(path, fields, ("name", "args"))
        name = _text((*path, "name"), fields.get("name"))
        if name not in registry.plugins:
            expected = ", ".join(registry.plugins)
            raise ConfigurationError((*path, "name"), f"unknown plugin {name!r}, expected one of {expected}")
        if name in found:
            raise ConfigurationError((*path, "name"), f"plugin {name!r} is named twice")
        found[name] = _enabled(registry.plugins[name], (*path, "args"), fields.get("args"))
    return list(found.values())


def _enabled(plugin: Plugin, path: Path, arguments: object) -> Enabled:
    if arguments is None:
        return Enabled.by_default(plugin)
    if plugin.arguments is None:
        raise ConfigurationError(path, f"plugin {plugin.name!r} takes no arguments")
    try:
        return Enabled(plugin, msgspec.convert(arguments, plugin.arguments))
    except msgspec.ValidationError as error:
        raise ConfigurationError(path, f"plugin {plugin.name!r}: {error}") from None


def _expressions(value: object) -> dict[str, tuple[str, str]]:
    """Point → the key as it is written, and its text."""
    found: dict[str, tuple[str, str]] = {}
    for key, text in _mapping(("expressions",), value).items():
        point = SYNONYMS.get(key, key)
        if point not in POINTS:
            expected = ", ".join((*POINTS, *SYNONYMS))
            raise ConfigurationError(("expressions", key), f"unknown function point, expected one of {expected}")
        if point in found:
            raise ConfigurationError(("expressions", key), f"{found[point][0]} and {key} are one function point")
        found[point] = (key, _text(("expressions", key), text))
    return found


def _mapping(path: Path, value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise ConfigurationError(path, f"found {_kind(value)}, expected a mapping")


def _sequence(path: Path, value: object) -> Sequence[object]:
    if isinstance(value, list):
        return value
    raise ConfigurationError(path, f"found {_kind(value)}, expected a list")


def _text(path: Path, value: object) -> str:
    if isinstance(value, str) and value:
        return value
    raise ConfigurationError(path, f"found {_kind(value)}, expected a text")


def _texts(path: Path, value: object) -> tuple[str, ...]:
    return tuple(_text((*path, at), entry) for at, entry in enumerate(_sequence(path, value)))


def _known(path: Path, fields: Mapping[str, object], names: Sequence[str]) -> None:
    for key in fields:
        if key not in names:
            raise ConfigurationError((*path, key), f"unknown key, expected one of {', '.join(names)}")


def _duration(path: Path, value: object, *, least: int = 0) -> Duration:
    text = _text(path, value)
    try:
        read = duration(text)
    except ValueError as error:
        raise ConfigurationError(path, str(error)) from None
    if read < least:
        raise ConfigurationError(path, f"found {value!r}, expected more than 0s")
    return read


def _spot(path: Path, value: object) -> dict[str, Any]:
    fields = _mapping(path, value)
    _known(path, fields, ("resource", "backedBy"))
    names = {"resource": "spot_resource", "backedBy": "spot_backed_by"}
    return {names[key]: _text((*path, key), text) for key, text in fields.items()}


def _kind(value: object) -> str:
    return "nothing" if value is None or value == "" else f"{type(value).__name__} {str(value)[:64]!r}"


_SETTINGS: Final[Mapping[str, Callable[[Path, object], dict[str, Any]]]] = {
    "schedulerName": lambda path, value: {"scheduler_name": _text(path, value)},
    "period": lambda path, value: {"period": _duration(path, value, least=1)},
    "actions": lambda path, value: {"actions": _texts(path, value)},
    "specLabels": lambda path, value: {"spec_labels": _texts(path, value)},
    "spot": _spot,
    "rdmaResources": lambda path, value: {"rdma_resources": _texts(path, value)},
    "defaultReservation": lambda path, value: {"default_reservation": _duration(path, value)},
    "maxReservation": lambda path, value: {"max_reservation": _duration(path, value)},
}
