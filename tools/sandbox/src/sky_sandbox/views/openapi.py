"""OpenAPI v3, as far as kubectl reads it: that the server validates fields itself, and what custom kinds consist of.

Without the former kubectl refuses to create and to apply. Of core kinds no fields are described.
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final

import msgspec

from sky_sandbox.api.kinds import Kind, Registry
from sky_sandbox.patches.lists import Schema

V2_ASKED: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
V2_MEDIA: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
"""As clients ask for it, and as servers call it: the first is no media type by RFC 2045."""
V2: Final = b"\n\x032.0"
"""The answer to `/openapi/v2` in protobuf: `swagger: "2.0"`, and no kind described.

kubectl looks there for what the items of a `kind: List` consist of; of what it does not find it checks nothing, and the
server checks the fields itself.
"""
_UNDESCRIBED: Final = {
    "description": "The sandbox describes no fields of kinds that every cluster has; a cluster does.",
    "x-kubernetes-preserve-unknown-fields": True,
}


def index(registry: Registry) -> dict[str, Any]:
    """The answer to `/openapi/v3`."""
    return {
        "paths": {
            _base(kinds[0]).strip("/"): {"serverRelativeURL": f"/openapi/v3{_base(kinds[0])}?hash={_digest(kinds)}"}
            for kinds in registry.versions().values()
        }
    }


def document(kinds: Sequence[Kind]) -> dict[str, Any]:
    """The answer to `/openapi/v3/api/v1` and to `/openapi/v3/apis/GROUP/VERSION`."""
    return {
        "openapi": "3.0.0",
        "info": {"title": "sandbox", "version": "v1"},
        "paths": {path: operations for kind in kinds for path, operations in _paths(kind).items()},
        "components": {"schemas": {_name(kind): _schema(kind) for kind in kinds}},
    }


def _paths(kind: Kind) -> dict[str, Any]:
    said = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    collection = _base(kind) + ("/namespaces/{namespace}" if kind.namespaced else "") + f"/{kind.plural}"
    parameters = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation")
    ]
    answer = {"200": {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{_name(kind)}"}}}}}
    operation = {"x-kubernetes-group-version-kind": said, "parameters": parameters, "responses": answer}
    verbs = {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}
    return {
        collection: {
            verb: {"x-kubernetes-action": action, **operation} for verb, action in (("get", "list"), ("post", "post"))
        },
        f"{collection}/{{name}}": {
            verb: {"x-kubernetes-action": action, **operation} for verb, action in verbs.items()
        },
    }


def _schema(kind: Kind) -> Schema:
    described = {"description": kind.kind, **kind.schema} if kind.custom else _UNDESCRIBED
    said = {"group": kind.group, "version": kind.version, "kind": kind.kind}
    return {"type": "object", **described, "x-kubernetes-group-version-kind": [said]}


def _name(kind: Kind) -> str:
    return f"{'.'.join(reversed(kind.group.split('.'))) or 'core'}.{kind.version}.{kind.kind}"


def _base(kind: Kind) -> str:
    return f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"


def _digest(kinds: Sequence[Kind]) -> str:
    return sha256(msgspec.json.encode(document(kinds))).hexdigest()[:16]
