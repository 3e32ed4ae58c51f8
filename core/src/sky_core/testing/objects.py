"""Kubernetes objects for tests, as they come from a server: a test states what matters to it, the rest is plain."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from sky_core.api.intake import Intake
from sky_core.settings import PREFIX, Settings
from sky_core.world import World

Object: TypeAlias = dict[str, Any]
GPU: Final = "nvidia.com/gpu"
HCA: Final = "rdma/hca"
SPOT: Final = f"{PREFIX}spot-gpu"
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
CREATED: Final = "2026-01-01T00:00:00Z"
OURS: Final = f"{PREFIX}v1alpha1"


def world_of(objects: Iterable[Mapping[str, Any]]) -> World:
    """The world of these objects."""
    intake = Intake(Settings())
    for one in objects:
        intake.put(one)
    return intake.world()


def meta(name: str, namespace: str | None = None, *, notes: Mapping[str, str] | None = None, **fields: Any) -> Object:
    """Metadata; a note's key without a slash is one of ours."""
    made: Object = {"name": name, "creationTimestamp": CREATED, **fields}
    if namespace is not None:
        made["namespace"] = namespace
    if notes:
        made["annotations"] = {key if "/" in key else PREFIX + key: text for key, text in notes.items()}
    return made


def pod(
    name: str,
    requests: Mapping[str, object] | None = None,
    *,
    namespace: str = "default",
    group: str | None = None,
    scheduler: str = "sky-scheduler",
    on: str | None = None,
    phase: str | None = None,
    notes: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A pod of one container; on a node it runs."""
    joined = {**({GROUP_NAME: group} if group else {}), **(notes or {})}
    body: Object = {
        "schedulerName": scheduler,
        "containers": [{"name": "main", "resources": {"requests": dict(requests or {})}}],
        **({"nodeName": on} if on else {}),
        **spec,
    }
    found = {"phase": phase or ("Running" if on else "Pending"), **(status or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, namespace, notes=joined, **(metadata or {})),
        "spec": body,
        "status": found,
    }


def node(
    name: str,
    allocatable: Mapping[str, object] | None = None,
    *,
    notes: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    conditions: list[Object] | None = None,
    **spec: Any,
) -> Object:
    """A node that is ready, of 8 cards where nothing else is said."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110", GPU: "8"} if allocatable is None else dict(allocatable)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, notes=notes, labels=dict(labels or {})),
        "spec": spec,
        "status": {"allocatable": amounts, "conditions": [ready] if conditions is None else conditions},
    }


def quota(
    name: str,
    request: Mapping[str, object] | None = None,
    *,
    queue: str = "default",
    status: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A quota, of one card where nothing else is said."""
    body = {"queueName": queue, "request": {GPU: "1"} if request is None else dict(request), **spec}
    return _ours("Quota", meta(name, **(metadata or {})), body, dict(status or {}))


def claim(pod_name: str, resources: Mapping[str, str], *, namespace: str = "default", **fields: Any) -> Object:
    """An entry of a quota's `status.tasks` for a pod without a uid and a group of its own."""
    return {
        "namespace": namespace,
        "name": pod_name,
        "uid": f"Pod/{namespace}/{pod_name}",
        "job": f"pod/{pod_name}",
        "rank": pod_name,
        "resources": dict(resources),
        **fields,
    }


def group(
    name: str,
    min_member: object = 1,
    *,
    namespace: str = "default",
    notes: Mapping[str, str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """A PodGroup."""
    told = meta(name, namespace, notes=notes, **(metadata or {}))
    return _ours("PodGroup", told, {"minMember": min_member, **spec}, dict(status or {}))


def queue(name: str, **spec: Any) -> Object:
    """A Queue."""
    return _ours("Queue", meta(name), spec)


def job_queue(name: str, **spec: Any) -> Object:
    """A JobQueue."""
    return _ours("JobQueue", meta(name), spec)


def topology(name: str, *switches: str, fabric: str = "roce", **metadata: Any) -> Object:
    """A NodeTopology with a NIC for each switch."""
    nics = [{"name": f"nic{i}", "switchName": switch} for i, switch in enumerate(switches)]
    return _ours("NodeTopology", meta(name, **metadata), {"net": {fabric: nics}})


def namespace(name: str, **labels: str) -> Object:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta(name, labels=labels)}


def priority_class(name: str, value: object, **fields: Any) -> Object:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": meta(name),
        "value": value,
        **fields,
    }


def volume(name: str, *nodes: str) -> Object:
    """A PersistentVolume that can be reached from nodes with one of these values of the label `disk`."""
    terms = [{"matchExpressions": [{"key": "disk", "operator": "In", "values": list(nodes)}]}]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}} if nodes else {}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": meta(name), "spec": affinity}


def volume_claim(name: str, volume_name: str = "", *, namespace: str = "default") -> Object:
    """A PersistentVolumeClaim, bound where it names a volume."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta(name, namespace),
        "spec": {"volumeName": volume_name} if volume_name else {},
    }


def budget(name: str, labels: Mapping[str, str], *, namespace: str = "default", **spec: Any) -> Object:
    """A PodDisruptionBudget over the pods with these labels."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": meta(name, namespace),
        "spec": {"selector": {"matchLabels": dict(labels)}, **spec},
    }


def _ours(kind: str, metadata: Object, spec: Mapping[str, Any], status: Object | None = None) -> Object:
    made = {"apiVersion": OURS, "kind": kind, "metadata": metadata, "spec": dict(spec)}
    return {**made, "status": status} if status else made
