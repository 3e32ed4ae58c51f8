"""Server-side apply: what an applier says is there, what it says no more goes, and nobody loses a field unawares.

Owners are written down from an object's first apply on. What was there before is then owned by `before-first-apply`, as
on a cluster where nobody had kept them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from sky_core.model import Instant
from sky_sandbox.api.metadata import timestamp
from sky_sandbox.api.refusals import Cause, Refusal
from sky_sandbox.patches.fields import ITEM, Path, from_fields, leaves, named, to_fields, without
from sky_sandbox.patches.lists import Schema, field, is_set, is_whole, items, key_of, map_keys

Object: TypeAlias = Mapping[str, Any]

BEFORE: Final = "before-first-apply"
_NOBODYS: Final = frozenset(
    {"name", "namespace", "generateName", "uid", "resourceVersion", "generation", "creationTimestamp",
     "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"}
)  # fmt: skip


class Owner(msgspec.Struct, frozen=True):
    """Who writes, and how."""

    manager: str
    operation: str = "Update"
    subresource: str = ""


Owners: TypeAlias = dict[Owner, set[Path]]


def owners_of(raw: Object) -> Owners:
    """The owners that an object names; empty if nobody has applied to it."""
    return {
        Owner(entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", "")): from_fields(
            entry.get("fieldsV1", {})
        )
        for entry in raw["metadata"].get("managedFields", ())
    }


def applied(live: Object | None, said: Object, owner: Owner, schema: Schema, *, force: bool) -> tuple[Object, Owners]:
    """An object with what an owner says applied to it, and who owns what from then on.

    Raises:
        Refusal: 409, others own what it says differently, and it does not use force.
    """
    mine = _owned(said, schema)
    if live is None:
        return said, {owner: set(mine)}
    there = _owned(live, schema)
    owners = owners_of(live) or {Owner(BEFORE): set(there)}
    differs = {path for path, value in mine.items() if value is not ITEM and there.get(path, ITEM) != value}
    taken = {other: paths & differs for other, paths in owners.items() if other != owner and paths & differs}
    if taken and not force:
        raise _conflict(taken)
    given_up = owners.get(owner, set()) - mine.keys()
    owners = {other: paths - differs for other, paths in owners.items()} | {owner: set(mine)}
    orphans = {path for path in given_up if not _is_owned(path, owners)}
    result = _merged(without(live, schema, orphans) if orphans else live, said, schema)
    return result, {other: paths for other, paths in owners.items() if paths}


def updated(before: Object, after: Object, owner: Owner, schema: Schema) -> Owners:
    """Who owns what after a write that is no apply: the writer what it changed, nobody what is gone."""
    old, new = _owned(before, schema), _owned(after, schema)
    changed = {path for path, value in new.items() if path not in old or old[path] != value}
    owners = {other: (paths & new.keys()) - changed for other, paths in owners_of(before).items()}
    owners[owner] = owners.get(owner, set()) | changed
    return {other: paths for other, paths in owners.items() if paths}


def managed_fields(owners: Owners, before: Object | None, api_version: str, now: Instant) -> list[dict[str, Any]]:
    """The managedFields of an object; an entry keeps its time while its fields stay."""
    old = {
        (entry.get("manager"), entry.get("operation"), entry.get("subresource", "")): entry
        for entry in (before["metadata"].get("managedFields", ()) if before else ())
    }
    entries = []
    for owner, paths in owners.items():
        entry = {
            "manager": owner.manager, "operation": owner.operation, "apiVersion": api_version,
            "time": timestamp(now), "fieldsType": "FieldsV1", "fieldsV1": to_fields(paths),
            **({"subresource": owner.subresource} if owner.subresource else {}),
        }  # fmt: skip
        kept = old.get((owner.manager, owner.operation, owner.subresource))
        entries.append(kept if kept and kept["fieldsV1"] == entry["fieldsV1"] else entry)
    return entries


def _owned(raw: Object, schema: Schema) -> dict[Path, Any]:
    """What of an object can be owned."""
    metadata = {name: value for name, value in raw["metadata"].items() if name not in _NOBODYS}
    return leaves(
        {**raw, "metadata": metadata} if metadata else {k: v for k, v in raw.items() if k != "metadata"}, schema
    )


def _is_owned(path: Path, owners: Owners) -> bool:
    """Whether somebody owns this, or something in it."""
    return any(other[: len(path)] == path for paths in owners.values() for other in paths)


def _merged(live: Any, said: Any, schema: Schema) -> Any:
    if isinstance(live, Mapping) and isinstance(said, Mapping) and not is_whole(schema):
        return {**live, **{name: _merged(live.get(name), value, field(schema, name)) for name, value in said.items()}}
    if isinstance(live, Sequence) and isinstance(said, list):
        if keys := map_keys(schema):
            return _merged_items(list(live), said, keys, schema)
        if is_set(schema):
            return [*live, *(item for item in said if item not in live)]
    return said


def _merged_items(live: list[Any], said: list[Any], keys: tuple[str, ...], schema: Schema) -> list[Any]:
    new = list(said)
    result = []
    for item in live:
        match = next((one for one in new if key_of(one, keys, schema) == key_of(item, keys, schema)), None)
        if match is None:
            result.append(item)
        else:
            new.remove(match)
            result.append(_merged(item, match, items(schema)))
    return result + new


def _conflict(taken: Owners) -> Refusal:
    causes = [
        Cause(named(path), f'conflict with "{owner.manager}"', "FieldManagerConflict")
        for owner, paths in taken.items()
        for path in sorted(paths)
    ]
    count = f"{len(causes)} conflict" + ("s" if len(causes) > 1 else "")
    said = "\n".join(f"- {cause.message}: {cause.field}" for cause in causes)
    listed = [{"reason": cause.type, "message": cause.message, "field": cause.field} for cause in causes]
    return Refusal(409, "Conflict", f"Apply failed with {count}: {said}", {"causes": listed})
