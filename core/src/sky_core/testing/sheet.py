"""The objects, and the events, that the lines of a table stand for (`sky_core.testing.table`)."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sky_core.api.instants import rfc3339
from sky_core.api.ranks import position
from sky_core.model import SECOND, Instant
from sky_core.settings import PREFIX
from sky_core.simulation.timeline import API_VERSION
from sky_core.testing import objects
from sky_core.testing.lines import AMOUNTS, Line, TableError
from sky_core.testing.objects import GPU, HCA, Object

BEGIN: Final = Instant(1_767_225_600 * SECOND)  # 2026-01-01T00:00:00Z
NOW: Final = Instant(BEGIN + 3600 * SECOND)
"""Time of the first cycle. What line n stands for was created n seconds after `BEGIN`."""

PLENTY: Final[Object] = {"cpu": "64", "memory": "1Ti", "pods": "110", GPU: "8", HCA: "8", "rdma/roce": "8"}
"""What a node has of what its line does not name."""

CARD: Final[Object] = {GPU: "1"}
"""What a quota offers, and a task asks for, whose line names nothing."""

_HOST: Final = "kubernetes.io/hostname"
_SPEC: Final = f"{PREFIX}spec"
_ZONE: Final = f"{PREFIX}zone"
_ROLE: Final = "volcano.sh/task-spec"


class Sheet:
    """`present` is there at the beginning; `later` is a Timeline."""

    def __init__(self, lines: Sequence[Line]) -> None:
        """Read all lines; tasks before quotas, which hold their claims."""
        self.claims: dict[str, list[Object]] = defaultdict(list)
        self.kept: dict[str, Object] = {}
        self.classes: dict[str, Object] = {}
        self.present: list[Object] = []
        events: list[Object] = []
        for line in sorted(lines, key=lambda line: line.kind == "quota"):
            if line.at and line.kind in _EVENTS:
                events.append({"at": line.at, **_EVENTS[line.kind](line)})
            elif line.kind in _KINDS:
                made = _KINDS[line.kind](self, line)
                made["metadata"]["creationTimestamp"] = rfc3339(Instant(BEGIN + line.number * SECOND))
                if line.at:
                    events.append({"at": line.at, "apply": made})
                else:
                    self.present.append(made)
            else:
                raise line.error(f"there are {', '.join(_KINDS)}, and at a time {', '.join(_EVENTS)}")
            line.close()
        quotas = {line.name for line in lines if line.kind == "quota"}
        if missing := sorted(self.claims.keys() - quotas):
            raise TableError(f"claims of {missing[0]}, which is not there")
        self.present += self.classes.values()
        self.later: Object = {"apiVersion": API_VERSION, "kind": "Timeline", "events": events}

    def priority(self, line: Line) -> Object:
        """A priority class of this value, which is made where it is first named."""
        value = line.whole("priority", 0)
        if not value:
            return {}
        name = f"priority{value}"
        self.classes[name] = objects.priority_class(name, value)
        return {"priorityClassName": name}


def _given(told: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if value}


def _node(_: Sheet, line: Line) -> Object:
    labels = {_SPEC: line.take("spec"), _ZONE: line.take("zone"), f"{PREFIX}fabric": line.take("fabric")}
    ready = {"type": "Ready", "status": "False" if line.flag("notready") else "True"}
    beat = rfc3339(NOW)
    mounts = [
        {"type": f"infiniai-fs-{name}", "status": "True", "lastHeartbeatTime": beat} for name in line.several("mounts")
    ]
    pods = line.take("pods")
    return objects.node(
        line.name,
        {**PLENTY, **line.amounts({}), **({"pods": pods} if pods else {})},
        labels={_HOST: line.name, **_given(labels), **line.below("label")},
        notes={**_given({"node-index": line.take("index"), "spot-pools": _pools(line)}), **line.below("note")},
        conditions=[ready, *mounts],
        taints=[{"key": key, "effect": "NoSchedule"} for key in line.several("taints")],
        unschedulable=line.flag("cordoned"),
    )


def _pools(line: Line) -> str:
    pools = line.pairs("pools")
    return "{" + ", ".join(f'"{name}": {count}' for name, count in pools.items()) + "}" if pools else ""


def _quota(sheet: Sheet, line: Line) -> Object:
    near, apart = line.pairs("near"), line.pairs("apart")
    affinity = {
        "quotaAffinity": {"required": [{"labelSelector": {"matchLabels": near}}]} if near else {},
        "quotaAntiAffinity": {"required": [{"labelSelector": {"matchLabels": apart}}]} if apart else {},
    }
    spec = {
        "queue": line.take("queue"),
        "staticBindNode": line.take("static"),
        "sharedQueues": line.several("shared"),
        "nodeSelector": {**_given({_SPEC: line.take("spec")}), **line.pairs("select")},
        "tolerations": _tolerations(line),
        "affinity": _given(affinity),
    }
    status = {"nodeName": line.take("node"), "tasks": sheet.claims[line.name], "reservedTasks": _kept(sheet, line)}
    labels = {"labels": line.below("label")}
    return objects.quota(line.name, line.amounts(CARD), metadata=labels, status=_given(status), **_given(spec))


def _kept(sheet: Sheet, line: Line) -> list[Object]:
    """Places that the quota keeps: `keeps=TASK,TASK` of tasks that stand in the table, for an hour."""
    kept = []
    for name in line.several("keeps"):
        if name not in sheet.kept:
            raise line.error(f"there is no task {name}")
        kept.append(sheet.kept[name])
    return kept


def _queue(_: Sheet, line: Line) -> Object:
    spec = {
        "weight": line.whole("weight", 1),
        "priority": line.whole("priority", 0),
        "capability": {AMOUNTS.get(key, key): value for key, value in line.below("cap").items()},
        "state": "Closed" if line.flag("closed") else "Open",
        "namespaceSelector": {"matchLabels": spaces} if (spaces := line.pairs("namespaces")) else {},
    }
    return objects.queue(line.name, **_given(spec))


def _job_queue(_: Sheet, line: Line) -> Object:
    spec = {
        "queueName": line.take("queue") or "default",
        "priority": line.whole("priority", 0),
        "jobSelector": {"matchLabels": line.pairs("jobs")},
        "policy": "StrictFIFO" if line.flag("strict") else "BestEffortFIFO",
        "suspend": line.flag("suspended"),
    }
    running = line.whole("running", -1)
    return objects.job_queue(line.name, **spec, **({"maxRunningJobs": running} if running >= 0 else {}))


def _job(sheet: Sheet, line: Line) -> Object:
    notes = {
        "enable-topology-scheduling": line.choice("topology", {"on": "true", "off": "false"}),
        "topology-policy": line.take("policy"),
        "topology-patience": line.take("patience"),
        "topology-affinity-key": line.take("kin"),
        "reservation-ttl": line.take("keeps"),
    }
    spec = {
        "queue": line.take("queue"),
        "minTaskMember": _minima(line),
        "minResources": {AMOUNTS.get(key, key): value for key, value in line.below("least").items()},
        **sheet.priority(line),
    }
    return objects.group(
        line.name,
        line.whole("min", 1),
        namespace=line.take("namespace") or "default",
        notes={**_given(notes), **line.below("note")},
        metadata={"labels": line.below("label")},
        **_given(spec),
    )


def _minima(line: Line) -> dict[str, int]:
    roles = line.pairs("roles")
    if not all(least.isdecimal() for least in roles.values()):
        raise line.error("write roles=ROLE:NUMBER")
    return {role: int(least) for role, least in roles.items()}


def _task(sheet: Sheet, line: Line) -> Object:
    requests, job, namespace = line.amounts(CARD), line.take("job"), line.take("namespace") or "default"
    role, claimed, on = line.take("role"), line.take("claims"), line.take("on")
    apart = line.pairs("apart")
    notes = {
        _ROLE: role,
        "task-index": line.take("index"),
        "queue-name": line.take("queue"),
        "quota-name": line.take("quota"),
        "quota-affinity": ",".join(f"{key}={value}" for key, value in line.pairs("wants").items()),
        "preferred-quota-affinity": ",".join(f"{key}={value}" for key, value in line.pairs("prefers").items()),
        "required-mount-points": line.take("mounts"),
        "reservation-ttl": line.take("keeps"),
        "inherit-resource-from": line.take("inherits"),
        "spot-pool": line.take("pool"),
    }
    term = {"topologyKey": _HOST, "labelSelector": {"matchLabels": apart}}
    spec = {
        "nodeSelector": {**_given({_SPEC: line.take("spec")}), **line.pairs("select")},
        "tolerations": _tolerations(line),
        "schedulingGates": [{"name": "wait"}] if line.flag("gated") else [],
        "preemptionPolicy": "Never" if line.flag("meek") else "",
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}} if apart else {},
        **sheet.priority(line),
    }
    metadata: Object = {"labels": line.below("label")}
    if line.flag("leaving"):
        metadata["deletionTimestamp"] = rfc3339(BEGIN)
    pod = objects.pod(
        line.name,
        requests,
        namespace=namespace,
        group=job or None,
        scheduler="other" if line.flag("foreign") else "sky-scheduler",
        on=on or None,
        phase=line.take("phase") or None,
        notes={**_given(notes), **line.below("note")},
        metadata=metadata,
        **_given(spec),
    )
    claim = _claim(pod, job or f"pod/{line.name}", requests)
    if claimed:
        sheet.claims[claimed].append(claim)
    sheet.kept[line.name] = _reservation(claim)
    return pod


def _tolerations(line: Line) -> list[Object]:
    return [{"key": key, "operator": "Exists"} for key in line.several("tolerates")]


def _claim(pod: Object, job: str, requests: Object) -> Object:
    """What a quota's status says of a pod that it holds."""
    meta = pod["metadata"]
    place = position(meta.get("annotations", {}), meta["labels"], meta["name"], BEGIN).place
    return objects.claim(meta["name"], requests, namespace=meta["namespace"], job=job, rank=place)


def _reservation(claim: Object) -> Object:
    """What it says of a pod whose place it keeps."""
    kept = {key: claim[key] for key in ("namespace", "job", "rank", "resources")}
    return {**kept, "task": claim["name"], "expiresAt": rfc3339(Instant(NOW + 3600 * SECOND))}


def _namespace(_: Sheet, line: Line) -> Object:
    return objects.namespace(line.name, **line.below("label"))


_KINDS: Final[Mapping[str, Callable[[Sheet, Line], Object]]] = {
    "node": _node,
    "quota": _quota,
    "queue": _queue,
    "jobqueue": _job_queue,
    "job": _job,
    "task": _task,
    "namespace": _namespace,
}


_OTHERS: Final = {"job": "PodGroup", "node": "Node", "quota": "Quota", "queue": "Queue"}


def _gone(line: Line) -> Object:
    return {"delete": {"kind": line.choice("kind", _OTHERS) or "Pod", "name": line.name}}


def _ends(line: Line) -> Object:
    return {"finish": {"name": line.name, "phase": "Failed" if line.flag("failed") else "Succeeded"}}


def _refused(line: Line) -> Object:
    return {"failNextBind": {"pod": f"default/{line.name}", "status": line.whole("status", 409)}}


_EVENTS: Final[Mapping[str, Callable[[Line], Object]]] = {"gone": _gone, "ends": _ends, "refused": _refused}
