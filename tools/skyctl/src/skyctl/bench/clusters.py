"""Clusters and jobs to measure with, as objects from an API server: rows are made of them as the process does."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sky_core.api.intake import Intake
from sky_core.settings import PREFIX, Settings
from sky_core.world import World

Object = dict[str, Any]
Amounts = Mapping[str, str]

API: Final = f"{PREFIX}v1alpha1"
GPU: Final = "nvidia.com/gpu"
HCA: Final = "rdma/hca"
SPOT: Final = f"{PREFIX}spot-gpu"
KINDS: Final = ("a100", "h100", "l40s")

EIGHT: Final[Amounts] = {"cpu": "128", "memory": "1Ti", "pods": "110", GPU: "8", HCA: "8", SPOT: "8"}
"""What a node has."""
CARD: Final[Amounts] = {GPU: "1", HCA: "1"}
"""What a task of a topology job asks for that takes a card with its HCA."""
PLAIN_CARD: Final[Amounts] = {GPU: "1"}
MACHINE: Final[Amounts] = {GPU: "8", HCA: "8"}
PLAIN_MACHINE: Final[Amounts] = {GPU: "8"}
CPU: Final[Amounts] = {"cpu": "1"}
ZONED: Final = {f"{PREFIX}enable-topology-scheduling": "true"}
"""The annotation by which a job that asks for no HCA is placed by zones all the same."""


def intake(objects: Iterable[Object]) -> Intake:
    """What has taken up these objects, with a namespace and a queue `default`."""
    made = Intake(Settings())
    for each in (_object("v1", "Namespace", "default", None, {}), queue("default"), *objects):
        made.put(each)
    return made


def world(objects: Iterable[Object]) -> World:
    """The world that these objects make."""
    return intake(objects).world()


def nodes(count: int, *, leaf: int = 32, kinds: int = 3) -> Iterator[Object]:
    """Nodes of eight cards and eight HCAs, `leaf` of them behind each switch, whole leaves of one kind of card."""
    for at in range(count):
        yield node(at, zone=f"leaf-{at // leaf}", kind=KINDS[at // leaf % kinds])


def node(
    at: int,
    *,
    zone: str | None,
    kind: str = KINDS[0],
    labels: Mapping[str, str] | None = None,
    amounts: Amounts = EIGHT,
) -> Object:
    """One of these nodes."""
    said = {f"{PREFIX}spec": kind, **(labels or {})}
    if zone is not None:
        said[f"{PREFIX}zone"] = f"roce#{zone}"
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": _time(0), "lastHeartbeatTime": _time(0)}
    made = _object("v1", "Node", f"node-{at}", None, {}, labels=said)
    return {**made, "status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready]}}


def gang(
    name: str,
    size: int,
    requests: Amounts = CARD,
    *,
    created: int = 0,
    notes: Mapping[str, str] | None = None,
) -> Iterator[Object]:
    """A PodGroup, its pods, and a quota for each of them. `created`: seconds since the first that can be."""
    yield group(name, size, created=created, notes=notes)
    for at in range(size):
        yield pod(f"{name}-{at}", name, requests, created=created)
        yield quota(f"{name}-{at}", requests)


def placed(name: str, hosts: Iterable[str], requests: Amounts = MACHINE) -> Iterator[Object]:
    """A gang that runs, a task and its quota on each of these nodes."""
    hosts = list(hosts)
    yield group(name, len(hosts))
    for at, host in enumerate(hosts):
        yield bound(quota(f"{name}-{at}", requests), f"{name}-{at}", name, host)
        yield running(pod(f"{name}-{at}", name, requests), host)


def group(name: str, size: int, *, created: int = 0, notes: Mapping[str, str] | None = None) -> Object:
    """A PodGroup of so many, all of them needed."""
    spec = {"minMember": size, "queue": "default"}
    return _object(API, "PodGroup", name, "default", spec, created=created, annotations=dict(notes or {}))


def pod(name: str, of: str, requests: Amounts, *, created: int = 0) -> Object:
    """A pod of a PodGroup, on no node yet."""
    spec = {"schedulerName": "sky-scheduler", "containers": [{"name": "main", "resources": {"requests": requests}}]}
    notes = {"scheduling.k8s.io/group-name": of}
    return {
        **_object("v1", "Pod", name, "default", spec, created=created, annotations=notes),
        "status": {"phase": "Pending"},
    }


def running(made: Object, host: str) -> Object:
    """The pod on that node."""
    return {**made, "spec": {**made["spec"], "nodeName": host}, "status": {"phase": "Running", "startTime": _time(0)}}


def quota(name: str, request: Amounts) -> Object:
    """A quota of the queue `default`, on no node yet."""
    return _object(API, "Quota", name, None, {"queueName": "default", "request": request})


def bound(made: Object, task: str, of: str, host: str) -> Object:
    """The quota on that node, with the claim of that task."""
    request = made["spec"]["request"]
    claim = {"namespace": "default", "name": task, "uid": f"Pod/{task}", "job": of, "resources": request}
    status = {"phase": "QuotaBound", "nodeName": host, "allocated": request, "tasks": [claim]}
    return {**made, "status": status}


def queue(name: str) -> Object:
    """A Queue that every namespace may use."""
    return _object(API, "Queue", name, None, {"weight": 1})


def _object(
    api: str, kind: str, name: str, namespace: str | None, spec: Object, *, created: int = 0, **meta: Any
) -> Object:
    metadata = {"name": name, "uid": f"{kind}/{name}", "creationTimestamp": _time(created), **meta}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}


def _time(seconds: int) -> str:
    return f"2026-01-01T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}Z"
