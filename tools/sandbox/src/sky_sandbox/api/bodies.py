"""Objects as clients send them and as the storage keeps them: without what their kind knows, in its words."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.simulation.objects import Object, part, text
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.refusals import Cause, Refusal, bad_request, invalid, unsupported
from sky_sandbox.api.requests import Request
from sky_sandbox.objects.core_schemas import PLAIN
from sky_sandbox.objects.events import kept, viewed
from sky_sandbox.objects.schema_fields import canonical, without_nulls
from sky_sandbox.objects.schemas import WRONG_TYPE, faults


def read(
    kind: Kind,
    raw: Mapping[str, Any],
    *,
    name: str = "",
    namespace: str = "",
    patched: bool = False,
    applied: bool = False,
) -> dict[str, Any]:
    """A client's object as the storage would keep it.

    `patched`: it is what a patch has made of the one there was. `applied`: it is what somebody applies, nulls and all.

    Raises:
        Refusal: It is of another kind than its path says, of another name or namespace, or has a field of a wrong type.
    """
    _check_kind(kind, raw, patched=patched)
    metadata = part(raw, "metadata")
    if name and metadata.get("name") != name:
        said = metadata.get("name")
        raise bad_request(f"the name of the object ({said}) does not match the name on the URL ({name})")
    if kind.namespaced:
        if metadata.get("namespace") not in {None, "", namespace}:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        metadata = {**metadata, "namespace": namespace}
    bare = {key: value for key, value in raw.items() if key not in {"apiVersion", "kind"}}
    bare["metadata"] = _as_go_has_it(metadata)
    if kind.custom:
        found: dict[str, Any] = bare if applied else without_nulls(bare, kind.schema)
    else:
        found = dict(kept(kind, _as_go_has_it(bare)))
    known = PLAIN if kind.custom else kind.schema
    wrong = [cause for cause in faults(found, known) if cause.type == WRONG_TYPE]
    if wrong:
        raise _unreadable(kind, wrong[0].message, patched=patched)
    return found if kind.custom else dict(canonical(found, kind.schema))


def _check_kind(kind: Kind, raw: Mapping[str, Any], *, patched: bool) -> None:
    """Of a core kind an object need not say what it is."""
    said = text(raw, "apiVersion"), text(raw, "kind")
    wanted = kind.api_version, kind.kind
    wrong = [i for i in (0, 1) if said[i] != wanted[i] and (said[i] or kind.custom)]
    if not wrong:
        return
    if kind.custom and all(said):
        causes = [Cause(("apiVersion", "kind")[i], f'Invalid value: "{said[i]}": must be {wanted[i]}') for i in wrong]
        group = said[0].rpartition("/")[0]
        raise invalid(f"{said[1]}.{group}", text(part(raw, "metadata"), "name"), causes)
    why = f"the API version and kind in the data {said} do not match the expected {wanted}"
    raise _unreadable(kind, why, patched=patched)


def _unreadable(kind: Kind, why: str, *, patched: bool) -> Refusal:
    if patched:
        return invalid("", "", [Cause("patch", f"Invalid value: {why}")])
    return bad_request(f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}')


def seen(kind: Kind, raw: Object) -> dict[str, Any]:
    """A stored object as clients see it."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **viewed(kind, raw)}


class Preconditions(msgspec.Struct, frozen=True, rename="camel"):
    """What must be true of an object for a write to be done."""

    uid: str | None = None
    resource_version: str | None = None

    def broken_by(self, raw: Object) -> str:
        """What is not true of it; empty if all is."""
        metadata = raw["metadata"]
        for field, wanted in (("UID", self.uid), ("ResourceVersion", self.resource_version)):
            has = metadata["uid" if field == "UID" else "resourceVersion"]
            if wanted is not None and wanted != has:
                return f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {has}"
        return ""


class DeleteOptions(msgspec.Struct, frozen=True, rename="camel"):
    """How an object is to be deleted; seconds of grace as its kind has them if none are given."""

    grace_period_seconds: int | None = None
    preconditions: Preconditions = Preconditions()
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()

    @property
    def is_trial(self) -> bool:
        """Whether it shall only be looked at what would happen."""
        return bool(self.dry_run)


def delete_options(request: Request) -> DeleteOptions:
    """The options of a deletion: the body, and the query where the body has none.

    Raises:
        Refusal: They cannot be read, or the garbage collector is asked for.
    """
    query = {name: request.query[name] for name in ("propagationPolicy",) if request.query.get(name)}
    if request.query.get("gracePeriodSeconds"):
        query["gracePeriodSeconds"] = request.query["gracePeriodSeconds"]
    if request.query.get("dryRun"):
        return converted({**query, "dryRun": [request.query["dryRun"]]})
    return converted(query | (request.json_object() if request.body else {}))


def converted(raw: Mapping[str, Any]) -> DeleteOptions:
    """The options that an object states.

    Raises:
        Refusal: It is none, or the garbage collector is asked for.
    """
    try:
        found = msgspec.convert({k: v for k, v in raw.items() if v is not None}, DeleteOptions, strict=False)
    except msgspec.ValidationError as error:
        raise bad_request(f"DeleteOptions: {error}") from None
    if found.propagation_policy == "Foreground":
        raise unsupported("collect garbage, so a deletion cannot wait for dependents; use --cascade=background")
    return found


def _as_go_has_it(value: Any, name: str = "") -> Any:
    """What Go keeps of a value: no nulls, no empty lists; among texts by name a null is an empty text."""
    if name == _RAW:
        return value
    if isinstance(value, dict):
        if name in _TEXTS_BY_NAME:
            return {key: "" if inner is None else inner for key, inner in value.items()}
        return {key: _as_go_has_it(inner, key) for key, inner in value.items() if inner is not None and inner != []}
    if isinstance(value, list):
        return [_as_go_has_it(inner) for inner in value]
    return value


_RAW: Final = "openAPIV3Schema"
"""In a definition's schema an empty list may be a default."""

_TEXTS_BY_NAME: Final = frozenset({"labels", "annotations", "matchLabels", "nodeSelector", "data"})
