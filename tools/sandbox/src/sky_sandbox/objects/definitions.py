"""CustomResourceDefinitions: which the sandbox can serve, and the kinds that they make."""

from collections.abc import Mapping
from typing import Any, Final

from sky_core.simulation.objects import part, text, written
from sky_sandbox.api.kinds import Column, Kind
from sky_sandbox.api.refusals import Cause, unsupported
from sky_sandbox.objects.case import Case, Object
from sky_sandbox.objects.core_schemas import PLAIN
from sky_sandbox.objects.rules import TRANSITIONS
from sky_sandbox.objects.schemas import faults, filled, pruned, unknown_words
from sky_sandbox.views.json_paths import find

RESOURCE: Final = "customresourcedefinitions.apiextensions.k8s.io"
_METADATA: Final = {**PLAIN["properties"]["metadata"], "x-kubernetes-preserve-unknown-fields": True}


def admit(raw: dict[str, Any], case: Case) -> Object:
    """A definition with its defaults.

    Raises:
        Refusal: It is malformed; or it asks for what the sandbox does not do.
    """
    spec = part(raw, "spec")
    names, versions = part(spec, "names"), spec.get("versions")
    missing = [f"spec.names.{name}" for name in ("plural", "kind") if not text(names, name)]
    missing += [f"spec.{name}" for name in ("group", "scope") if not text(spec, name)]
    if missing or not isinstance(versions, list) or not versions:
        raise case.invalid(*(Cause(at, "Required value", "FieldValueRequired") for at in missing or ["spec.versions"]))
    if case.name != f"{names['plural']}.{spec['group']}":
        raise case.invalid_at("metadata.name", f"must be {names['plural']}.{spec['group']}")
    if len(versions) > 1:
        raise unsupported("serve a custom kind in more than one version")
    _check_version(versions[0], case)
    named = {"singular": names["kind"].lower(), "listKind": f"{names['kind']}List", **names}
    spec = {"conversion": {"strategy": "None"}, **spec, "names": named}
    return {**raw, "spec": spec} if case.old else {**raw, "spec": spec, "status": {"conditions": []}}


def _check_version(version: Mapping[str, Any], case: Case) -> None:
    schema = part(version, "schema", "openAPIV3Schema")
    if schema.get("type") != "object":
        raise case.invalid_at("spec.versions[0].schema.openAPIV3Schema.type", "must be object at the root")
    if not (version.get("served") and version.get("storage")):
        raise unsupported("have a custom kind that is not served, or not stored")
    if unknown := list(unknown_words(schema)):
        raise unsupported(f"judge by {'; '.join(unknown)}")
    if beyond := set(version.get("subresources") or {}) - {"status"}:
        raise unsupported(f"serve the subresources {', '.join(sorted(beyond))} of custom kinds")
    for column in version.get("additionalPrinterColumns", ()):
        try:
            find(column["jsonPath"], {})
        except ValueError as error:
            raise unsupported(f"print a column: {error}") from None


def kind_of(raw: Object) -> Kind:
    """The kind that an admitted definition makes."""
    spec = raw["spec"]
    names, (version,) = spec["names"], spec["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    fields = tuple(one["jsonPath"].lstrip(".") for one in version.get("selectableFields", ()))
    columns = tuple(
        Column(name=one["name"], path=one["jsonPath"], type=one["type"], wide=one.get("priority", 0) > 0)
        for one in version.get("additionalPrinterColumns", ())
    )
    return Kind(
        group=spec["group"],
        version=version["name"],
        plural=names["plural"],
        kind=names["kind"],
        singular=names["singular"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        subresources=tuple(version.get("subresources") or ()),
        fields=fields,
        columns=columns,
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


def admit_custom(raw: dict[str, Any], case: Case) -> Object:
    """An object of a custom kind: pruned, with defaults, and judged by schema and rules.

    Raises:
        Refusal: It is not as its definition wants it.
    """
    schema = case.kind.schema
    kept, lost = pruned(raw, schema)
    said = [f'unknown field "{path}"' for path in lost]
    if said and case.validation == "Strict":
        if case.patching:
            raise case.invalid(*(Cause("patch", f"Invalid value: strict decoding error: {one}") for one in said))
        raise case.unreadable(f"strict decoding error: {', '.join(said)}")
    if case.validation != "Ignore":
        case.warnings += said
    full: dict[str, Any] = filled(kept, schema)
    if causes := list(faults(full, schema)):
        raise case.invalid(*causes)
    if case.old is not None:
        for rule in schema.get("x-kubernetes-validations", ()):
            if rule["rule"] in TRANSITIONS and not TRANSITIONS[rule["rule"]](full, case.old):
                raise case.invalid_at("", f"Invalid value: {rule.get('message', rule['rule'])}")
    return full
