"""Clusters and jobs to measure with, as objects from an API server: rows are made of them as the process does."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from sky_core.api.intake import Intake
from sky_core.settings import PREFIX, Settings
from sky_core.world import World

Object = dict[str, Any]

API: Final = f"{PREFIX}v1alpha1"
CREATED: Final = "2026-01-01T00:00:00Z"
GPU: Final = "nvidia.com/gpu"
HCA: Final = "rdma/hca"
KINDS: Final = ("a100", "h100", "l40s")


def world(objects: Iterable[Object]) -> World:
    """The world that these objects make."""
    intake = Intake(Settings())
    for each in (_object("v1", "Namespace", "default", None, {}), _queue("default"), *objects):
        intake.put(each)
    return intake.world()


def nodes(count: int, *, leaf: int = 32, kinds: int = 3) -> Iterator[Object]:
    """Nodes of eight cards and eight HCAs, `leaf` of them behind each switch, whole leaves of one kind of card."""
    for i in range(count):
        kind = KINDS[i // leaf % kinds]
        amounts = {"cpu": "128", "memory": "1Ti", "pods": "110", GPU: "8", HCA: "8"}
        labels = {f"{PREFIX}spec": kind, f"{PREFIX}zone": f"roce#leaf-{i // leaf}"}
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": CREATED, "lastHeartbeatTime": CREATED}
        status = {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}
        node = _object("v1", "Node", f"node-{i}", None, {}, labels=labels)
        yield {**node, "status": status}


def gang(
    name: str, size: int, *, cards: int = 1, rdma: bool = True, quotas: int | None = None, created: int = 0
) -> Iterator[Object]:
    """A PodGroup of `size` tasks of so many cards, and a quota for each, or `quotas` that share them out."""
    yield from tasks(name, size, cards=cards, rdma=rdma, created=created)
    share = quotas or size
    for i in range(share):
        yield quota(f"{name}-{i}", cards * size // share, rdma=rdma)


def tasks(name: str, size: int, *, cards: int = 1, rdma: bool = True, created: int = 0) -> Iterator[Object]:
    """A PodGroup and its pods."""
    made = f"2026-01-01T{created // 3600:02d}:{created // 60 % 60:02d}:{created % 60:02d}Z"
    yield _object(API, "PodGroup", name, "default", {"minMember": size, "queue": "default"}, created=made)
    requests = {GPU: str(cards), **({HCA: str(cards)} if rdma else {})}
    spec = {"schedulerName": "sky-scheduler", "containers": [{"name": "main", "resources": {"requests": requests}}]}
    for i in range(size):
        notes = {"scheduling.k8s.io/group-name": name}
        pod = _object("v1", "Pod", f"{name}-{i}", "default", spec, annotations=notes, created=made)
        yield {**pod, "status": {"phase": "Pending"}}


def quota(name: str, cards: int, *, rdma: bool = True, kind: str | None = None) -> Object:
    """A quota of so many cards, with as many HCAs."""
    request = {GPU: str(cards), **({HCA: str(cards)} if rdma else {})}
    spec: Object = {"queueName": "default", "request": request}
    if kind is not None:
        spec["nodeSelector"] = {f"{PREFIX}spec": kind}
    return _object(API, "Quota", name, None, spec)


def _queue(name: str) -> Object:
    return _object(API, "Queue", name, None, {"weight": 1})


def _object(
    api: str, kind: str, name: str, namespace: str | None, spec: Object, *, created: str = CREATED, **meta: Any
) -> Object:
    metadata = {"name": name, "uid": f"{kind}/{name}", "creationTimestamp": created, **meta}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}
