"""What a race is run on: machines, gangs of one-card pods, and quotas for them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sky_core.settings import PREFIX
from sky_shell.resources import NODES, POD_GROUPS, PODS, QUEUES, QUOTAS, Resource

Object = dict[str, Any]

CARD: Final = "nvidia.com/gpu"
GROUP: Final = "scheduling.k8s.io/group-name"
CARDS: Final = 8
"""Of a machine, and of a gang."""
LEAF: Final = 32
AT: Final = "2026-01-01T00:00:00Z"


def node(index: int) -> Object:
    """A machine that is up; its taints are to be taken off, since no server creates one without."""
    amounts = {"cpu": "96", "memory": "1Ti", "pods": "110", CARD: str(CARDS)}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
             "lastHeartbeatTime": AT, "lastTransitionTime": AT}  # fmt: skip
    labels = {f"{PREFIX}zone": f"leaf-{index // LEAF}", "kubernetes.io/hostname": node_name(index)}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    return made(NODES, node_name(index), {}, labels=labels) | {"status": status}


def node_name(index: int) -> str:
    """So that names in their order are machines in theirs."""
    return f"node-{index:05d}"


def queue() -> Object:
    """The one that everybody is in."""
    return made(QUEUES, "default", {"weight": 1})


def gang(name: str, quotas: int) -> Iterator[tuple[Resource, Object]]:
    """A PodGroup and its quotas."""
    yield POD_GROUPS, made(POD_GROUPS, name, {"minMember": CARDS, "queue": "default"}, namespace="default")
    for i in range(quotas):
        spec = {"queueName": "default", "request": _amounts(CARDS // quotas)}
        yield QUOTAS, made(QUOTAS, f"{name}-{i}", spec)


def pods(gang: str, scheduler: str, node: str = "") -> Iterator[tuple[Resource, Object]]:
    """The members of a gang, for this scheduler to place; or on a machine already."""
    asked = {"requests": _amounts(1), "limits": {CARD: "1"}}
    spec: Object = {"schedulerName": scheduler, "containers": [{"name": "main", "image": "train", "resources": asked}]}
    if node:
        spec["nodeName"] = node
    for i in range(CARDS):
        notes = {GROUP: gang}
        yield PODS, made(PODS, f"{gang}-{i}", spec, namespace="default", annotations=notes)


def bound(quota: Object, node: str, members: Sequence[Object], epoch: int = 0) -> Object:
    """The status of a quota on this machine that these pods have claimed, all in all."""
    condition = {"type": "Bound", "status": "True", "reason": "QuotaBound", "message": f"bound to node {node}"}
    status = {
        "phase": "QuotaBound",
        "nodeName": node,
        "allocated": quota["spec"]["request"],
        "tasks": [_claim(pod["metadata"], pod["spec"]["containers"][0]["resources"]["requests"]) for pod in members],
        "epoch": epoch,
        "conditions": [{**condition, "lastTransitionTime": AT}],
    }
    return {name: value for name, value in status.items() if value}


def _claim(meta: Object, requests: Object) -> Object:
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "job": meta["annotations"][GROUP],
        "rank": f"/{meta['name'].rpartition('-')[2]}",  # of no role
        "resources": requests,
    }


def made(resource: Resource, name: str, spec: Object, **meta: Any) -> Object:
    """An object."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **meta},
        "spec": spec,
    }


def _amounts(cards: int) -> Object:
    return {"cpu": str(4 * cards), "memory": f"{16 * cards}Gi", CARD: str(cards)}
