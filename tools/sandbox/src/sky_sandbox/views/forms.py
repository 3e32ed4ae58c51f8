"""The forms in which a client may want objects: their JSON, or a table for people."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import msgspec

from sky_core.model import Instant
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.refusals import unsupported
from sky_sandbox.api.requests import Request
from sky_sandbox.api.storage import Stored
from sky_sandbox.objects.events import shown
from sky_sandbox.views.columns import columns
from sky_shell.transport import JSON

_TABLE: Final = "as=Table;v=v1;g=meta.k8s.io"
_META: Final = "meta.k8s.io/v1"
_INCLUDED: Final = {"": "Metadata", "Metadata": "Metadata", "Object": "Object", "None": "None"}


class Form(Protocol):
    """How objects are shown."""

    content_type: str

    def one(self, stored: Stored, now: Instant) -> bytes:
        """One object."""

    def many(self, found: Iterable[Stored], metadata: Mapping[str, Any], now: Instant) -> bytes:
        """A list of objects, with the list's own metadata."""

    def bookmark(self, metadata: Mapping[str, Any]) -> bytes:
        """An object that has nothing but metadata."""


def form(kind: Kind, request: Request) -> Form:
    """The first form among those that the client accepts which the server has.

    Raises:
        Refusal: There is none.
    """
    for wanted in request.accept.split(","):
        media = wanted.strip().replace(" ", "")
        if media.startswith(JSON) and sorted(media.split(";")[1:]) == sorted(_TABLE.split(";")):
            return TableForm(kind, _INCLUDED.get(request.query.get("includeObject", ""), "Metadata"))
        if media.split(";")[0] in {JSON, "*/*", "application/*", ""} and ";as=" not in media:
            return JsonForm(kind)
    raise unsupported(f"answer in any of {request.accept}")


class JsonForm:
    """The objects themselves."""

    content_type = JSON

    def __init__(self, kind: Kind) -> None:
        """Of one kind."""
        self._kind = kind
        self._envelope = kind.envelope()

    def one(self, stored: Stored, now: Instant) -> bytes:  # noqa: ARG002 - tables show ages
        """One object."""
        return self._envelope + shown(self._kind, stored)[1:]

    def many(self, found: Iterable[Stored], metadata: Mapping[str, Any], now: Instant) -> bytes:
        """A list; as in Kubernetes, only items of custom kinds say again what they are."""
        kind = self._kind
        items = b",".join([self.one(one, now) if kind.custom else shown(kind, one) for one in found])
        return b'{"apiVersion":"%s","kind":"%sList","metadata":%s,"items":[%s]}' % (
            kind.api_version.encode(), kind.kind.encode(), msgspec.json.encode(metadata), items,
        )  # fmt: skip

    def bookmark(self, metadata: Mapping[str, Any]) -> bytes:
        """An object that has nothing but metadata."""
        return self._envelope + msgspec.json.encode({"metadata": metadata})[1:]


class TableForm:
    """Rows of cells, as `kubectl get` prints them."""

    content_type = f"{JSON};{_TABLE}"

    def __init__(self, kind: Kind, included: str) -> None:
        """Of one kind; `included` is how much of the object comes with its row."""
        self._kind = kind
        self._columns = columns(kind)
        self._included = included

    def one(self, stored: Stored, now: Instant) -> bytes:
        """A table of one row."""
        return self.many([stored], {"resourceVersion": str(stored.version)}, now)

    def many(self, found: Iterable[Stored], metadata: Mapping[str, Any], now: Instant) -> bytes:
        """A table with a row for each."""
        return self._table(metadata, [self._row(stored.object, now) for stored in found])

    def bookmark(self, metadata: Mapping[str, Any]) -> bytes:
        """A table whose row has nothing but metadata."""
        return self._table(
            metadata, [{"cells": [None] * len(self._columns), "object": self._object({"metadata": metadata})}]
        )

    def _table(self, metadata: Mapping[str, Any], rows: list[dict[str, Any]]) -> bytes:
        return msgspec.json.encode({
            "kind": "Table",
            "apiVersion": _META,
            "metadata": metadata,
            "columnDefinitions": [
                {
                    "name": column.name,
                    "type": column.type,
                    "format": "name" if column.name == "Name" else "",
                    "description": "",
                    "priority": int(column.wide),
                }
                for column in self._columns
            ],
            "rows": rows,
        })  # fmt: skip

    def _row(self, raw: Mapping[str, Any], now: Instant) -> dict[str, Any]:
        return {"cells": [column.cell(raw, now) for column in self._columns], "object": self._object(raw)}

    def _object(self, raw: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if self._included == "None":
            return None
        if self._included == "Object":
            return {"apiVersion": self._kind.api_version, "kind": self._kind.kind, **raw}
        return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": raw["metadata"]}
