"""Objects are changed by patches of four kinds."""

from typing import Any

import msgspec
import pytest

from plays import Play, apply, get, json_patch, merge, post, put, strategic
from sky_sandbox.testing import named, node, pod

SKY = "scheduling.infini-ai.com/v1alpha1"
QUOTAS = f"/apis/{SKY}/quotas"
GROUPS = f"/apis/{SKY}/namespaces/$ns/podgroups"
MAPS = "/api/v1/namespaces/$ns/configmaps"
PODS = "/api/v1/namespaces/$ns/pods"
OTHER = "8c3ad9a4-0000-4000-8000-000000000000"
MAP = named("v1", "ConfigMap", "m", data={"a": "1", "b": "2"})


def test_a_merge_patch_merges_maps(play: Play) -> None:
    play(
        post(MAPS, MAP, keep="m"),
        merge(f"{MAPS}/m", {"data": {"a": None, "b": "3", "c": "4"}}),
        merge(f"{MAPS}/m", {"data": {"b": "3"}}),
        merge(f"{MAPS}/m", {"metadata": {"resourceVersion": "$m.resourceVersion"}, "data": {"b": "5"}}, "409 Conflict"),
        merge(f"{MAPS}/m", {"metadata": {"uid": OTHER}}, "422 Invalid"),
        merge(f"{MAPS}/m", {"metadata": {"name": "n"}}, "400 BadRequest"),
        merge(f"{MAPS}/m", {"metadata": {"labels": {"a": "b"}, "creationTimestamp": None}}),
        merge(f"{MAPS}/m", {"kind": "Secret"}, "422 Invalid"),
        merge(f"{MAPS}/m", [], "400 BadRequest"),
        get(f"{MAPS}/m"),
    )


def test_a_merge_patch_of_a_status_does_not_mind_the_uid(play: Play) -> None:
    play(
        post(QUOTAS, named(SKY, "Quota", "merged"), keep="q"),
        merge(f"{QUOTAS}/merged", {"metadata": {"uid": OTHER}, "spec": {"queueName": "q"}}, "422 Invalid"),
        merge(f"{QUOTAS}/merged/status", {"metadata": {"uid": OTHER}, "status": {"epoch": 1}}),
        merge(f"{QUOTAS}/merged", {"metadata": {"resourceVersion": "$q.resourceVersion"}}, "409 Conflict"),
        merge(f"{QUOTAS}/merged", {"metadata": {"name": "other"}}, "400 BadRequest"),
        merge(f"{QUOTAS}/merged", {"spec": {"queueName": None, "request": {"cpu": 1}}}),
        merge(f"{QUOTAS}/merged", {"spec": {"request": {"memory": "1Gi"}}}),
        merge(f"{QUOTAS}/merged", {"spec": None}),
    )


def test_a_strategic_patch_merges_lists_by_key(play: Play) -> None:
    ready = {"type": "Ready", "status": "True"}
    play(
        post(PODS, pod("a")),
        strategic(f"{PODS}/a/status", {"status": {"conditions": [ready]}}),
        strategic(f"{PODS}/a/status", {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}),
        strategic(f"{PODS}/a/status", {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}),
        strategic(f"{PODS}/a/status", {"status": {"conditions": [{"type": "Ready", "$patch": "delete"}]}}),
        merge(f"{PODS}/a/status", {"status": {"conditions": [ready]}}),
        strategic(f"{PODS}/a", {"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        strategic(f"{PODS}/a", {"metadata": {"uid": OTHER}}, "422 Invalid"),
        strategic(f"{PODS}/a", {"spec": {"containers": [{"image": "other"}]}}, "500"),
        get(f"{PODS}/a"),
    )


def test_directives_of_a_strategic_patch(play: Play) -> None:
    one = f"{MAPS}/m"
    play(
        post(MAPS, MAP),
        strategic(one, {"data": {"b": None, "e": "5"}}),
        strategic(one, {"data": {"$patch": "replace", "f": "6"}}),
        strategic(one, {"data": {"$patch": "odd"}}, "500"),
        strategic(one, {"data": {"z": 9}}, "422 Invalid"),
        merge(one, {"data": {"z": 9}}, "422 Invalid"),
        merge(one, {"data": {"z": "9"}}, dryRun="All"),
        json_patch(one, {"op": "add", "path": "/metadata/labels/slash~1key", "value": "v"}, gets="422 Invalid"),
        get(one),
    )


def test_a_json_patch_is_a_list(play: Play) -> None:
    step = json_patch(f"{MAPS}/m", gets="400 BadRequest")
    play(post(MAPS, MAP), msgspec.structs.replace(step, body={"op": "add"}))


def test_kubectl_s_patches_of_nodes(play: Play) -> None:
    path = "/api/v1/nodes/patched"
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    play(
        post("/api/v1/nodes", node("patched")),
        strategic(path, {"spec": {"unschedulable": True}}),
        strategic(path, {"spec": {"unschedulable": None}}),
        strategic(path, {"spec": {"taints": [taint]}}),
        strategic(path, {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}}),
        strategic(path, {"metadata": {"finalizers": ["example.com/a"]}}),
        strategic(path, {"metadata": {"finalizers": ["example.com/b"]}}),
        strategic(path, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
        strategic(path, {"spec": {"taints": None}}),
        strategic(path, {"metadata": {"labels": {"$patch": "replace", "x": "y"}}}),
        strategic(f"{path}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
        strategic(f"{path}/status", {"status": {"allocatable": {"nvidia.com/gpu": "8"}}}),
        get(path),
    )


def test_a_strategic_patch_of_a_custom_resource_is_refused(play: Play) -> None:
    play(
        post(QUOTAS, named(SKY, "Quota", "strategic")),
        strategic(f"{QUOTAS}/strategic", {"spec": {}}, "415 UnsupportedMediaType"),
    )


@pytest.mark.parametrize("collection", [MAPS, QUOTAS], ids=["configmap", "quota"])
def test_a_patch_of_an_unknown_kind_is_refused(play: Play, collection: str) -> None:
    step = merge(f"{collection}/m", {}, "415 UnsupportedMediaType")
    play(msgspec.structs.replace(step, media="text/plain"))


def test_a_patch_that_makes_something_else_of_an_object_is_refused(play: Play) -> None:
    play(
        post(QUOTAS, named(SKY, "Quota", "something-else")),
        post(MAPS, MAP),
        *(
            step
            for one, ours in ((f"{QUOTAS}/something-else", True), (f"{MAPS}/m", False))
            for step in (
                merge(one, {"kind": "Queue"}, "422 Invalid"),
                merge(one, {"apiVersion": "x/v1"}, "422 Invalid"),
                merge(one, {"metadata": {"name": "other"}}, "400 BadRequest"),
                merge(one, {"metadata": {"namespace": "other"}}, "200" if ours else "400 BadRequest"),
                merge(one, [], "400 BadRequest"),
                merge(one, b"{", "400 BadRequest"),
                json_patch(one, {"op": "remove", "path": "/metadata/name"}, gets="400 BadRequest"),
                json_patch(one, {"op": "remove", "path": "/kind"}, gets="422 Invalid" if ours else "200"),
            )
        ),
    )


def test_a_json_patch_is_done_step_by_step(play: Play) -> None:
    play(
        post(MAPS, MAP, keep="m"),
        json_patch(
            f"{MAPS}/m",
            {"op": "test", "path": "/data/a", "value": "1"},
            {"op": "replace", "path": "/data/a", "value": "3"},
            {"op": "add", "path": "/data/c", "value": "4"},
            {"op": "copy", "from": "/data/b", "path": "/data/d"},
            {"op": "move", "from": "/data/b", "path": "/data/e"},
            {"op": "remove", "path": "/data/c"},
            {"op": "add", "path": "/metadata/annotations", "value": {"example.com/a": "1"}},
            {"op": "add", "path": "/metadata/annotations/example.com~1b", "value": "2"},
        ),
        json_patch(f"{MAPS}/m", {"op": "test", "path": "/data/a", "value": "1"}, gets="422 Invalid"),
        json_patch(f"{MAPS}/m", {"op": "test", "path": "/data/none", "value": None}),
        json_patch(f"{MAPS}/m", {"op": "remove", "path": "/data/none"}, gets="422 Invalid"),
        json_patch(f"{MAPS}/m", {"op": "replace", "path": "/data/none", "value": "1"}),
        json_patch(f"{MAPS}/m", {"op": "replace", "path": "/none/none", "value": "1"}, gets="422 Invalid"),
        json_patch(f"{MAPS}/m", {"op": "add", "path": "/none/none", "value": "1"}, gets="422 Invalid"),
        json_patch(f"{MAPS}/m", {"op": "odd", "path": "/data"}, gets="422 Invalid"),
        json_patch(f"{MAPS}/m", {"op": "test", "path": "/metadata/resourceVersion", "value": "1"}, gets="422 Invalid"),
        json_patch(f"{MAPS}/m", {"op": "test", "path": "/metadata/uid", "value": "$m.uid"}),
        merge(f"{MAPS}/m", {"data": {}}),
    )


def test_a_json_patch_of_lists(play: Play) -> None:
    tolerations = "/spec/tolerations"
    one, two = ({"key": key, "operator": "Exists"} for key in "ab")
    play(
        post(QUOTAS, named(SKY, "Quota", "lists")),
        json_patch(f"{QUOTAS}/lists", {"op": "add", "path": tolerations, "value": [one]}),
        json_patch(f"{QUOTAS}/lists", {"op": "add", "path": f"{tolerations}/0", "value": two}),
        json_patch(f"{QUOTAS}/lists", {"op": "add", "path": f"{tolerations}/-", "value": one}),
        json_patch(f"{QUOTAS}/lists", {"op": "add", "path": f"{tolerations}/9", "value": one}, gets="422 Invalid"),
        json_patch(f"{QUOTAS}/lists", {"op": "remove", "path": f"{tolerations}/1"}),
        json_patch(f"{QUOTAS}/lists", {"op": "remove", "path": f"{tolerations}/7"}, gets="422 Invalid"),
        json_patch(f"{QUOTAS}/lists", {"op": "replace", "path": f"{tolerations}/0/key", "value": "c"}),
    )


def quota(name: str, **spec: object) -> dict[str, object]:
    return named(SKY, "Quota", name, spec=spec)


def test_who_applies_first_makes_the_object(play: Play) -> None:
    play(
        apply(f"{QUOTAS}/applied", quota("applied", queueName="a"), "201"),
        apply(f"{QUOTAS}/applied", quota("applied", queueName="a")),
        apply(f"{QUOTAS}/applied", quota("applied", queueName="b")),
        apply(f"{QUOTAS}/applied", quota("applied")),
        get(f"{QUOTAS}/applied"),
    )


def test_appliers_conflict_until_one_forces_it(play: Play) -> None:
    path = f"{QUOTAS}/contested"
    play(
        apply(path, quota("contested", queueName="a", request={"cpu": 1}), "201"),
        apply(path, quota("contested", queueName="b"), "409 Conflict", by="bob"),
        apply(path, quota("contested", queueName="a"), by="bob"),
        apply(path, quota("contested", queueName="c"), "409 Conflict"),
        apply(path, quota("contested", queueName="b"), by="bob", force=True),
        apply(path, quota("contested", queueName="a", request={"cpu": 2}), "409 Conflict"),
        apply(path, quota("contested", request={"cpu": 2})),
        apply(path, quota("contested", request={"memory": "1Gi"})),
        merge(path, {"spec": {"request": {"memory": "2Gi"}}}, fieldManager="carol"),
        apply(path, quota("contested", request={"memory": "1Gi"}), "409 Conflict"),
        get(path),
    )


def test_what_nobody_applies_any_more_goes(play: Play) -> None:
    path = f"{MAPS}/m"
    play(
        apply(path, named("v1", "ConfigMap", "m", data={"a": "1", "b": "2"}), "201"),
        apply(path, named("v1", "ConfigMap", "m", data={"b": "2", "c": "3"}), by="bob"),
        apply(path, named("v1", "ConfigMap", "m")),
        apply(path, named("v1", "ConfigMap", "m", data={"c": "3"}), by="bob"),
        get(path),
    )


def test_an_apply_over_what_was_made_otherwise(play: Play) -> None:
    path = f"{MAPS}/m"
    play(
        post(MAPS, MAP, fieldManager="carol"),
        apply(path, named("v1", "ConfigMap", "m", data={"a": "9"}), "409 Conflict"),
        apply(path, named("v1", "ConfigMap", "m", data={"a": "1"})),
        apply(path, named("v1", "ConfigMap", "m", data={"a": "9"}), force=True),
        put(path, {**MAP, "data": {"a": "9"}}, fieldManager="carol"),
        apply(path, named("v1", "ConfigMap", "m", data={})),
        get(path),
    )


def test_a_hand_that_changes_what_was_applied(play: Play) -> None:
    path = f"{MAPS}/m"

    def map_of(**data: str) -> dict[str, object]:
        return named("v1", "ConfigMap", "m", data=data)

    play(
        apply(path, map_of(a="1", b="2"), "201", by="one"),
        apply(path, map_of(b="2"), by="two"),
        apply(path, map_of(a="3"), "409 Conflict", by="two"),
        apply(path, map_of(c="3"), by="one"),
        apply(path, map_of(c="4"), by="two", force=True),
        merge(path, {"data": {"c": "5"}}, fieldManager="hand"),
        apply(path, map_of(c="6"), "409 Conflict", by="two"),
        apply(path, map_of(), by="two"),
        apply(path, map_of(d="1"), by="three", fieldValidation="Strict"),
        get(path),
    )


def test_agents_report_their_nets_of_one_node(play: Play) -> None:
    path = f"/apis/{SKY}/nodetopologies/reported"

    def net(**nets: object) -> dict[str, object]:
        return named(SKY, "NodeTopology", "reported", spec={"net": nets})

    roce, other = {"name": "eth0", "switchName": "s1"}, {"name": "eth1", "switchName": "s1"}
    play(
        apply(path, net(roce=[roce]), "201", by="agent"),
        apply(path, net(ib=[{"name": "ib0", "switchName": "s2"}], roce=[other]), by="collector"),
        apply(path, net(ib=[{"name": "ib0", "switchName": "s3"}]), by="collector"),
        apply(path, net(roce=[{**roce, "switchName": "s9"}]), "409 Conflict", by="other"),
        apply(path, net(roce=[{"name": "eth0"}]), by="other"),
        apply(path, net(), by="agent"),
        apply(path, net(roce=[{"switchName": "s1"}]), "500", by="agent"),
        get(path),
    )


@pytest.mark.parametrize(
    "wrong",
    [{"spec": {"request": 1}}, {"spec": []}, {"spec": {"tolerations": [1]}}, {"metadata": {"labels": 1}}],
    ids=["amounts", "spec", "tolerations", "labels"],
)
def test_an_apply_has_types(play: Play, wrong: dict[str, Any]) -> None:
    whole = {**quota("typed"), **wrong}
    play(apply(f"{QUOTAS}/typed", {**whole, "metadata": {**wrong.get("metadata", {}), "name": "typed"}}, "500"))


def test_an_apply_is_whole_and_signed(play: Play) -> None:
    path = f"{QUOTAS}/signed"
    play(
        apply(path, quota("signed"), "422 Invalid", by=""),
        apply(path, quota("other"), "400 BadRequest"),
        apply(path, {"metadata": {"name": "signed"}}, "400 BadRequest"),
        apply(path, {"apiVersion": SKY, "kind": "Quota"}, "400 BadRequest"),
        apply(path, quota("signed"), "201"),
        apply(path, {**quota("signed"), "metadata": {"name": "signed", "managedFields": [{}]}}, "400 BadRequest"),
        apply(path, {**quota("signed"), "metadata": {"name": "signed", "uid": OTHER}}, "422 Invalid"),
        apply(path, {**quota("signed"), "kind": "Queue"}, "400 BadRequest"),
        apply(path, {**quota("signed"), "metadata": {"name": "signed", "resourceVersion": "1"}}, "409 Conflict"),
        apply(path, quota("signed", request={"cpu": -1}), "422 Invalid"),
        apply(path, quota("signed", unknown=1), "500"),
        apply(path, quota("signed", queueName="x"), dryRun="All"),
        get(path),
    )


def test_two_keep_conditions_of_one_status(play: Play) -> None:
    path = f"{GROUPS}/told/status"

    def told(kind: str, status: str) -> dict[str, object]:
        condition = {"type": kind, "status": status, "reason": "R", "message": "m",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        return named(SKY, "PodGroup", "told", status={"conditions": [condition]})

    play(
        post(GROUPS, named(SKY, "PodGroup", "told")),
        apply(path, told("A", "True")),
        apply(path, told("B", "True"), by="bob"),
        apply(path, told("A", "False"), "409 Conflict", by="bob"),
        apply(path, told("A", "False")),
        apply(path, named(SKY, "PodGroup", "told", status={}), by="bob"),
        apply(f"{GROUPS}/absent/status", named(SKY, "PodGroup", "absent", status={}), "404 NotFound"),
        get(f"{GROUPS}/told"),
    )


def test_an_applied_pod_keeps_its_containers_by_name(play: Play) -> None:
    path = f"{PODS}/a"
    label = named("v1", "Pod", "a")
    label["metadata"]["labels"] = {"by": "bob"}
    play(
        apply(path, pod("a"), "201"),
        apply(path, label, by="bob"),
        apply(path, named("v1", "Pod", "a", spec={"containers": [{"name": "main", "image": "x"}]}), "409 Conflict",
              by="bob"),
        apply(path, named("v1", "Pod", "a", spec={"containers": [{"name": "main", "image": "x"}]}), by="bob",
              force=True),
        get(path),
    )  # fmt: skip


def test_a_strict_write_has_no_unknown_field(play: Play) -> None:
    unknown = {**named(SKY, "Quota", "strict"), "spec": {"unknown": 1}}
    play(
        post(QUOTAS, unknown, "400 BadRequest", fieldValidation="Strict"),
        post(QUOTAS, unknown, keep="q"),
        put(f"{QUOTAS}/strict", {"$": "q", "spec": {"other": 1}}, "400 BadRequest", fieldValidation="Strict"),
        merge(f"{QUOTAS}/strict", {"spec": {"other": 1}}, "422 Invalid", fieldValidation="Strict"),
        json_patch(f"{QUOTAS}/strict", {"op": "add", "path": "/spec/other", "value": 1}, gets="422 Invalid",
                   fieldValidation="Strict"),
        merge(f"{QUOTAS}/strict", {"spec": {"other": 1}}),
        merge(f"{QUOTAS}/strict", {"spec": {"other": 1}}, fieldValidation="Ignore"),
        get(f"{QUOTAS}/strict"),
    )  # fmt: skip
