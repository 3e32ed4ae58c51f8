"""Tables, as `kubectl get` asks for them: our printer columns, and those of core kinds that no path can say."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest

from plays import Step
from sky_control_plane import ControlPlane
from sky_sandbox.testing import Caller, named, node, pod
from transcripts import Answer, Transcript, differences

SKY = "scheduling.infini-ai.com/v1alpha1"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
TIME = "2026-01-01T00:00:00Z"
ADDRESS = {"type": "InternalIP", "address": "10.0.0.1"}
READY = {"type": "Ready", "status": "True"}
REASONS = [{"code": "TopologyZoneInsufficient"}]

SHOWN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    f"/apis/{SKY}/quotas": (
        named(
            SKY, "Quota", "shown",
            spec={"request": {"nvidia.com/gpu": 8}, "nodeSelector": {"scheduling.infini-ai.com/spec": "a100"}},
        ),
        {"nodeName": "n1", "phase": "QuotaBound", "allocated": {"nvidia.com/gpu": "4"}, "epoch": 7},
    ),
    f"/apis/{SKY}/namespaces/default/podgroups": (
        named(SKY, "PodGroup", "shown", spec={"minMember": 2}),
        {"phase": "Pending", "pending": 2, "rung": "AllocateZone", "reasons": REASONS, "nextAttemptTime": TIME},
    ),
    f"/apis/{SKY}/queues": (named(SKY, "Queue", "shown", spec={"capability": {"nvidia.com/gpu": 64}}), {"running": 2}),
    f"/apis/{SKY}/jobqueues": (named(SKY, "JobQueue", "shown", spec={"suspend": True}), {"pending": 1}),
    f"/apis/{SKY}/nodetopologies": (
        named(SKY, "NodeTopology", "shown", spec={"net": {"roce": [{"name": "eth0", "switchName": "leaf-1"}]}}),
        {"lastSeen": TIME},
    ),
    "/api/v1/namespaces/default/pods": (pod("shown", node="n1"), {"phase": "Running", "conditions": [READY]}),
    "/api/v1/nodes": (node("shown", gpu="8"), {"conditions": [READY], "addresses": [ADDRESS]}),
    "/api/v1/persistentvolumes": (
        named("v1", "PersistentVolume", "shown", spec={
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
            "hostPath": {"path": "/x"}, "storageClassName": "fast",
            "claimRef": {"namespace": "default", "name": "shown"},
        }),
        {"phase": "Bound"},
    ),
    "/api/v1/namespaces/default/persistentvolumeclaims": (
        named("v1", "PersistentVolumeClaim", "shown", spec={
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "volumeName": "shown",
        }),
        {"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]},
    ),
    "/api/v1/namespaces": (named("v1", "Namespace", "shown"), {}),
    "/api/v1/namespaces/default/configmaps": (named("v1", "ConfigMap", "shown", data={"a": "b"}), {}),
    "/apis/coordination.k8s.io/v1/namespaces/default/leases": (
        named("coordination.k8s.io/v1", "Lease", "shown", spec={"holderIdentity": "me"}), {}
    ),
    "/apis/scheduling.k8s.io/v1/priorityclasses": (
        named("scheduling.k8s.io/v1", "PriorityClass", "shown", value=7), {}
    ),
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets": (
        named("policy/v1", "PodDisruptionBudget", "shown", spec={"minAvailable": "50%", "selector": {}}), {}
    ),
    "/api/v1/namespaces/default/events": (
        named(
            "v1", "Event", "shown", involvedObject={"kind": "Pod", "name": "p", "namespace": "default"},
            type="Normal", reason="R", message="m", firstTimestamp=TIME, lastTimestamp=TIME, count=3,
            source={"component": "c", "host": "h"},
        ),
        {},
    ),
    "/apis/events.k8s.io/v1/namespaces/default/events": (
        named(
            "events.k8s.io/v1", "Event", "newer", regarding={"kind": "Pod", "name": "p", "namespace": "default"},
            type="Normal", reason="R", action="A", note="m", eventTime="2026-01-01T00:00:00.000000Z",
            reportingController="c", reportingInstance="i",
        ),
        {},
    ),
}  # fmt: skip


@pytest.fixture
def ask(bare_plane: ControlPlane, sky: Caller) -> Callable[..., tuple[Answer, Answer]]:
    """The answers of a real API server and of a sandbox."""

    def both(method: str, path: str, body: object = None, accept: str = "application/json") -> tuple[Answer, Answer]:
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        bare, _, query = path.partition("?")
        truth = bare_plane.request(method, path, body, content_type=media, accept=accept)
        copy = sky.ask(method, bare, body, media=media, accept=accept, query=dict(parse_qsl(query)))
        return Answer(truth.status, {}, truth.body), Answer(copy.status, {}, copy.body)

    return both


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.rsplit("/", 1)[1])
def test_a_table_of(ask: Callable[..., tuple[Answer, Answer]], path: str) -> None:
    raw, status = SHOWN[path]
    one = f"{path}/{raw['metadata']['name']}"
    made = [ask("POST", path, raw), ask("PATCH", one, {"metadata": {"finalizers": None}})]  # a real server adds some
    if status:
        made.append(ask("PATCH", f"{one}/status", {"status": status}))
    assert all(answer.status in {200, 201} for both in made for answer in both)
    asked = [one, f"{path}?fieldSelector=metadata.name={raw['metadata']['name']}", f"{one}?includeObject=None"]
    steps = [Step(method="GET", path=one) for one in asked]
    answers = [ask("GET", one, accept=TABLE) for one in asked]
    truth, copy = (Transcript(steps, [answer[i] for answer in answers]) for i in (0, 1))
    if found := differences(truth, copy):
        pytest.fail("\n".join(found), pytrace=False)
