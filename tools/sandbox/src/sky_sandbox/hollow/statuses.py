"""The statuses that kubelets write."""

from typing import Any

from sky_core.api.conditions import condition, merged
from sky_core.model import Instant
from sky_core.simulation.objects import Object, conditions, part, text, written
from sky_sandbox.api.metadata import timestamp, whole
from sky_sandbox.objects.parts import items

_STEPS = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
_WHILE_ENDED = {"PodReadyToStartContainers": False, "Ready": False, "ContainersReady": False}
_ROOM = {"cpu": "1k", "memory": "1Ti", "pods": "1M"}


def running(pod: Object, now: Instant) -> Object:
    """The status of a pod that runs from now on."""
    at = timestamp(now)
    status = {**part(pod, "status"), "phase": "Running", "startTime": at, "podIP": "10.0.0.1", "hostIP": "127.0.0.1"}
    status["containerStatuses"] = _containers(pod, {"running": {"startedAt": at}}, ready=True)
    return _with_conditions(pod, status, now)


def ended(pod: Object, now: Instant, *, succeeds: bool) -> Object:
    """The status of a pod that has come to its end."""
    state = {"exitCode": 0 if succeeds else 1, "reason": "Completed" if succeeds else "Error"}
    status = {**part(pod, "status"), "phase": "Succeeded" if succeeds else "Failed"}
    terminated = {**state, "finishedAt": timestamp(now)}
    status["containerStatuses"] = _containers(pod, {"terminated": terminated}, ready=False)
    return _with_conditions(pod, status, now, _WHILE_ENDED)


def rejected(pod: Object, reason: str, message: str, now: Instant) -> Object:
    """The status of a pod that the kubelet does not take."""
    refused = {"phase": "Failed", "reason": reason, "message": message, "startTime": timestamp(now)}
    return {**part(pod, "status"), **refused}


def ready(node: Object, now: Instant) -> Object:
    """The status of a node that is ready, with room as it says, or more than enough."""
    status = part(node, "status")
    allocatable = status.get("allocatable") or status.get("capacity") or _ROOM
    told = condition("Ready", holds=True, reason="KubeletReady", message="hollow kubelet is posting ready status")
    told = {**told, "lastHeartbeatTime": timestamp(now)}
    return {
        "addresses": [{"type": "Hostname", "address": node["metadata"]["name"]}],
        "nodeInfo": {"kubeletVersion": "hollow", "operatingSystem": "linux", "architecture": "amd64"},
        "capacity": allocatable,
        **status,
        "allocatable": allocatable,
        "conditions": merged(conditions(node), told, whole(now)),
    }


def _containers(pod: Object, state: dict[str, Any], *, ready: bool) -> list[dict[str, Any]]:
    return [
        {
            "name": text(one, "name"), "image": text(one, "image"), "imageID": "", "ready": ready, "started": ready,
            "restartCount": 0, "state": state,
        }
        for one in items(part(pod, "spec"), "containers")
    ]  # fmt: skip


def _with_conditions(
    pod: Object, status: dict[str, Any], now: Instant, lacking: dict[str, bool] | None = None
) -> Object:
    told = conditions(pod)
    for name in _STEPS:
        told = list(merged(told, condition(name, holds=(lacking or {}).get(name, True)), whole(now)))
    return {
        **status,
        "conditions": [written(one, ("message",), None) if not one.get("message") else one for one in told],
    }
