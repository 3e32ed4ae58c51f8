"""Writes to objects: each is judged against what is there, and done as a whole or not at all."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from sky_core.model import Instant
from sky_core.simulation.objects import Object, part, text, written
from sky_sandbox.api.bodies import Preconditions, read, seen
from sky_sandbox.api.identities import Identities
from sky_sandbox.api.kinds import Kind, Registry
from sky_sandbox.api.metadata import born, carried
from sky_sandbox.api.refusals import (
    Cause,
    Refusal,
    already_exists,
    bad_request,
    conflict,
    defect,
    forbidden,
    invalid,
    modified,
    not_found,
    unsupported,
)
from sky_sandbox.api.requests import Options
from sky_sandbox.api.storage import Key, Storage, Stored
from sky_sandbox.objects.admission import admitted
from sky_sandbox.objects.case import Case
from sky_sandbox.objects.events import kept
from sky_sandbox.objects.schema_fields import pruned
from sky_sandbox.objects.schemas import mistyped
from sky_sandbox.patches import json_patch, merge, strategic
from sky_sandbox.patches.apply import Owner, Owners, applied, managed_fields, updated
from sky_sandbox.patches.lists import Schema
from sky_shell.transport import APPLY_PATCH, MERGE_PATCH, STRATEGIC_PATCH

JSON_PATCH: Final = "application/json-patch+json"


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """A write that was done: what is there now, and what the client is warned of."""

    stored: Stored
    created: bool = False
    warnings: tuple[str, ...] = ()


class Writer:
    """Writes to a storage. Every method raises a Refusal where an API server would."""

    def __init__(self, storage: Storage, registry: Registry, identities: Identities) -> None:
        """A writer to this storage of objects of these kinds."""
        self.storage = storage
        self.registry = registry
        self._identities = identities

    def found(self, kind: Kind, key: Key) -> Stored:
        """The object of this key."""
        stored = self.storage.find(kind.kept_as, key)
        if stored is None:
            raise not_found(kind.resource, key[1])
        return stored

    def create(self, kind: Kind, namespace: str, raw: Object, options: Options, now: Instant) -> Done:
        """Make an object."""
        said = read(kind, raw, namespace=namespace)
        if text(said["metadata"], "resourceVersion"):
            raise defect("resourceVersion should not be set on objects to be created")
        if "status" in kind.subresources and kind.plural != "nodes":
            said.pop("status", None)
        return self._create(kind, said, options, now, None)

    def update(
        self, kind: Kind, key: Key, raw: Object, options: Options, now: Instant, *, subresource: str = ""
    ) -> Done:
        """Replace an object, or its status."""
        said = read(kind, raw, name=key[1], namespace=key[0])
        version, uid = (said["metadata"].get(name) or None for name in ("resourceVersion", "uid"))
        current = self.storage.find(kind.kept_as, key)
        if current is None and kind.made_by_update:
            if uid is not None:
                raise conflict(kind.resource, key[1], f"Precondition failed: UID in precondition: {uid}")
            return self._create(kind, said, options, now, None)
        current = current or self.found(kind, key)
        if why := Preconditions(uid=uid).broken_by(current.object):
            raise conflict(kind.resource, key[1], why)
        if version is None and kind.conditional:
            why = "Invalid value: 0: must be specified for an update"
            raise invalid(kind.resource, key[1], [Cause("metadata.resourceVersion", why)])
        return self._replace(kind, key, current, said, options, now, subresource=subresource)

    def patch(
        self,
        kind: Kind,
        key: Key,
        change: Any,
        media: str,
        options: Options,
        now: Instant,
        *,
        subresource: str = "",
    ) -> Done:
        """Change an object, or its status, by a patch of this media type."""
        if media == APPLY_PATCH:
            return self._apply(kind, key, change, options, now, subresource)
        _check_media(kind, media)
        current = self.found(kind, key)
        before = seen(kind, current.object)
        said = read(kind, _patched(kind, before, change, media), name=key[1], namespace=key[0], patched=True)
        if not (kind.custom and subresource) and said["metadata"].get("uid") != current.object["metadata"]["uid"]:
            raise invalid(kind.qualified, key[1], [Cause("metadata.uid", "field is immutable")])
        return self._replace(kind, key, current, said, options, now, subresource=subresource, patching=True)

    def put_status(self, kind: Kind, key: Key, status: Object, now: Instant) -> None:
        """Write the status of an object as a part of the cluster would, if that changes it."""
        current = self.found(kind, key)
        if current.object.get("status") != status:
            self.storage.put(kind.kept_as, key, written(current.object, ("status",), status), now)

    def _create(self, kind: Kind, said: dict[str, Any], options: Options, now: Instant, owners: Owners | None) -> Done:
        if kind.unwritable:
            raise unsupported(kind.unwritable)
        metadata = born(kind, said["metadata"], self._identities, now)
        name, namespace = metadata["name"], metadata.get("namespace", "")
        key = (namespace, name)
        if kind.namespaced:
            self._check_namespace(kind, name, namespace)
        case = Case(kind=kind, name=name, now=now, storage=self.storage, validation=options.validation)
        raw = admitted({**said, "metadata": metadata}, case)
        if self.storage.find(kind.kept_as, key):
            raise already_exists(kind.resource, name)
        if owners is not None:
            raw = written(raw, ("metadata", "managedFields"), managed_fields(owners, None, kind.api_version, now))
        return Done(stored=self._put(kind, key, raw, options, now), created=True, warnings=tuple(case.warnings))

    def _check_namespace(self, kind: Kind, name: str, namespace: str) -> None:
        home = self.storage.find("namespaces", ("", namespace))
        if home is None:
            raise not_found("namespaces", namespace)
        if text(part(home.object, "metadata"), "deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            raise forbidden(kind.resource, name, why)

    def _replace(
        self,
        kind: Kind,
        key: Key,
        current: Stored,
        said: dict[str, Any],
        options: Options,
        now: Instant,
        *,
        subresource: str = "",
        patching: bool = False,
        owners: Owners | None = None,
    ) -> Done:
        old = current.object
        version = said["metadata"].get("resourceVersion") or str(current.version)
        if not version.isdigit():
            raise defect(f'strconv.ParseUint: parsing "{version}": invalid syntax')
        if version != str(current.version):
            raise modified(kind.resource, key[1])
        case = Case(
            kind=kind, name=key[1], now=now, storage=self.storage, old=old, validation=options.validation,
            patching=patching,
        )  # fmt: skip
        new: Object
        if subresource == "status":
            new = written({**old, "metadata": self._status_metadata(kind, old, said)}, ("status",), said.get("status"))
        else:
            new = {**said, "metadata": carried(kind, old["metadata"], said["metadata"])}
            if "status" in kind.subresources:
                new = written(new, ("status",), old.get("status"))
        if kind.custom or not subresource:
            new = admitted(dict(new), case)
        if kind.counted and not subresource and _content(kind, new) != _content(kind, old):
            new = written(new, ("metadata", "generation"), old["metadata"].get("generation", 0) + 1)
        if owners is None and old["metadata"].get("managedFields"):
            owners = updated(old, new, Owner(options.manager, "Update", subresource), kind.schema)
        if owners is not None:
            new = written(new, ("metadata", "managedFields"), managed_fields(owners, old, kind.api_version, now))
        warnings = tuple(case.warnings)
        if new == old:
            return Done(stored=current, warnings=warnings)
        return Done(stored=self._put(kind, key, new, options, now), warnings=warnings)

    def _status_metadata(self, kind: Kind, old: Object, said: Object) -> Object:
        """Of custom kinds a write of the status leaves the metadata; of core kinds it may change labels and such."""
        metadata: Object = old["metadata"]
        return metadata if kind.custom else carried(kind, metadata, said["metadata"])

    def _apply(self, kind: Kind, key: Key, change: Any, options: Options, now: Instant, subresource: str) -> Done:
        if options.manager == "unknown":
            cause = Cause("fieldManager", "is required for apply patch", "FieldValueRequired")
            raise invalid("PatchOptions.meta.k8s.io", "", [cause])
        if not isinstance(change, dict) or _type_of(change) != (kind.api_version, kind.kind):
            raise bad_request("invalid object type")
        if wrong := next(mistyped(kept(kind, change), kind.schema), ""):
            raise defect(f"failed to create typed patch object: {wrong}: it is of another type")
        said = read(kind, change, name=key[1], namespace=key[0], applied=True)
        if said["metadata"].get("managedFields"):
            raise bad_request("metadata.managedFields must be nil")
        if kind.custom and (lost := pruned(said, kind.schema)[1]):
            raise defect(f"failed to create typed patch object: .{lost[0]}: field not declared in schema")
        if subresource:
            said = {"metadata": said["metadata"], **{n: said[n] for n in (subresource,) if n in said}}
        elif "status" in kind.subresources:
            said.pop("status", None)
        current = self.storage.find(kind.kept_as, key)
        if current is None and subresource:
            raise not_found(kind.resource, key[1])
        owner = Owner(options.manager, "Apply", subresource)
        live = current.object if current else None
        new, owners = applied(live, said, owner, kind.schema, force=options.force)
        if current is None:
            return self._create(kind, dict(new), options, now, owners)
        if said["metadata"].get("uid", current.object["metadata"]["uid"]) != current.object["metadata"]["uid"]:
            raise invalid(kind.qualified, key[1], [Cause("metadata.uid", "field is immutable")])
        version = said["metadata"].get("resourceVersion", str(current.version))
        new = written(new, ("metadata", "resourceVersion"), version)
        return self._replace(
            kind, key, current, dict(new), options, now, subresource=subresource, patching=True, owners=owners
        )

    def _put(self, kind: Kind, key: Key, raw: Object, options: Options, now: Instant) -> Stored:
        """Keep an object; or let it go, if a deletion waited for nothing but its finalizers."""
        if options.dry_run:
            return Stored(raw, self.storage.version)
        metadata = raw["metadata"]
        waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        if metadata.get("deletionTimestamp") and not waits and kind.plural != "namespaces":
            self.storage.remove(kind.kept_as, key, now)
            return Stored(raw, self.storage.version)
        return self.storage.put(kind.kept_as, key, raw, now)


def _type_of(raw: Object) -> tuple[str, str]:
    return text(raw, "apiVersion"), text(raw, "kind")


def _check_media(kind: Kind, media: str) -> None:
    if media not in _PATCHES or (kind.custom and media == STRATEGIC_PATCH):
        listed = ", ".join(
            known for known in (*_PATCHES, APPLY_PATCH) if not (kind.custom and known == STRATEGIC_PATCH)
        )
        why = f"the body of the request was in an unknown format - accepted media types include: {listed}"
        raise Refusal(415, "UnsupportedMediaType", why)


def _patched(kind: Kind, before: dict[str, Any], change: Any, media: str) -> dict[str, Any]:
    if media != JSON_PATCH and not isinstance(change, dict):
        raise bad_request("error decoding patch: it is no object")
    result = _PATCHES[media](before, change, kind.schema)
    if not isinstance(result, dict) or not isinstance(result.get("metadata"), dict):
        raise bad_request("the patch leaves no object")
    return result


def _json_patched(before: dict[str, Any], change: Any, _: Schema) -> Any:
    if not isinstance(change, list):
        raise bad_request("error decoding patch: it is no list of operations")
    try:
        return json_patch.patched(before, change)
    except json_patch.PatchError as error:
        message = f"the server rejected our request due to an error in our request: {error}"
        raise Refusal(422, "Invalid", message) from None


_PATCHES: Final[Mapping[str, Callable[[dict[str, Any], Any, Schema], Any]]] = {
    JSON_PATCH: _json_patched,
    MERGE_PATCH: lambda before, change, _: merge.merged(before, change),
    STRATEGIC_PATCH: strategic.merged,
}


def _content(kind: Kind, raw: Object) -> Any:
    """What `metadata.generation` counts changes of."""
    if not kind.custom:
        return raw.get("spec")
    return {name: value for name, value in raw.items() if name not in {"metadata", "status"}}
