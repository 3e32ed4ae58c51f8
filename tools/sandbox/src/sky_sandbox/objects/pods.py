"""Pods on their way in: the defaults that schedulers rely on, priorities, and what of a spec may change."""

from collections.abc import Iterator
from typing import Any, Final

from sky_core.model import Instant
from sky_core.simulation.objects import part, text
from sky_sandbox.api.metadata import is_label_name, timestamp
from sky_sandbox.api.refusals import Cause, forbidden
from sky_sandbox.objects.case import Case, Object
from sky_sandbox.objects.container_resources import completed, judged
from sky_sandbox.objects.parts import items

_DEFAULTS: Final = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
    "enableServiceLinks": True,
}
_PRIORITIES: Final = "priorityclasses.scheduling.k8s.io"
_CONTAINERS: Final = ("containers", "initContainers")
_EVICTED_AFTER: Final = 300
_MAY_CHANGE: Final = frozenset({"activeDeadlineSeconds", "tolerations", "schedulingGates"})
_WHILE_GATED: Final = frozenset({"nodeSelector", "affinity"})
_IMAGES: Final = frozenset({"image"})


def admit(raw: dict[str, Any], case: Case) -> Object:
    """A pod with its defaults.

    Raises:
        Refusal: It lacks what every pod has, its priority class is not there, or it changes what may not change.
    """
    spec = part(raw, "spec")
    if causes := list(_faults(spec)):
        raise case.invalid(*causes)
    for name in _CONTAINERS:
        for index, container in enumerate(spec.get(name, ())):
            judged(container, f"spec.{name}[{index}]", case)
    if case.old is not None:
        return _changed(raw, part(case.old, "spec"), case)
    spec = {**_DEFAULTS, **spec, "tolerations": _tolerations(items(spec, "tolerations")), **_priority(spec, case)}
    for name in _CONTAINERS:
        if name in spec:
            spec[name] = [completed(container) for container in spec[name]]
    return {**raw, "spec": spec, "status": _status(spec, case.now)}


def gates(raw: Object) -> list[str]:
    """What a pod waits for before it may be scheduled."""
    return [text(gate, "name") for gate in items(part(raw, "spec"), "schedulingGates")]


def _faults(spec: Object) -> Iterator[Cause]:
    if not spec.get("containers"):
        yield Cause("spec.containers", "Required value", "FieldValueRequired")
    seen = set()
    for of in _CONTAINERS:
        for index, container in enumerate(spec.get(of, ())):
            at = f"spec.{of}[{index}]"
            if not is_label_name(text(container, "name")):
                yield Cause(f"{at}.name", "a lowercase RFC 1123 label is wanted")
            elif container["name"] in seen:
                yield Cause(f"{at}.name", f'Duplicate value: "{container["name"]}"', "FieldValueDuplicate")
            if not text(container, "image"):
                yield Cause(f"{at}.image", "Required value", "FieldValueRequired")
            seen.add(container.get("name"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield Cause("spec.nodeName", "Forbidden: cannot be set until all schedulingGates have been cleared")


def _status(spec: Object, now: Instant) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": "Pending", "qosClass": _quality(spec)}
    if spec.get("schedulingGates"):
        why = "Scheduling is blocked due to non-empty scheduling gates"
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": why}
        status["conditions"] = [{**gated, "lastProbeTime": None, "lastTransitionTime": timestamp(now)}]
    return status


def _quality(spec: Object) -> str:
    asked = [part(container, "resources") for of in _CONTAINERS for container in spec.get(of, ())]
    if not any(name in part(one, of) for one in asked for of in ("requests", "limits") for name in ("cpu", "memory")):
        return "BestEffort"
    guaranteed = all(
        part(one, "requests").get(name, "") == part(one, "limits").get(name)
        for one in asked
        for name in ("cpu", "memory")
    )
    return "Guaranteed" if guaranteed else "Burstable"


def _tolerations(given: list[Any]) -> list[Any]:
    """With those of nodes that are not ready or not reachable, for five minutes, where nothing is said of them."""
    added = []
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        if not any(one.get("key", key) == key and one.get("effect", "NoExecute") == "NoExecute" for one in given):
            also = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _EVICTED_AFTER}
            added.append(also)
    return [*given, *added]


def _priority(spec: Object, case: Case) -> dict[str, Any]:
    name = text(spec, "priorityClassName")
    classes = [stored.object for stored in case.storage.objects(_PRIORITIES)]
    if name:
        found = next((one for one in classes if one["metadata"]["name"] == name), None)
        if found is None:
            raise forbidden("pods", case.name, f"no PriorityClass with name {name} was found")
    else:
        usual = [one for one in classes if one.get("globalDefault")]
        found = min(usual, key=lambda one: one["value"], default=None)
    given: dict[str, Any] = {"priority": 0, "preemptionPolicy": "PreemptLowerPriority"}
    if found is not None:
        given = {name: found[name] for name in ("preemptionPolicy",)}
        given |= {"priority": found["value"], "priorityClassName": found["metadata"]["name"]}
    if spec.get("priority", given["priority"]) != given["priority"]:
        raise forbidden("pods", case.name, f"the integer value of priority ({spec['priority']}) must not be provided")
    return given


def _changed(raw: dict[str, Any], old: Object, case: Case) -> Object:
    """A pod whose spec may change little: images, more tolerations, fewer gates, and while gated where it may run."""
    new = {**part(raw, "spec"), "tolerations": _tolerations(items(part(raw, "spec"), "tolerations"))}
    may = _MAY_CHANGE | (_WHILE_GATED if old.get("schedulingGates") else frozenset())
    fixed = {name: _fixed(name, value) for name, value in new.items() if name not in may}
    was = {name: _fixed(name, value) for name, value in old.items() if name not in may}
    if fixed != was:
        names = ", ".join(sorted(n for n in fixed.keys() | was.keys() if fixed.get(n) != was.get(n)))
        why = f"Forbidden: pod updates may not change fields other than images, tolerations and gates: {names}"
        raise case.invalid_at("spec", why, "FieldValueForbidden")
    if any(one not in items(new, "tolerations") for one in items(old, "tolerations")):
        raise case.invalid_at("spec.tolerations", "Forbidden: existing toleration can not be modified")
    if any(one not in items(old, "schedulingGates") for one in items(new, "schedulingGates")):
        raise case.invalid_at("spec.schedulingGates", "Forbidden: only deletion is allowed")
    return {**raw, "spec": new}


def _fixed(name: str, value: Any) -> Any:
    if name not in _CONTAINERS:
        return value
    return [{key: inner for key, inner in container.items() if key not in _IMAGES} for container in value]
