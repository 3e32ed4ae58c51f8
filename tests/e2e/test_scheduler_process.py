"""The scheduler as it is deployed: its own process, its own account, a real API server, KWOK for kubelets."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sky_control_plane import ControlPlane, service_account
from sky_scheduler.testing.running import Running

FINISH_AFTER = "sandbox.scheduling.infini-ai.com/finish-after"
SCHEDULER = service_account("sky-system", "sky-scheduler").name
GROUP = "scheduling.infini-ai.com"
OURS = f"{GROUP}/v1alpha1"
GPU = "nvidia.com/gpu"
Object = dict[str, Any]

NODE = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8"}


def named(api_version: str, kind: str, name: str, **fields: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def job(name: str, count: int) -> Object:
    asks = {"requests": {GPU: "4"}, "limits": {GPU: "4"}}
    pod = {
        "metadata": {"annotations": {"scheduling.k8s.io/group-name": name, FINISH_AFTER: "1s"}},
        "spec": {
            "schedulerName": "sky-scheduler",
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "image", "resources": asks}],
        },
    }
    spec = {"completions": count, "parallelism": count, "completionMode": "Indexed", "template": pod}
    return named("batch/v1", "Job", name, spec=spec)


def hopeless(name: str, count: int) -> list[Object]:
    """A gang that asks for more machines than there are."""
    spec = job(name, count)["spec"]["template"]["spec"]
    asks = {"requests": {GPU: "8"}, "limits": {GPU: "8"}}
    spec = {**spec, "containers": [{"name": "main", "image": "image", "resources": asks}]}
    pods = [named("v1", "Pod", f"{name}-{i}", spec=spec) for i in range(count)]
    for pod in pods:
        pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": name}
    return [named(OURS, "PodGroup", name, spec={"minMember": count}), *pods]


@pytest.fixture
def machines(own_plane: ControlPlane) -> ControlPlane:
    nodes = [named("v1", "Node", f"n{i}", status={"allocatable": NODE, "capacity": NODE}) for i in range(2)]
    quotas = [named(OURS, "Quota", f"q{i}", spec={"request": {GPU: "8"}}) for i in range(2)]
    items = [*nodes, *quotas, named(OURS, "Queue", "default", spec={})]
    many = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    done = own_plane.kubectl("apply", "-f", "-", manifest=many)
    assert done.returncode == 0, done.stderr
    return own_plane


def test_a_job_of_indexed_pods_runs_from_apply_to_complete(machines: ControlPlane, run: Callable[..., Running]) -> None:
    plane, scheduler = machines, run()
    began = len(asked(plane))
    items = [named(OURS, "PodGroup", "train", spec={"minMember": 4}), job("train", 4), *hopeless("late", 3)]
    done = plane.kubectl("apply", "-f", "-", manifest=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert done.returncode == 0, done.stderr
    done = plane.kubectl("wait", "--for=condition=complete", "job/train", "--timeout=50s")
    assert done.returncode == 0, done.stderr + scheduler.log.read_text()
    plane.wait_until(lambda: status_of(plane, "podgroups", "default/train").get("phase") == "Completed", 20)
    plane.wait_until(lambda: all(status_of(plane, "quotas", f"q{i}")["phase"] == "QuotaEmpty" for i in range(2)), 20)
    told = plane.kubectl("get", "events", "-o", "jsonpath={range .items[*]}{.reason} {end}").stdout.split()
    assert {"Scheduled", "QuotaBound", "QuotaReleased"} <= set(told)
    plane.wait_until(lambda: status_of(plane, "podgroups", "default/late").get("phase") == "Inqueue", 20)
    wait_for_renewals(plane, 4)  # queues are counted every 5 s
    rested = len(asked(plane))
    wait_for_renewals(plane, 4)
    assert [event["requestURI"] for event in writes(plane, rested)] == []
    refused = [event for event in writes(plane, began) if event["responseStatus"]["code"] >= 400]
    assert [event["requestURI"] for event in refused] == []
    assert scheduler.end() == 0


def status_of(plane: ControlPlane, plural: str, name: str) -> Object:
    namespace, _, name = name.rpartition("/")
    within = f"namespaces/{namespace}/" if namespace else ""
    found: Object = plane.request("GET", f"/apis/{OURS}/{within}{plural}/{name}").body.get("status", {})
    return found


def asked(plane: ControlPlane) -> list[Object]:
    """What the scheduler has asked of the server, but to read."""
    return [
        event
        for event in plane.audit()
        if event["user"].get("username") == SCHEDULER
        and event["verb"] not in ("get", "list", "watch")
        and event["stage"] == "ResponseComplete"
    ]


def wait_for_renewals(plane: ControlPlane, count: int) -> None:
    """Let a scheduler that leads go on for a while."""

    def renewals() -> int:
        return sum(event["objectRef"]["resource"] == "leases" for event in asked(plane))

    enough = renewals() + count
    plane.wait_until(lambda: renewals() >= enough, 30)


def writes(plane: ControlPlane, since: int) -> list[Object]:
    return [event for event in asked(plane)[since:] if event["objectRef"]["resource"] != "leases"]
