"""What kubectl asks before anything else: which version this is, and which groups and kinds there are."""

from collections.abc import Sequence
from typing import Any, Final

from sky_sandbox.api.kinds import Kind, Registry

VERSION: Final = "1.36.4"
"""The Kubernetes that the sandbox behaves as."""

_PARTS: Final = {
    "status": ("get", "patch", "update"),
    "binding": ("create",),
    "eviction": ("create",),
}
_ANSWERED_AS: Final = {
    "binding": {"kind": "Binding"},
    "eviction": {"kind": "Eviction", "group": "policy", "version": "v1"},
}


def version() -> dict[str, str]:
    """The answer to `/version`."""
    major, minor, _ = VERSION.split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{VERSION}+sandbox",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "sandbox",
    }


def core_versions() -> dict[str, Any]:
    """The answer to `/api`."""
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}


def group_list(registry: Registry) -> dict[str, Any]:
    """The answer to `/apis`."""
    groups = [group(name, version) for name, version in registry.versions() if name]
    bare = [{name: value for name, value in one.items() if name not in {"kind", "apiVersion"}} for one in groups]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": bare}


def group(name: str, version: str) -> dict[str, Any]:
    """The answer to `/apis/GROUP`."""
    served = {"groupVersion": f"{name}/{version}", "version": version}
    return {"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": [served], "preferredVersion": served}


def resource_list(kinds: Sequence[Kind]) -> dict[str, Any]:
    """The answer to `/api/v1` and to `/apis/GROUP/VERSION`; at least one kind."""
    resources = []
    for kind in kinds:
        resources.append(_resource(kind))
        resources += [_part(kind, name) for name in kind.subresources]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": kinds[0].api_version, "resources": resources}


def _resource(kind: Kind) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": kind.plural,
        "singularName": kind.singular or kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": kind.verbs,
    }
    for name, listed in (("shortNames", kind.short_names), ("categories", kind.categories)):
        if listed:
            found[name] = listed
    return found


def _part(kind: Kind, name: str) -> dict[str, Any]:
    return {
        "name": f"{kind.plural}/{name}",
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": _PARTS[name],
        **_ANSWERED_AS.get(name, {}),
    }
