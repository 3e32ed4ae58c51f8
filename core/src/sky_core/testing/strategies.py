"""Hypothesis strategies for small clusters as raw objects, and for what happens in them.

Small, so that thousands of examples run quickly, and crowded, so that jobs meet: a few cards, names and labels for all.
All is in Kubernetes' own form; what is there at the beginning need not add up, as in any cluster.
"""

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from sky_core.testing.objects import (
    GPU,
    HCA,
    SPOT,
    Object,
    budget,
    group,
    job_queue,
    node,
    pod,
    priority_class,
    queue,
    quota,
)
from sky_core.testing.themes import ASKS, HOST, NAMES, OFFERS, SPEC, ZONE, Whims

START: Final = "2026-01-01T00:10:00Z"
"""Time for the first cycle: after all objects were created, when some reservations have expired."""


def _given(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if value}


def machine(whims: Whims, name: str) -> Object:
    """A node of some cards, in a zone."""
    cards, pools = str(whims("node.cards", 4)), whims("node.spot", "")
    ready = {"type": "Ready", "status": whims("node.ready", "True"), "lastTransitionTime": "2026-01-01T00:00:00Z"}
    mount = {"type": "infiniai-fs-m1", "status": "True", "lastHeartbeatTime": "2026-01-01T00:01:00Z"}
    amounts = {GPU: cards, HCA: cards, "cpu": whims("node.cpu", "16"), "pods": whims("node.pods", "30")}
    labels = {SPEC: whims("node.spec", "a100"), ZONE: whims("node.zone", "roce#s1"), "disk": whims("node.disk", "")}
    return node(
        name,
        {**amounts, **({SPOT: "4"} if pools else {})},
        labels={HOST: name, **_given(labels)},
        notes=_given({"node-index": whims("node.index", ""), "spot-pools": pools}),
        conditions=[ready, *([mount] if whims("node.mount", False) else [])],
        taints=whims("node.taints", []),
        unschedulable=whims("node.unschedulable", False),
    )


def declared(whims: Whims, request: Object) -> dict[str, Any]:
    """What a quota declares, in the arguments of `objects.quota`."""
    optional = {
        "sharedQueues": whims("quota.shared", []),
        "nodeSelector": whims("quota.selector", {}),
        "tolerations": whims("quota.tolerations", []),
        "affinity": whims("quota.affinity", {}),
        "metadata": {"labels": whims("app", {})},
    }
    return {"request": request, "queue": whims("quota.queue", "default"), **_given(optional)}


def asked(whims: Whims, requests: Object) -> dict[str, Any]:
    """What a pod asks for, in the arguments of `objects.pod`."""
    notes = {
        "task-index": whims("pod.index", ""),
        "quota-name": whims("pod.quota", ""),
        "volcano.sh/task-spec": whims("pod.role", ""),
        "required-mount-points": whims("pod.mounts", ""),
        "quota-affinity": whims("pod.wants", ""),
        "preferred-quota-affinity": whims("pod.prefers", ""),
        "inherit-resource-from": whims("pod.inherits", ""),
    }
    optional = {
        "nodeSelector": whims("pod.selector", {}),
        "tolerations": whims("pod.tolerations", []),
        "affinity": whims("pod.affinity", {}),
        "topologySpreadConstraints": whims("pod.spread", []),
        "schedulingGates": whims("pod.gates", []),
        "priorityClassName": whims("pod.priority", ""),
    }
    container = {"name": "main", "resources": {"requests": requests}, "ports": whims("pod.ports", [])}
    return {
        "containers": [container],
        "notes": _given(notes),
        "metadata": {"labels": whims("app", {})},
        **_given(optional),
    }


class _Scene:
    """A cluster in the making: quotas are written down when all their claims are known."""

    def __init__(self, whims: Whims, names: Sequence[str]) -> None:
        self.whims = whims
        self.names = names
        self.objects: list[Object] = []
        self.quotas: dict[str, tuple[dict[str, Any], Object]] = {}

    def bound(self, where: str) -> Object:
        """The status of one of the quotas on a node, new or not."""
        name = f"b-{self.whims.upto(1)}-{where}"
        if name not in self.quotas:
            spec = declared(self.whims, self.whims.of(*OFFERS))
            shadow: Object = self.whims("quota.shadow", {})
            status = {"nodeName": where, "tasks": [], "reservedTasks": [], "shadowResource": shadow}
            self.quotas[name] = (spec, status)
        return self.quotas[name][1]

    def free(self, count: int) -> None:
        """So many quotas on no node, most of them like the one before."""
        spec: dict[str, Any] = {}
        for i in range(count):
            if not spec or self.whims.upto(3) == 0:
                spec = declared(self.whims, self.whims.of(*OFFERS))
            static = self.whims("quota.static", "")
            shadow: Object = self.whims("quota.shadow", {})
            status = {"shadowResource": shadow} if shadow else {}
            self.quotas[f"q-{i}"] = ({**spec, "staticBindNode": static} if static else spec, status)

    def member(self, name: str, job: str, requests: Object, gang: str | None) -> None:
        """A pod: waiting, waiting with a claim, or running in a quota, beside one, or no more."""
        whims, told = self.whims, asked(self.whims, requests)
        fate = whims("pod.fate", "waits")
        where = None if fate in {"waits", "claims", "lost"} else whims.of(*self.names)
        if fate in {"claims", "runs", "leaves", "ended"} and SPOT not in requests:
            status = self.bound(where or whims.of(*self.names))
            status["tasks"].append(_claim(name, job, requests, reservationSeconds=whims.of(0, 60)))
        if fate == "lost":
            self.bound(whims.of(*self.names))["reservedTasks"].append(_kept(name, job, requests, whims.of(*_EXPIRIES)))
        if fate == "leaves":
            told["metadata"]["deletionTimestamp"] = "2026-01-01T00:09:00Z"
        phase = whims.of("Succeeded", "Failed") if fate == "ended" else None
        self.objects.append(pod(name, group=gang, on=where, phase=phase, **told))

    def written(self) -> list[Object]:
        """All objects."""
        return [*self.objects, *(quota(name, status=status, **spec) for name, (spec, status) in self.quotas.items())]


_EXPIRIES: Final = ("2026-01-01T00:20:00Z", "2026-01-01T00:10:03Z", "2026-01-01T00:09:00Z")


def _claim(name: str, job: str, requests: Object, **fields: Any) -> Object:
    number = name.rpartition("-")[2]
    whose = {"namespace": "default", "name": name, "uid": f"Pod/default/{name}", "job": job, "rank": f"/{number}"}
    return {**whose, "resources": requests, **fields}


def _kept(name: str, job: str, requests: Object, expires: str) -> Object:
    claim = _claim(name, job, requests)
    return {
        "task": name,
        "expiresAt": expires,
        **{key: claim[key] for key in ("namespace", "job", "rank", "resources")},
    }


def podgroup(whims: Whims, name: str, size: int) -> Object:
    """A PodGroup for so many pods."""
    notes = {
        "enable-topology-scheduling": whims("gang.topology", ""),
        "topology-policy": whims("gang.policy", ""),
        "topology-patience": whims("gang.patience", ""),
        "topology-affinity-key": whims("gang.kin", ""),
        "reservation-ttl": whims("gang.kept", ""),
    }
    optional = {"priorityClassName": whims("gang.priority", ""), "minTaskMember": whims("gang.roles", {})}
    least, queue_ = whims("gang.least", size), whims("gang.queue", "default")
    labels: Object = {"labels": whims("app", {})}
    return group(name, least, notes=_given(notes), metadata=labels, queue=queue_, **_given(optional))


@st.composite
def scenes(draw: st.DrawFn) -> list[Object]:
    """All objects of a small cluster, in no particular order of kinds."""
    whims = Whims(draw)
    names = NAMES[: whims.upto(len(NAMES), 2)]
    scene = _Scene(whims, names)
    scene.objects += [machine(whims, name) for name in names]
    scene.objects += [priority_class("high", 1000), queue("default", **whims("queue", {})), queue("a", weight=2)]
    lane: Object = whims("lane", {})
    scene.objects += [job_queue("lane", jobSelector={}, **lane)] if lane else []
    bounds: Object = whims("budget", {})
    scene.objects += [budget("bounds", {}, **bounds)] if bounds else []
    scene.free(whims.upto(8, 2))
    for job in "gh"[: whims.upto(2, 1)]:
        size = whims.upto(4, 1)
        spot = whims("gang.spot", "")
        requests = {SPOT: spot} if spot else whims.of(*ASKS[:4])
        scene.objects.append(podgroup(whims, job, size))
        for i in range(size):
            scene.member(f"{job}-{i}", job, whims("pod.requests", requests), job)
    for i in range(whims.upto(1)):
        scene.member(f"solo-{i}", f"pod/solo-{i}", whims.of(*ASKS), None)
    scene.objects += [_foreign(whims, f"foreign-{i}", names) for i in range(whims.upto(1))]
    return scene.written()


def _foreign(whims: Whims, name: str, names: Sequence[str]) -> Object:
    return pod(name, scheduler="other", on=whims.of(*names), **asked(whims, whims.of(*ASKS)))


def _born_again(one: Object, number: int) -> Object:
    """Another pod of this name, waiting for a node."""
    kept = {key: value for key, value in one["metadata"].items() if key != "deletionTimestamp"}
    spec = {key: value for key, value in one["spec"].items() if key != "nodeName"}
    born = {"metadata": {**kept, "uid": f"again-{number}"}, "spec": spec, "status": {"phase": "Pending"}}
    return {**one, **born}


@st.composite
def timelines(draw: st.DrawFn, objects: Sequence[Object]) -> Object:
    """What may happen to these objects and to a few more, as a document of kind Timeline."""
    whims = Whims(draw)
    pods = [one["metadata"]["name"] for one in objects if one["kind"] == "Pod"]
    events = []
    for i in range(whims.upto(6)):
        match whims.of("node", "quota", "pod", "gone", *(["delete", "finish", "refuse", "again"] if pods else [])):
            case "node":
                event: Object = {"apply": machine(whims, whims.of(*NAMES))}
            case "quota":
                event = {"apply": quota(f"q-{whims.upto(9)}", **declared(whims, whims.of(*OFFERS)))}
            case "pod":
                event = {"apply": _foreign(whims, f"late-{i}", NAMES[:3])}
            case "gone":
                kind, name = whims.of(("Node", "n0"), ("Quota", "q-0"), ("PodGroup", "g"))
                event = {"delete": {"kind": kind, "name": name}}
            case "delete":
                event = {"delete": {"kind": "Pod", "name": whims.of(*pods)}}
            case "finish":
                event = {"finish": {"name": whims.of(*pods), "phase": whims.of("Succeeded", "Failed")}}
            case "refuse":
                event = {"failNextBind": {"pod": f"default/{whims.of(*pods)}", "status": whims.of(409, 500, 504)}}
            case _:
                event = {"apply": _born_again(whims.of(*[one for one in objects if one["kind"] == "Pod"]), i)}
        events.append({"at": f"{whims.upto(12)}s", **event})
    version = "simulation.scheduling.infini-ai.com/v1alpha1"
    return {"apiVersion": version, "kind": "Timeline", "metadata": {"name": "events"}, "events": events}
