"""Objects of every kind that we use: made, read, changed as a whole, and deleted."""

from typing import Any

import pytest

from plays import Play, Step, again, delete, elsewise, get, merge, post, put
from sky_sandbox.testing import named, node, pod

MAPS = "/api/v1/namespaces/$ns/configmaps"
MAP = named("v1", "ConfigMap", "m", data={"a": "1"})
PODS = "/api/v1/namespaces/$ns/pods"
SKY = "scheduling.infini-ai.com/v1alpha1"
OTHER = "8c3ad9a4-0000-4000-8000-000000000000"

KINDS: dict[str, dict[str, Any]] = {
    "/api/v1/nodes": node("whole-life", gpu="8"),
    "/api/v1/namespaces/$ns/pods": pod("whole-life", cpu="1", gpu="1"),
    "/api/v1/namespaces/$ns/configmaps": named("v1", "ConfigMap", "whole-life", data={"a": "1"}),
    "/apis/scheduling.k8s.io/v1/priorityclasses": named("scheduling.k8s.io/v1", "PriorityClass", "whole-life", value=7),
    "/apis/coordination.k8s.io/v1/namespaces/$ns/leases": named(
        "coordination.k8s.io/v1", "Lease", "whole-life", spec={"holderIdentity": "me"}
    ),
    "/apis/policy/v1/namespaces/$ns/poddisruptionbudgets": named(
        "policy/v1", "PodDisruptionBudget", "whole-life", spec={"minAvailable": 1, "selector": {}}
    ),
    f"/apis/{SKY}/quotas": named(SKY, "Quota", "whole-life", spec={"request": {"nvidia.com/gpu": 8}}),
    f"/apis/{SKY}/queues": named(SKY, "Queue", "whole-life", spec={"weight": 3}),
    f"/apis/{SKY}/jobqueues": named(SKY, "JobQueue", "whole-life", spec={"queueName": "q"}),
    f"/apis/{SKY}/nodetopologies": named(SKY, "NodeTopology", "whole-life", spec={"net": {}}),
    f"/apis/{SKY}/namespaces/$ns/podgroups": named(SKY, "PodGroup", "whole-life", spec={"minMember": 2}),
}  # fmt: skip


@pytest.mark.parametrize("path", KINDS, ids=lambda path: path.rsplit("/", 1)[1])
def test_the_life_of_an(play: Play, path: str) -> None:
    one = f"{path}/whole-life"
    play(
        get(one, "404 NotFound"),
        delete(one, gets="404 NotFound"),
        merge(one, {}, "404 NotFound"),
        post(path, KINDS[path], keep="one"),
        post(path, KINDS[path], "409 AlreadyExists"),
        get(one),
        get(path, fieldSelector="metadata.name=whole-life"),
        put(one, again("one", metadata={"labels": {"new": "label"}}), keep="new"),
        put(one, again("new")),
        put(one, again("one", metadata={"labels": {"new": "other"}}), "409 Conflict"),
        put(one, again("new", metadata={"uid": OTHER, "resourceVersion": "$new.resourceVersion"}), "409 Conflict"),
        delete(one, {"preconditions": {"uid": OTHER}}, "409 Conflict"),
        delete(one, {"preconditions": {"resourceVersion": "1"}}, "409 Conflict"),
        delete(one, dryRun="All"),
        delete(one, {"preconditions": {"uid": "$one.uid", "resourceVersion": "$new.resourceVersion"}}),
        get(one, "404 NotFound"),
        get(path, fieldSelector="metadata.name=whole-life"),
    )


VOLUMES: dict[str, dict[str, Any]] = {
    "/api/v1/persistentvolumes": named(
        "v1", "PersistentVolume", "whole-life",
        spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}},
    ),
    "/api/v1/namespaces/$ns/persistentvolumeclaims": named(
        "v1", "PersistentVolumeClaim", "whole-life",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", VOLUMES, ids=lambda path: path.rsplit("/", 1)[1])
def test_the_life_of_storage(play: Play, path: str) -> None:
    one = f"{path}/whole-life"
    play(
        elsewise("protection", post(path, VOLUMES[path])),
        post(path, VOLUMES[path], "409 AlreadyExists"),
        merge(one, {"metadata": {"finalizers": None, "labels": {"a": "b"}}}),
        get(one),
        merge(f"{one}/status", {"status": {"phase": "Bound"}}),
        delete(one),
        get(one, "404 NotFound"),
    )


VERSIONED = ("leases", "poddisruptionbudgets", "quotas", "queues", "jobqueues", "nodetopologies", "podgroups")


@pytest.mark.parametrize("path", KINDS, ids=lambda path: path.rsplit("/", 1)[1])
def test_whether_a_put_must_say_which_version_it_replaces(play: Play, path: str) -> None:
    one = f"{path}/whole-life"
    verdict = "422 Invalid" if path.endswith(VERSIONED) else "200"
    play(
        post(path, KINDS[path], keep="one"),
        put(one, again("one", metadata={"resourceVersion": "", "labels": {"a": "b"}}), verdict),
        put(one, again("one", metadata={"resourceVersion": "x"}), "500"),
        delete(one),
    )


WRONG: dict[str, Step] = {
    "another kind": post(MAPS, named("v1", "Secret", "m"), "400 BadRequest"),
    "another version": post(MAPS, named("v2", "ConfigMap", "m"), "400 BadRequest"),
    "no kind": post(MAPS, {"metadata": {"name": "m"}}),
    "no kind of ours": post(f"/apis/{SKY}/quotas", {"metadata": {"name": "m"}}, "400 BadRequest"),
    "another kind of ours": post(f"/apis/{SKY}/quotas", named(SKY, "Queue", "m"), "422 Invalid"),
    "a version of a new one of ours": post(
        f"/apis/{SKY}/quotas", {**named(SKY, "Quota", "m"), "metadata": {"name": "m", "resourceVersion": "1"}}, "500"
    ),
    "no json": post(MAPS, b"{", "400 BadRequest"),
    "a list": post(MAPS, b"[1]", "400 BadRequest"),
    "no body": post(MAPS, b"", "400 BadRequest"),
    "a slash in its name": post(MAPS, named("v1", "ConfigMap", "a/b"), "422 Invalid"),
    "no value of a label": post(MAPS, {**MAP, "metadata": {"name": "m", "labels": {"a": None}}}),
    "a generation": post(MAPS, {**MAP, "metadata": {"name": "m", "generation": 7}}),
    "a read that has a time-out without a unit": get(MAPS, "400 BadRequest", timeout="3"),
    "a field selector without a value": get(MAPS, "400 BadRequest", fieldSelector="metadata.name"),
    "no name": post(MAPS, {**MAP, "metadata": {}}, "422 Invalid"),
    "an upper case name": post(MAPS, named("v1", "ConfigMap", "Upper"), "422 Invalid"),
    "an upper case name of ours": post(f"/apis/{SKY}/quotas", named(SKY, "Quota", "Upper"), "422 Invalid"),
    "a long name": post(MAPS, named("v1", "ConfigMap", "x" * 254), "422 Invalid"),
    "another namespace": post(MAPS, {**MAP, "metadata": {"name": "m", "namespace": "default"}}, "400 BadRequest"),
    "a namespace that is not there": post("/api/v1/namespaces/nowhere/configmaps", MAP, "404 NotFound"),
    "a version of a new one": post(MAPS, {**MAP, "metadata": {"name": "m", "resourceVersion": "1"}}, "500"),
    "a uid of a new one": post(MAPS, {**MAP, "metadata": {"name": "m", "uid": OTHER}}),
    "a bad label": post(MAPS, {**MAP, "metadata": {"name": "m", "labels": {"a": "-"}}}, "422 Invalid"),
    "a bad label key": post(MAPS, {**MAP, "metadata": {"name": "m", "labels": {"/": "a"}}}, "422 Invalid"),
    "a number as label": post(MAPS, {**MAP, "metadata": {"name": "m", "labels": {"a": 1}}}, "400 BadRequest"),
    "a bad label of ours": post(
        f"/apis/{SKY}/quotas", {**named(SKY, "Quota", "q"), "metadata": {"name": "q", "labels": {"a": "-"}}},
        "422 Invalid",
    ),
    "a bad annotation": post(MAPS, {**MAP, "metadata": {"name": "m", "annotations": {"/": "a"}}}, "422 Invalid"),
    "long annotations": post(
        MAPS, {**MAP, "metadata": {"name": "m", "annotations": {"a": "x" * 300_000}}}, "422 Invalid"
    ),
    "a bad finalizer": post(MAPS, {**MAP, "metadata": {"name": "m", "finalizers": ["/"]}}, "422 Invalid"),
    "a finalizer without a slash": post(MAPS, {**MAP, "metadata": {"name": "m", "finalizers": ["a"]}}, "422 Invalid"),
    "a finalizer of ours without a slash": post(
        f"/apis/{SKY}/quotas", {**named(SKY, "Quota", "f"), "metadata": {"name": "f", "finalizers": ["a"]}}
    ),
    "half an owner": post(
        MAPS,
        {**MAP, "metadata": {"name": "m", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}},
        "422 Invalid",
    ),
    "a group that is not there": get("/apis/absent.example.com/v1/things", "404"),
    "a kind of ours that is not there": get(f"/apis/{SKY}/things", "404"),
    "a version of ours that is not there": get("/apis/scheduling.infini-ai.com/v9/quotas", "404"),
    "a part of ours that is not there": get(f"/apis/{SKY}/quotas/q/scale", "404 NotFound"),
    "a path that is not there": get("/nothing", "404"),
    "a namespace kind without a namespace": get(
        f"/apis/{SKY}/podgroups", fieldSelector="metadata.namespace=$ns"
    ),
    "a post to an object": post(f"{MAPS}/m", MAP, "405 MethodNotAllowed"),
    "a put to a collection": put(MAPS, MAP, "405 MethodNotAllowed"),
    "a time-out without a unit": post(MAPS, MAP, "400 BadRequest", timeout="3"),
    "a time-out": post(MAPS, MAP, timeout="3s"),
    "an unknown way of validation": post(MAPS, MAP, "422 Invalid", fieldValidation="Sloppy"),
    "an unknown dry run": post(MAPS, MAP, "422 Invalid", dryRun="Some"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG, ids=lambda what: what.replace(" ", "-"))
def test_an_odd_request_with(play: Play, what: str) -> None:
    play(WRONG[what])


def test_a_name_is_made_up(play: Play) -> None:
    play(
        post(MAPS, {**MAP, "metadata": {"generateName": "made-up-"}}, keep="m"),
        get(f"{MAPS}/$m.name"),
        post(MAPS, {**MAP, "metadata": {"name": "named", "generateName": "made-up-"}}),
    )


def test_a_whole_object_is_put_without_uid_and_version(play: Play) -> None:
    play(
        post(MAPS, MAP),
        put(f"{MAPS}/m", {**MAP, "data": {"a": "2"}}),
        put(f"{MAPS}/m", named("v1", "ConfigMap", "other"), "400 BadRequest"),
        put(f"{MAPS}/absent", named("v1", "ConfigMap", "absent"), "404 NotFound"),
    )


def test_data_may_be_taken_away(play: Play) -> None:
    play(post(MAPS, MAP), put(f"{MAPS}/m", {**MAP, "data": None}), put(f"{MAPS}/m", {**MAP, "data": {"a": None}}))


def test_namespaces(play: Play) -> None:
    path = "/api/v1/namespaces"
    play(
        post(path, named("v1", "Namespace", "a.b"), "422 Invalid"),
        post(path, named("v1", "Namespace", "$ns"), "409 AlreadyExists"),
        merge(f"{path}/$ns", {"metadata": {"labels": {"a": "b"}}}),
        get(f"{path}/$ns"),
        get(f"{path}/default"),
        delete(f"{path}/default", gets="403 Forbidden"),
        delete(f"{path}/absent", gets="404 NotFound"),
        delete(path, gets="405 MethodNotAllowed"),
    )


def test_a_name_is_taken_until_its_object_is_gone(play: Play) -> None:
    held = {**MAP, "metadata": {"name": "m", "finalizers": ["example.com/a"]}}
    play(
        post(MAPS, held),
        delete(f"{MAPS}/m"),
        post(MAPS, MAP, "409 AlreadyExists"),
        merge(f"{MAPS}/m", {"data": {"c": "1"}}),
        merge(f"{MAPS}/m", {"metadata": {"finalizers": None}}),
        post(MAPS, MAP),
    )


def test_a_node_tells_its_state_by_its_status(play: Play) -> None:
    one = "/api/v1/nodes/tells"
    play(
        post("/api/v1/nodes", node("tells", cpu="4")),
        merge(one, {"status": {"allocatable": {"cpu": "5"}}}),
        merge(f"{one}/status", {"status": {"allocatable": {"cpu": "6000m"}, "phase": "x"}}),
        merge(f"{one}/status", {"metadata": {"labels": {"a": "b"}}, "spec": {"unschedulable": True}}),
        merge(f"{one}/status", {"status": {"allocatable": {"cpu": "many"}}}, "422 Invalid"),
        get(one),
    )


def test_finalizers_hold_an_object_back(play: Play) -> None:
    quotas = f"/apis/{SKY}/quotas"
    held = named(SKY, "Quota", "held-back")
    held["metadata"]["finalizers"] = ["example.com/a", "example.com/b"]
    play(
        post(quotas, held),
        delete(f"{quotas}/held-back"),
        get(f"{quotas}/held-back", keep="going"),
        delete(f"{quotas}/held-back"),
        merge(f"{quotas}/held-back", {"metadata": {"finalizers": ["example.com/a"]}}),
        merge(f"{quotas}/held-back", {"metadata": {"finalizers": ["example.com/a", "example.com/c"]}}, "422 Invalid"),
        merge(f"{quotas}/held-back", {"metadata": {"finalizers": None}}),
        get(f"{quotas}/held-back", "404 NotFound"),
    )


def test_a_collection_is_deleted(play: Play) -> None:
    labelled = {**MAP, "metadata": {"name": "labelled", "labels": {"a": "b"}}}
    play(
        post(MAPS, MAP),
        post(MAPS, labelled),
        delete(MAPS, labelSelector="a=b"),
        get(MAPS),
        delete(MAPS),
        get(MAPS),
    )


def test_orphans_and_dependents_are_deleted_alike_where_nobody_collects_garbage(play: Play) -> None:
    play(
        post(MAPS, MAP),
        delete(f"{MAPS}/m", {"propagationPolicy": "Background"}),
        post(MAPS, MAP),
        elsewise("garbage", delete(f"{MAPS}/m", propagationPolicy="Foreground")),
    )


def test_a_dry_run_leaves_no_trace(play: Play) -> None:
    play(
        post(MAPS, MAP, dryRun="All"),
        get(f"{MAPS}/m", "404 NotFound"),
        post(MAPS, MAP),
        post(MAPS, MAP, "409 AlreadyExists", dryRun="All"),
        put(f"{MAPS}/m", {**MAP, "data": {"a": "2"}}, dryRun="All"),
        merge(f"{MAPS}/m", {"data": {"a": "3"}}, dryRun="All"),
        delete(f"{MAPS}/m", {"dryRun": ["All"]}),
        delete(f"{MAPS}/m", dryRun="All"),
        get(f"{MAPS}/m"),
    )


def test_generation_counts_changes_of_the_spec(play: Play) -> None:
    quotas = f"/apis/{SKY}/quotas"
    play(
        post(quotas, named(SKY, "Quota", "counted")),
        merge(f"{quotas}/counted", {"metadata": {"labels": {"a": "b"}}}),
        merge(f"{quotas}/counted", {"spec": {"queueName": "q"}}),
        merge(f"{quotas}/counted/status", {"status": {"epoch": 1}}),
        merge(f"{quotas}/counted", {"metadata": {"generation": 9}}),
    )
