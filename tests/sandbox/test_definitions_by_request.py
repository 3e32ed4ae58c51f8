"""Our kinds as their definitions make them: schemas, defaults, rules, status; and what is not judged by."""

from typing import Any

import pytest

from sky_core.api.instants import instant
from sky_sandbox.state import load
from sky_sandbox.testing import Caller, named
from sky_shell.transport import MERGE_PATCH, STRATEGIC_PATCH

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API = "scheduling.infini-ai.com/v1alpha1"
QUOTAS = f"/apis/{API}/quotas"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
Definitions = dict[str, dict[str, Any]]


def quota(name: str = "q", **spec: object) -> dict[str, Any]:
    return named(API, "Quota", name, spec={"request": {"nvidia.com/gpu": "8"}, **spec})


def write_status(caller: Caller, **status: object) -> int:
    return caller.patch(f"{QUOTAS}/q/status", {"status": status}, MERGE_PATCH).status


def test_a_definition_is_established_and_serves_its_kind(caller: Caller, definitions: Definitions) -> None:
    assert caller.get(QUOTAS).status == 404
    assert caller.get(QUOTAS).text == "404 page not found\n"
    assert caller.post(DEFINITIONS, definitions["quotas"]).status == 201
    found = caller.get(f"{DEFINITIONS}/quotas.scheduling.infini-ai.com").body
    assert [(one["type"], one["status"]) for one in found["status"]["conditions"]] == [
        ("NamesAccepted", "True"),
        ("Established", "True"),
    ]
    assert caller.get(QUOTAS).body["kind"] == "QuotaList"


def test_items_of_a_custom_list_say_what_they_are_and_core_ones_do_not(sky: Caller) -> None:
    sky.post(QUOTAS, quota())
    assert sky.get(QUOTAS).body["items"][0]["kind"] == "Quota"
    assert "kind" not in sky.get("/api/v1/namespaces").body["items"][0]


def test_defaults_are_filled_in_and_unknown_fields_go_with_a_warning(sky: Caller) -> None:
    made = sky.post(QUOTAS, {**quota(), "spec": {"reqeust": {}}})
    assert made.body["spec"] == {"queueName": "default"}
    assert made.headers["warning"] == '299 - "unknown field \\"spec.reqeust\\""'
    assert "warning" not in sky.post(QUOTAS, {**quota("r"), "spec": {"reqeust": {}}}, fieldValidation="Ignore").headers
    assert sky.post(QUOTAS, {**quota("s"), "spec": {"reqeust": {}}}, fieldValidation="Strict").status == 400
    assert sky.patch(f"{QUOTAS}/q", {"spec": {"x": 1}}, MERGE_PATCH, fieldValidation="Strict").status == 422


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"queueName": 1}, "spec.queueName"),
        ({"queueName": "x" * 300}, "spec.queueName"),
        ({"request": {"cpu": -1}}, "spec.request.cpu"),
        ({"request": {"cpu": "-1"}}, "spec.request.cpu"),
        ({"request": {"not a name": "1"}}, "spec.request"),
        ({"request": {f"a{i}": "1" for i in range(17)}}, "spec.request"),
        ({"tolerations": [{"operator": "Exists", "value": "x"}]}, "spec.tolerations[0]"),
        ({"sharedQueues": ["a", None]}, "spec.sharedQueues[1]"),
        (
            {"affinity": {"quotaAffinity": {"preferred": [{"weight": 0}]}}},
            "spec.affinity.quotaAffinity.preferred[0].weight",
        ),
    ],
)
def test_what_the_schema_forbids_is_refused_by_its_path(sky: Caller, spec: dict[str, Any], field: str) -> None:
    refused = sky.post(QUOTAS, quota(**spec))
    assert (refused.status, refused.reason) == (422, "Invalid")
    assert field in [cause["field"] for cause in refused.body["details"]["causes"]]


def test_status_is_no_part_of_what_is_created(sky: Caller) -> None:
    made = sky.post(QUOTAS, {**quota(), "status": {"phase": "QuotaBound"}})
    assert "status" not in made.body
    assert made.body["metadata"]["generation"] == 1


def test_an_epoch_never_falls_whatever_is_tried(sky: Caller) -> None:
    sky.post(QUOTAS, quota())
    assert write_status(sky, epoch=3, nodeName="n") == 200
    assert write_status(sky, epoch=2) == 422
    assert write_status(sky, epoch=None) == 422
    assert sky.patch(f"{QUOTAS}/q/status", {"status": None}, MERGE_PATCH).status == 422
    assert sky.patch(f"{QUOTAS}/q", {"spec": {"staticBindNode": "n"}}, MERGE_PATCH).status == 200
    assert write_status(sky, epoch=4) == 200
    sky.delete(f"{QUOTAS}/q")
    sky.post(QUOTAS, quota())
    assert write_status(sky, epoch=1) == 200


def test_a_put_of_the_status_needs_its_version_and_leaves_all_else(sky: Caller) -> None:
    made = sky.post(QUOTAS, quota()).body
    bare = named(API, "Quota", "q", status={"phase": "QuotaEmpty"})
    assert sky.put(f"{QUOTAS}/q/status", bare).status == 422
    bare["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"]
    written = sky.put(f"{QUOTAS}/q/status", bare)
    assert written.body["spec"] == made["spec"]
    assert written.body["metadata"]["generation"] == 1
    assert sky.put(f"{QUOTAS}/q/status", bare).reason == "Conflict"
    bare["metadata"] = {"name": "q", "resourceVersion": written.version, "uid": "another"}
    assert sky.put(f"{QUOTAS}/q/status", bare).reason == "Conflict"
    bare["metadata"] |= {"uid": made["metadata"]["uid"]}
    assert sky.put(f"{QUOTAS}/q/status", bare).version == written.version


def test_a_changed_spec_is_a_new_generation(sky: Caller) -> None:
    sky.post(QUOTAS, quota())
    changed = sky.patch(f"{QUOTAS}/q", {"spec": {"queueName": "other"}}, MERGE_PATCH).body
    assert changed["metadata"]["generation"] == 2


def test_a_patch_of_the_status_ignores_the_uid_and_another_does_not(sky: Caller) -> None:
    sky.post(QUOTAS, quota())
    assert sky.patch(f"{QUOTAS}/q/status", {"metadata": {"uid": "another"}}, MERGE_PATCH).status == 200
    assert sky.patch(f"{QUOTAS}/q", {"metadata": {"uid": "another"}}, MERGE_PATCH).status == 422
    assert sky.patch(f"{QUOTAS}/q", {}, STRATEGIC_PATCH).status == 415


def test_columns_are_printed(sky: Caller) -> None:
    selector = {"scheduling.infini-ai.com/spec": "a100"}
    sky.post(QUOTAS, quota(nodeSelector=selector))
    write_status(sky, nodeName="n1", phase="QuotaBound", allocated={"nvidia.com/gpu": "1"})
    sky.now = instant("2026-01-01T00:02:30Z")
    table = sky.get(QUOTAS, accept=TABLE).body
    cells = dict(zip([one["name"] for one in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))
    assert cells["Name"] == "q"
    assert cells["Queue"] == "default"
    assert cells["Spec"] == "a100"
    assert cells["Node"] == "n1"
    assert cells["Phase"] == "QuotaBound"
    assert cells["GPU"] == "8"
    assert cells["Age"] == "2m30s"


def test_a_definition_that_goes_takes_its_objects_along_and_ends_their_watches(sky: Caller) -> None:
    sky.post(QUOTAS, quota())
    watch = sky.watch(QUOTAS, resourceVersion=sky.get(QUOTAS).version)
    sky.delete(f"{DEFINITIONS}/quotas.scheduling.infini-ai.com")
    assert sky.told(watch) == [("DELETED", "q")]
    assert watch.ended
    assert sky.get(QUOTAS).status == 404
    assert sky.get(f"{DEFINITIONS}/quotas.scheduling.infini-ai.com").status == 404


def test_a_definition_that_changes_ends_watches(sky: Caller) -> None:
    watch = sky.watch(QUOTAS, resourceVersion=sky.get(QUOTAS).version)
    change = {"spec": {"names": {"shortNames": ["qo", "qt"]}}}
    assert sky.patch(f"{DEFINITIONS}/quotas.scheduling.infini-ai.com", change, MERGE_PATCH).status == 200
    assert sky.told(watch) == []
    assert watch.ended


def altered(definition: dict[str, Any], **schema: object) -> dict[str, Any]:
    version = definition["spec"]["versions"][0]
    root = {**version["schema"]["openAPIV3Schema"], **schema}
    versions = [{**version, "schema": {"openAPIV3Schema": root}}]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}


@pytest.mark.parametrize(
    ("schema", "status"),
    [
        ({"x-kubernetes-validations": [{"rule": "self.spec.a > 1"}]}, 501),
        ({"properties": {"spec": {"type": "string", "format": "ipv4"}}}, 501),
        ({"properties": {"spec": {"type": "object", "oneOf": []}}}, 501),
        ({"type": "array"}, 422),
    ],
)
def test_a_definition_that_cannot_be_judged_by_is_refused(
    caller: Caller, definitions: Definitions, schema: dict[str, object], status: int
) -> None:
    assert caller.post(DEFINITIONS, altered(definitions["queues"], **schema)).status == status


def test_a_definition_that_is_wrong_or_too_much_is_refused(caller: Caller, definitions: Definitions) -> None:
    wrong = {**definitions["queues"], "metadata": {"name": "others.scheduling.infini-ai.com"}}
    assert caller.post(DEFINITIONS, wrong).status == 422
    queues = definitions["queues"]
    twice = {**queues, "spec": {**queues["spec"], "versions": queues["spec"]["versions"] * 2}}
    assert caller.post(DEFINITIONS, twice).status == 501
    assert caller.post(DEFINITIONS, {**queues, "spec": {"scope": "Cluster"}}).status == 422


def test_what_was_malformed_before_a_write_and_is_left_so_is_let_be(sky: Caller) -> None:
    load(sky.server, [{**quota(request={"cpu": "-1"}), "status": {"phase": "QuotaEmpty"}}], sky.now)
    assert write_status(sky, epoch=1) == 200
    assert sky.patch(f"{QUOTAS}/q", {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH).status == 200
    assert sky.patch(f"{QUOTAS}/q", {"spec": {"queueName": "other"}}, MERGE_PATCH).status == 200
    refused = sky.patch(f"{QUOTAS}/q", {"spec": {"request": {"cpu": "-2"}}}, MERGE_PATCH)
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == ["spec.request.cpu"]
    assert write_status(sky, phase="Lost") == 422
