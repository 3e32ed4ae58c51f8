"""CustomResourceDefinitions: which the sandbox can serve, and the kinds that they make."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from sky_core.simulation.objects import written
from sky_sandbox.api.kinds import Column, Kind
from sky_sandbox.api.refusals import Cause, Refusal, unsupported
from sky_sandbox.objects.case import Case, Object
from sky_sandbox.objects.core_schemas import PLAIN
from sky_sandbox.objects.schema_words import Words, unknown_words, untyped
from sky_sandbox.views.json_paths import find

RESOURCE: Final = "customresourcedefinitions.apiextensions.k8s.io"
_SCHEMA: Final = "spec.validation.openAPIV3Schema"
"""Where Kubernetes says that something is wrong with the schema of the only version."""

_LACKS: Final = "Object missing required field "
_METADATA: Final = {**PLAIN["properties"]["metadata"], "x-kubernetes-preserve-unknown-fields": True}


class _Names(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    plural: str
    kind: str
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class _Column(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    type: Literal["integer", "number", "string", "boolean", "date"]
    json_path: str
    priority: int = 0


class _Field(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    json_path: str


class _Schema(msgspec.Struct, frozen=True, kw_only=True):
    words: Words = msgspec.field(name="openAPIV3Schema")


class _Version(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    served: bool
    storage: bool
    schema: _Schema
    subresources: Mapping[str, Any] | None = None
    additional_printer_columns: tuple[_Column, ...] = ()
    selectable_fields: tuple[_Field, ...] = ()


class _Spec(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    group: str
    scope: Literal["Cluster", "Namespaced"]
    names: _Names
    versions: tuple[_Version, ...]


def admit(raw: dict[str, Any], case: Case) -> Object:
    """A definition with its defaults.

    Raises:
        Refusal: It is malformed; or it asks for what the sandbox does not do.
    """
    try:
        spec = msgspec.convert(raw.get("spec"), _Spec)
    except msgspec.ValidationError as error:
        raise _malformed(str(error), case) from None
    if case.name != f"{spec.names.plural}.{spec.group}":
        raise case.invalid_at("metadata.name", f"must be {spec.names.plural}.{spec.group}")
    if len(spec.versions) != 1:
        raise unsupported("serve a custom kind in any number of versions but one")
    _check_version(spec.versions[0], raw["spec"]["versions"][0]["schema"]["openAPIV3Schema"], case)
    kind = spec.names.kind
    names = {"singular": kind.lower(), "listKind": f"{kind}List", **raw["spec"]["names"]}
    full = {"conversion": {"strategy": "None"}, **raw["spec"], "names": names}
    if case.old:
        return {**raw, "spec": full}
    return {**raw, "spec": full, "status": {"conditions": [], "storedVersions": [spec.versions[0].name]}}


def _malformed(error: str, case: Case) -> Refusal:
    """What a definition that does not convert is refused with."""
    what, _, where = error.removesuffix("`").partition(" - at `$")
    at = f"spec{where}"
    if lacking := what.removeprefix(_LACKS) if what.startswith(_LACKS) else "":
        return case.invalid_at(f"{at}.{lacking.strip('`')}", "Required value", "FieldValueRequired")
    if what.startswith("Invalid enum value"):
        return case.invalid_at(at, f"Unsupported value: {what}", "FieldValueNotSupported")
    return case.unreadable(f"{at}: {what}")


def _check_version(version: _Version, schema: Mapping[str, Any], case: Case) -> None:
    if bare := [f"{_SCHEMA}{at}.type" for at in untyped(schema)]:
        raise case.invalid(*(Cause(at, "Required value: must not be empty", "FieldValueRequired") for at in bare))
    if version.schema.words.type != "object":
        raise case.invalid_at(f"{_SCHEMA}.type", "must be object at the root")
    if not (version.served and version.storage):
        raise unsupported("have a custom kind that is not served, or not stored")
    if unknown := list(unknown_words(schema)):
        raise unsupported(f"judge by {'; '.join(unknown)}")
    if beyond := set(version.subresources or ()) - {"status"}:
        raise unsupported(f"serve the subresources {', '.join(sorted(beyond))} of custom kinds")
    for column in version.additional_printer_columns:
        try:
            find(column.json_path, {})
        except ValueError as error:
            raise unsupported(f"print a column: {error}") from None


def kind_of(raw: Object) -> Kind:
    """The kind that an admitted definition makes."""
    spec = msgspec.convert(raw["spec"], _Spec)
    names, (version,) = spec.names, spec.versions
    schema = raw["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return Kind(
        group=spec.group,
        version=version.name,
        plural=names.plural,
        kind=names.kind,
        singular=names.singular,
        namespaced=spec.scope == "Namespaced",
        short_names=names.short_names,
        categories=names.categories,
        subresources=tuple(version.subresources or ()),
        fields=tuple(field.json_path.lstrip(".") for field in version.selectable_fields),
        columns=tuple(
            Column(name=one.name, path=one.json_path, type=one.type, wide=one.priority > 0)
            for one in version.additional_printer_columns
        ),
        schema={**schema, "properties": {**schema.get("properties", {}), "metadata": _METADATA}},
        custom=True,
        conditional=True,
        counted=True,
    )


def established(raw: Object, now: str) -> Object:
    """A definition whose kind is served."""
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    spec = raw["spec"]
    stored = [spec["versions"][0]["name"]]
    status = {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}
    return written(raw, ("status",), status)
