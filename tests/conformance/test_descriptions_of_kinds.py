"""What clients ask before anything else: the sandbox has less than a real API server, and describes it alike."""

from collections.abc import Mapping
from typing import Any

import pytest

from sky_control_plane import ControlPlane
from sky_sandbox.testing import Caller

READING = frozenset({"get", "list", "watch"})
WRITING = frozenset({"create", "delete", "deletecollection", "patch", "update"})
LOOKED_FOR = ("resourcequotas", "limitranges")
"""The sandbox has none of these, but they are looked for: `kubectl describe namespace`, `kubectl get quota`."""


def by_name(listed: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in listed}


def without(raw: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name not in names}


def test_groups_and_their_versions(bare_plane: ControlPlane, sky: Caller) -> None:
    truth = by_name(bare_plane.request("GET", "/apis").body["groups"])
    for name, group in by_name(sky.get("/apis").body["groups"]).items():
        assert group["preferredVersion"] == truth[name]["preferredVersion"]
        assert all(version in truth[name]["versions"] for version in group["versions"])
        alone = sky.get(f"/apis/{name}").body
        assert without(alone, "versions") == without(bare_plane.request("GET", f"/apis/{name}").body, "versions")
    assert sky.get("/api").body["versions"] == bare_plane.request("GET", "/api").body["versions"]


def test_kinds_and_their_parts(bare_plane: ControlPlane, sky: Caller) -> None:
    versions = [group["preferredVersion"]["groupVersion"] for group in sky.get("/apis").body["groups"]]
    truth, copy = {}, {}
    for path in ("/api/v1", *(f"/apis/{version}" for version in versions)):
        real = by_name(bare_plane.request("GET", path).body["resources"])
        for name, resource in by_name(sky.get(path).body["resources"]).items():
            may = READING if name in LOOKED_FOR else READING | WRITING
            copy[path, name] = {**resource, "verbs": set(resource["verbs"])}
            truth[path, name] = {
                **without(real[name], "storageVersionHash"),
                "verbs": may.intersection(real[name]["verbs"]),
            }
    assert copy == truth


def test_the_version(bare_plane: ControlPlane, sky: Caller) -> None:
    truth, copy = bare_plane.request("GET", "/version").body, sky.get("/version").body
    assert [copy[name] for name in ("major", "minor")] == [truth[name] for name in ("major", "minor")]


def test_where_schemas_are(bare_plane: ControlPlane, sky: Caller) -> None:
    assert sky.get("/openapi/v3").body["paths"].keys() <= bare_plane.request("GET", "/openapi/v3").body["paths"].keys()


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
def test_health(bare_plane: ControlPlane, sky: Caller, path: str) -> None:
    assert sky.get(path).status == bare_plane.request("GET", path).status == 200
