"""Pods: what becomes of them when they come in, what of them may change, and how they go."""

from typing import Any

import pytest

from plays import Play, again, delete, elsewise, get, json_patch, learned, merge, post, put, strategic
from sky_sandbox.testing import named, pod

PODS = "/api/v1/namespaces/$ns/pods"
OTHER = "8c3ad9a4-0000-4000-8000-000000000000"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def spec(**more: Any) -> dict[str, Any]:
    return named("v1", "Pod", "p", spec={"containers": [{"name": "main", "image": "image"}], **more})


def asking(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None) -> dict[str, Any]:
    asked = {name: value for name, value in (("requests", requests), ("limits", limits)) if value is not None}
    return spec(containers=[{"name": "main", "image": "image", "resources": asked}])


CONTAINER = {"name": "main", "image": "image"}
GPU = "nvidia.com/gpu"
FINE: dict[str, dict[str, Any]] = {
    "nothing more": spec(),
    "a request": asking({"cpu": "500m"}),
    "a limit": asking(limits={"cpu": 1, "memory": "1Gi", GPU: 8}),
    "a request and a limit": asking({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
    "a request of cpu and a limit of memory": asking({"cpu": "1"}, {"memory": "1Gi"}),
    "amounts in odd units": asking({"cpu": "1000m", "memory": "1024Mi", "ephemeral-storage": "1e3"}),
    "ports": spec(containers=[{**CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 81}]}]),
    "a host network": spec(hostNetwork=True, containers=[{**CONTAINER, "ports": [{"containerPort": 80}]}]),
    "an init container": spec(initContainers=[{**CONTAINER, "name": "init", "resources": {"limits": {"cpu": 2}}}]),
    "a sidecar": spec(initContainers=[{**CONTAINER, "name": "side", "restartPolicy": "Always"}]),
    "tolerations": spec(tolerations=[{"key": "a", "operator": "Exists"}, {"operator": "Exists"}]),
    "a toleration of nodes that are not ready": spec(
        tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}]
    ),
    "a gate": spec(schedulingGates=[{"name": "example.com/a"}]),
    "another scheduler": spec(schedulerName="sky-scheduler"),
    "a system's priority": spec(priorityClassName="system-node-critical"),
    "an affinity": spec(
        affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}]}}
    ),
    "a spread": spec(
        topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                    "labelSelector": {"matchLabels": {"a": "b"}}}]
    ),
    "a claim": spec(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]),
    "an empty folder": spec(volumes=[{"name": "v", "emptyDir": {}}]),
    "no grace": spec(terminationGracePeriodSeconds=0),
    "a node": spec(nodeName="n1"),
    "a restart policy": spec(restartPolicy="Never"),
    "a phase that it says it has": {**spec(), "status": {"phase": "Running"}},
}  # fmt: skip


@pytest.mark.parametrize("what", FINE, ids=lambda what: what.replace(" ", "-"))
def test_a_new_pod_with(play: Play, what: str) -> None:
    play(post(PODS, FINE[what]), get(f"{PODS}/p"))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no containers": (named("v1", "Pod", "p", spec={}), "422 Invalid"),
    "no spec": (named("v1", "Pod", "p"), "422 Invalid"),
    "no image": (spec(containers=[{"name": "main"}]), "422 Invalid"),
    "no name of a container": (spec(containers=[{"image": "image"}]), "422 Invalid"),
    "two containers of one name": (spec(containers=[CONTAINER, CONTAINER]), "422 Invalid"),
    "a name of a container that is none": (spec(containers=[{"name": "A", "image": "image"}]), "422 Invalid"),
    "more of a device than its limit": (asking({GPU: 2}, {GPU: 1}), "422 Invalid"),
    "a priority of its own": (spec(priority=7), "403 Forbidden"),
    "a preemption policy of its own": (spec(preemptionPolicy="Never"), "403 Forbidden"),
    "a gate that is no name": (spec(schedulingGates=[{"name": "a b"}]), "422 Invalid"),
    "a selector of no label": (spec(nodeSelector={"a b": "c"}), "422 Invalid"),
    "an effect that is none": (spec(tolerations=[{"key": "a", "effect": "Odd"}]), "422 Invalid"),
    "a value that exists": (spec(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}]), "422 Invalid"),
    "seconds to tolerate anything": (spec(tolerations=[{"operator": "Exists", "tolerationSeconds": 3}]), "422 Invalid"),
    "a number as the key of a toleration": (spec(tolerations=[{"key": 1}]), "400 BadRequest"),
    "a number as a gate": (spec(schedulingGates=[{"name": 1}]), "400 BadRequest"),
    "a negative limit": (asking(limits={"cpu": "-1"}), "422 Invalid"),
    "a negative amount": (asking({"cpu": "-1"}), "422 Invalid"),
    "an amount that is none": (asking({"cpu": "many"}), "400 BadRequest"),
    "half a device": (asking(limits={GPU: "500m"}), "422 Invalid"),
    "a device that is not limited": (asking({GPU: 1}), "422 Invalid"),
    "a request above its limit": (asking({"cpu": 2}, {"cpu": 1}), "422 Invalid"),
    "a node and a gate": (spec(nodeName="n1", schedulingGates=[{"name": "example.com/a"}]), "422 Invalid"),
    "the same gate twice": (spec(schedulingGates=[{"name": "a"}, {"name": "a"}]), "422 Invalid"),
    "a class that is not there": (spec(priorityClassName="absent"), "403 Forbidden"),
    "a restart policy that is none": (spec(restartPolicy="Sometimes"), "422 Invalid"),
    "an overhead": (spec(overhead={"cpu": "100m"}), "403 Forbidden"),
    "a toleration of nothing": (spec(tolerations=[{"operator": "Equal"}]), "422 Invalid"),
    "an operator that is none": (spec(tolerations=[{"key": "a", "operator": "Odd"}]), "422 Invalid"),
}


@pytest.mark.parametrize("what", WRONG, ids=lambda what: what.replace(" ", "-"))
def test_no_pod_has(play: Play, what: str) -> None:
    raw, verdict = WRONG[what]
    play(post(PODS, raw, verdict))


def test_priorities_come_from_classes(play: Play) -> None:
    def made(name: str, value: int, **more: Any) -> dict[str, Any]:
        return named("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **more)

    play(
        post(CLASSES, made("classed-high", 1000, preemptionPolicy="Never")),
        post(CLASSES, made("classed-too-high", 1_000_000_001), "422 Invalid"),
        post(CLASSES, named("scheduling.k8s.io/v1", "PriorityClass", "classed", value="x"), "400 BadRequest"),
        post(CLASSES, made("system-classed", 1), "422 Invalid"),
        merge(f"{CLASSES}/classed-high", {"value": 1001}, "422 Invalid"),
        merge(f"{CLASSES}/classed-high", {"description": "d"}),
        learned(post(PODS, spec(priorityClassName="classed-high"), dryRun="All"), spec={"priority": 1000}),
        post(CLASSES, made("classed-usual", 7, globalDefault=True)),
        learned(post(PODS, pod("usual"), dryRun="All"), spec={"priority": 7}),
        delete(f"{CLASSES}/classed-usual"),
        learned(post(PODS, pod("unusual"), dryRun="All"), spec={"priority": 0}),
    )


def test_little_of_a_pod_may_change(play: Play) -> None:
    play(
        post(PODS, pod("a", cpu="1"), keep="a"),
        merge(f"{PODS}/a", {"spec": {"nodeName": "n1"}}, "422 Invalid"),
        merge(f"{PODS}/a", {"spec": {"schedulerName": "other"}}, "422 Invalid"),
        merge(f"{PODS}/a", {"spec": {"nodeSelector": {"a": "b"}}}, "422 Invalid"),
        merge(f"{PODS}/a", {"spec": {"priority": 5}}, "422 Invalid"),
        merge(f"{PODS}/a", {"spec": {"tolerations": []}}),
        merge(f"{PODS}/a", {"spec": {"schedulingGates": [{"name": "a"}]}}, "422 Invalid"),
        merge(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}, "annotations": {"z": "1"}}}),
        merge(f"{PODS}/a", {"status": {"phase": "Failed"}}),
        merge(f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 60}}),
        put(f"{PODS}/a", pod("a", cpu="2"), "422 Invalid"),
        get(f"{PODS}/a"),
    )


def test_more_of_a_pod_may_change_than_labels(play: Play) -> None:
    raw = pod("a", cpu="1")
    more = [{"key": "k", "operator": "Exists"}]
    play(
        post(PODS, raw, keep="a"),
        put(f"{PODS}/a", raw, "422 Invalid"),
        strategic(f"{PODS}/a", {"spec": {"containers": [{"name": "main", "image": "other"}]}}),
        json_patch(f"{PODS}/a", {"op": "add", "path": "/spec/tolerations/-", "value": more[0]}),
        merge(f"{PODS}/a", {"spec": {"tolerations": more}}),
        merge(f"{PODS}/a", {"metadata": {"uid": OTHER}}, "422 Invalid"),
        put(f"{PODS}/a", again("a", metadata={"resourceVersion": ""}), "422 Invalid"),
        get(f"{PODS}/a"),
    )


def test_the_status_of_a_pod_is_patched(play: Play) -> None:
    status = f"{PODS}/a/status"
    play(
        post(PODS, pod("a"), keep="a"),
        merge(status, {"status": {"phase": "Running"}, "spec": {"nodeName": "n"}}),
        merge(status, {"metadata": {"labels": {"x": "y"}}}),
        merge(status, {"metadata": {"annotations": {"x": "y"}}, "status": {"message": "m"}}),
        merge(status, {"metadata": {"resourceVersion": "$a.resourceVersion"}}, "409 Conflict"),
        merge(status, {"metadata": {"uid": OTHER}, "status": {"message": "n"}}, "422 Invalid"),
        merge(f"{PODS}/absent/status", {}, "404 NotFound"),
        get(status),
    )


def test_the_affinity_of_a_gated_pod_stays(play: Play) -> None:
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}]}}
    play(
        post(PODS, spec(schedulingGates=[{"name": "example.com/a"}])),
        elsewise("gated affinity", merge(f"{PODS}/p", {"spec": {"affinity": anti}}, "422 Invalid")),
    )


def test_a_gated_pod_may_be_narrowed(play: Play) -> None:
    raw = pod("a")
    raw["spec"]["schedulingGates"] = [{"name": "example.com/a"}, {"name": "example.com/b"}]
    play(
        post(PODS, raw),
        merge(f"{PODS}/a", {"spec": {"nodeSelector": {"a": "b"}}}),
        merge(f"{PODS}/a", {"spec": {"nodeSelector": {"a": "c"}}}, "422 Invalid"),
        merge(f"{PODS}/a", {"spec": {"nodeSelector": {"x": "y"}}}),
        merge(f"{PODS}/a", {"spec": {"schedulingGates": [{"name": "example.com/c"}]}}, "422 Invalid"),
        merge(f"{PODS}/a", {"spec": {"schedulingGates": [{"name": "example.com/a"}]}}),
        merge(f"{PODS}/a", {"spec": {"schedulingGates": None}}),
        merge(f"{PODS}/a", {"spec": {"nodeSelector": {"x": "z"}}}, "422 Invalid"),
        get(f"{PODS}/a"),
    )


def test_a_pod_on_a_node_goes_in_its_own_time(play: Play) -> None:
    play(
        post(PODS, pod("a", node="n1"), keep="a"),
        delete(f"{PODS}/a", dryRun="All"),
        delete(f"{PODS}/a"),
        get(f"{PODS}/a"),
        delete(f"{PODS}/a"),
        delete(f"{PODS}/a", {"gracePeriodSeconds": 60}),
        delete(f"{PODS}/a", gracePeriodSeconds=5),
        delete(f"{PODS}/a", {"gracePeriodSeconds": 1}),
        get(f"{PODS}/a"),
        delete(f"{PODS}/a", {"gracePeriodSeconds": 0, "preconditions": {"uid": "$a.uid"}}),
        get(f"{PODS}/a", "404 NotFound"),
    )


def test_a_pod_without_a_node_and_one_that_has_ended_go_at_once(play: Play) -> None:
    play(
        post(PODS, pod("a")),
        delete(f"{PODS}/a"),
        get(f"{PODS}/a", "404 NotFound"),
        post(PODS, pod("b", node="n1"), keep="b"),
        put(f"{PODS}/b/status", again("b", status={"phase": "Succeeded"})),
        delete(f"{PODS}/b", {"gracePeriodSeconds": 30}),
        get(f"{PODS}/b", "404 NotFound"),
    )


def test_a_pod_with_a_finalizer_stays_until_it_is_taken_away(play: Play) -> None:
    raw = pod("a", node="n1")
    raw["metadata"]["finalizers"] = ["example.com/a"]
    play(
        post(PODS, raw),
        delete(f"{PODS}/a", {"gracePeriodSeconds": 0}),
        get(f"{PODS}/a"),
        merge(f"{PODS}/a", {"metadata": {"finalizers": ["example.com/a", "example.com/b"]}}, "422 Invalid"),
        merge(f"{PODS}/a", {"metadata": {"finalizers": None}}),
        get(f"{PODS}/a", "404 NotFound"),
    )


def test_a_finalizer_that_goes_first_leaves_the_pod_its_grace(play: Play) -> None:
    raw = pod("a", node="n1")
    raw["metadata"]["finalizers"] = ["example.com/a"]
    play(
        post(PODS, raw),
        delete(f"{PODS}/a"),
        merge(f"{PODS}/a", {"metadata": {"finalizers": None}}),
        get(f"{PODS}/a"),
        delete(f"{PODS}/a", {"gracePeriodSeconds": 0}),
        get(f"{PODS}/a", "404 NotFound"),
    )


def test_pods_of_a_namespace_go_together(play: Play) -> None:
    play(post(PODS, pod("a")), post(PODS, pod("b", node="n1")), delete(PODS, labelSelector="app in (a,b)"), get(PODS))
