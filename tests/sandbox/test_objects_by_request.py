"""Create, read, update and patch, as an API server answers them."""

import pytest

from sky_sandbox.testing import NODES, PODS, START, Caller, named, node, pod
from sky_shell.transport import APPLY_PATCH, MERGE_PATCH, STRATEGIC_PATCH

MAPS = "/api/v1/namespaces/default/configmaps"
MAP = named("v1", "ConfigMap", "m", data={"a": "1", "b": "2"})
JSON_PATCH = "application/json-patch+json"


def test_an_object_gets_a_uid_a_version_and_a_time(caller: Caller) -> None:
    made = caller.post(MAPS, MAP)
    assert made.status == 201
    metadata = made.body["metadata"]
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["namespace"] == "default"
    assert caller.get(f"{MAPS}/m").body == made.body
    assert caller.post(MAPS, MAP).reason == "AlreadyExists"


def test_two_servers_of_one_seed_name_alike() -> None:
    first, second = (
        Caller().post(MAPS, {**MAP, "metadata": {"generateName": "m-"}}).body["metadata"] for _ in range(2)
    )
    assert first == second
    assert first["name"].startswith("m-")
    assert len(first["name"]) == 7


@pytest.mark.parametrize(
    ("path", "body", "status", "reason"),
    [
        (MAPS, named("v1", "ConfigMap", "Upper"), 422, "Invalid"),
        (MAPS, named("v1", "Secret", "m"), 400, "BadRequest"),
        (MAPS, {**MAP, "metadata": {"name": "m", "namespace": "other"}}, 400, "BadRequest"),
        (MAPS, {**MAP, "metadata": {}}, 422, "Invalid"),
        (MAPS, {**MAP, "metadata": {"name": "m", "labels": {"a": "-"}}}, 422, "Invalid"),
        (MAPS, {**MAP, "metadata": {"name": "m", "labels": {"a": 1}}}, 400, "BadRequest"),
        (MAPS, {**MAP, "metadata": {"name": "m", "annotations": {"a": "x" * 300_000}}}, 422, "Invalid"),
        (MAPS, b"{", 400, "BadRequest"),
        (MAPS, b"[1]", 400, "BadRequest"),
        ("/api/v1/namespaces/nowhere/configmaps", MAP, 404, "NotFound"),
        ("/api/v1/namespaces/default/secrets", MAP, 501, "NotImplemented"),
        ("/apis/batch/v1/namespaces/default/jobs", MAP, 501, "NotImplemented"),
        ("/apis/example.com/v1/things", MAP, 404, ""),
        ("/api/v1/namespaces/default/resourcequotas", named("v1", "ResourceQuota", "q"), 501, "NotImplemented"),
    ],
)
def test_what_cannot_be_made_is_refused(caller: Caller, path: str, body: object, status: int, reason: str) -> None:
    refused = caller.post(path, body)
    assert (refused.status, refused.reason) == (status, reason)


def test_a_write_with_an_old_version_is_refused(caller: Caller) -> None:
    made = caller.post(MAPS, MAP).body
    assert caller.put(f"{MAPS}/m", {**made, "data": {"a": "2"}}).status == 200
    assert caller.put(f"{MAPS}/m", {**made, "data": {"a": "3"}}).reason == "Conflict"
    other = {**MAP, "metadata": {"name": "m", "uid": "another"}}
    assert caller.put(f"{MAPS}/m", other).reason == "Conflict"
    assert caller.put(f"{MAPS}/absent", named("v1", "ConfigMap", "absent")).status == 404


def test_a_write_that_changes_nothing_makes_no_version(caller: Caller) -> None:
    made = caller.post(MAPS, MAP)
    assert caller.put(f"{MAPS}/m", made.body).version == made.version


def test_a_dry_run_leaves_no_trace(caller: Caller) -> None:
    version = caller.server.storage.version
    assert caller.post(MAPS, MAP, dryRun="All").status == 201
    caller.post(NODES, node("n"), dryRun="All")
    assert caller.server.storage.version == version
    caller.post(MAPS, MAP)
    changed = caller.patch(f"{MAPS}/m", {"data": {"a": "9"}}, MERGE_PATCH, dryRun="All")
    assert changed.body["data"]["a"] == "9"
    assert caller.delete(f"{MAPS}/m", dryRun="All").status == 200
    assert caller.get(f"{MAPS}/m").body["data"]["a"] == "1"
    assert caller.post(MAPS, MAP, dryRun="Some").status == 422


@pytest.mark.parametrize(
    ("media", "change", "data"),
    [
        (MERGE_PATCH, {"data": {"a": None, "c": "3"}}, {"b": "2", "c": "3"}),
        (STRATEGIC_PATCH, {"data": {"a": None, "c": "3"}}, {"b": "2", "c": "3"}),
        (STRATEGIC_PATCH, {"data": {"$patch": "replace", "c": "3"}}, {"c": "3"}),
        (STRATEGIC_PATCH, {"data": {"$retainKeys": ["b"], "b": "2"}}, {"b": "2"}),
        (
            JSON_PATCH,
            [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}],
            {"b": "2"},
        ),
        (JSON_PATCH, [{"op": "move", "from": "/data/a", "path": "/data/c"}], {"b": "2", "c": "1"}),
        (JSON_PATCH, [{"op": "copy", "from": "/data/a", "path": "/data/b"}], {"a": "1", "b": "1"}),
    ],
)
def test_a_patch_changes_what_it_names(caller: Caller, media: str, change: object, data: dict[str, str]) -> None:
    caller.post(MAPS, MAP)
    patched = caller.patch(f"{MAPS}/m", change, media)
    assert patched.status == 200
    assert patched.body["data"] == data


@pytest.mark.parametrize(
    ("media", "change", "status"),
    [
        (MERGE_PATCH, {"metadata": {"resourceVersion": "1"}}, 409),
        (MERGE_PATCH, {"metadata": {"uid": "another"}}, 422),
        (MERGE_PATCH, {"metadata": {"name": "another"}}, 400),
        (MERGE_PATCH, [], 400),
        (JSON_PATCH, [{"op": "test", "path": "/data/a", "value": "2"}], 422),
        (JSON_PATCH, [{"op": "replace", "path": "/absent/absent", "value": "2"}], 422),
        (JSON_PATCH, [{"op": "add", "path": "/data/a"}], 422),
        (JSON_PATCH, {"op": "add"}, 400),
        (STRATEGIC_PATCH, {"data": {"$patch": "unknown"}}, 500),
        (MERGE_PATCH, {"data": {"a": 1}}, 422),
        ("application/unknown", {}, 415),
        (APPLY_PATCH, MAP, 422),
    ],
)
def test_a_patch_that_cannot_be_is_refused(caller: Caller, media: str, change: object, status: int) -> None:
    caller.post(MAPS, MAP)
    assert caller.patch(f"{MAPS}/m", change, media).status == status


def test_a_strategic_patch_merges_lists_by_key(caller: Caller) -> None:
    caller.post(PODS, pod("p"))
    told = {"status": {"conditions": [{"type": "A", "status": "True"}]}}
    caller.patch(f"{PODS}/p/status", told, STRATEGIC_PATCH)
    told = {"status": {"conditions": [{"type": "B", "status": "True"}, {"type": "A", "status": "False"}]}}
    conditions = caller.patch(f"{PODS}/p/status", told, STRATEGIC_PATCH).body["status"]["conditions"]
    assert conditions == [{"type": "B", "status": "True"}, {"type": "A", "status": "False"}]
    gone = {"status": {"conditions": [{"$patch": "delete", "type": "A"}]}}
    conditions = caller.patch(f"{PODS}/p/status", gone, STRATEGIC_PATCH).body["status"]["conditions"]
    assert conditions == [{"type": "B", "status": "True"}]
    replaced = caller.patch(f"{PODS}/p/status", {"status": {"conditions": []}}, MERGE_PATCH)
    assert "conditions" not in replaced.body["status"]


def test_status_is_written_apart_from_all_else(caller: Caller) -> None:
    caller.post(PODS, {**pod("p"), "status": {"phase": "Running"}})
    made = caller.get(f"{PODS}/p").body
    assert made["status"]["phase"] == "Pending"
    whole = caller.put(f"{PODS}/p", {**made, "status": {"phase": "Failed"}})
    assert whole.body["status"]["phase"] == "Pending"
    spec = {**made["spec"], "schedulerName": "another"}
    status = caller.put(f"{PODS}/p/status", {**made, "spec": spec, "status": {"phase": "Failed"}})
    assert status.body["status"] == {"phase": "Failed"}
    assert status.body["spec"] == made["spec"]
    assert caller.get(f"{PODS}/p/status").body == status.body


def test_core_objects_are_kept_as_go_would_keep_them(caller: Caller) -> None:
    made = caller.post(MAPS, {**MAP, "immutable": None, "data": {"a": None, "b": "2"}})
    assert "immutable" not in made.body
    assert made.body["data"] == {"a": "", "b": "2"}


def test_a_deletion_is_done_at_once_or_told_and_waited_for(caller: Caller) -> None:
    caller.post(MAPS, MAP)
    assert caller.delete(f"{MAPS}/m").body["status"] == "Success"
    assert caller.get(f"{MAPS}/m").status == 404
    kept = {**MAP, "metadata": {"name": "m", "finalizers": ["example.com/keep"]}}
    made = caller.post(MAPS, kept).body
    assert caller.delete(f"{MAPS}/m").body["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    more = {**made, "metadata": {**made["metadata"], "resourceVersion": None, "finalizers": ["example.com/more"]}}
    assert caller.put(f"{MAPS}/m", more).status == 422
    assert caller.patch(f"{MAPS}/m", {"metadata": {"finalizers": None}}, MERGE_PATCH).status == 200
    assert caller.get(f"{MAPS}/m").status == 404


def test_a_deletion_has_preconditions(caller: Caller) -> None:
    made = caller.post(MAPS, MAP).body["metadata"]
    options = {"kind": "DeleteOptions", "apiVersion": "v1"}
    assert caller.delete(f"{MAPS}/m", {**options, "preconditions": {"uid": "another"}}).reason == "Conflict"
    assert caller.delete(f"{MAPS}/m", {**options, "preconditions": {"resourceVersion": "1"}}).reason == "Conflict"
    assert caller.delete(f"{MAPS}/m", propagationPolicy="Foreground").status == 501
    assert caller.delete(f"{MAPS}/m", {**options, "preconditions": {"uid": made["uid"]}}).status == 200


def test_a_collection_is_deleted_by_selector(caller: Caller) -> None:
    for name, app in (("a", "x"), ("b", "x"), ("c", "y")):
        caller.post(MAPS, {**MAP, "metadata": {"name": name, "labels": {"app": app}}})
    assert caller.delete(MAPS, labelSelector="app=x").status == 200
    assert caller.get(MAPS).names == ["c"]


def test_a_namespace_goes_with_what_is_in_it(caller: Caller) -> None:
    caller.post("/api/v1/namespaces", named("v1", "Namespace", "team"))
    maps = "/api/v1/namespaces/team/configmaps"
    caller.post(maps, MAP)
    caller.post(maps, {**MAP, "metadata": {"name": "kept", "finalizers": ["example.com/keep"]}})
    assert caller.delete("/api/v1/namespaces/team").body["status"]["phase"] == "Terminating"
    assert caller.get(maps).names == ["kept"]
    assert caller.post(maps, MAP).reason == "Forbidden"
    caller.patch(f"{maps}/kept", {"metadata": {"finalizers": None}}, MERGE_PATCH)
    assert caller.get("/api/v1/namespaces/team").status == 404
    assert caller.delete("/api/v1/namespaces/default").reason == "Forbidden"


def test_methods_and_timeouts_that_make_no_sense_are_refused(caller: Caller) -> None:
    assert caller.put(MAPS, MAP).status == 405
    assert caller.put(f"{PODS}/p/binding", {}).status == 405
    assert caller.get(MAPS, timeout="3").status == 400
    assert caller.get(MAPS, timeout="3s").status == 200
    assert caller.now == START
