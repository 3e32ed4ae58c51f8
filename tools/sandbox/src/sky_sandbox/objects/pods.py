"""Pods on their way in: the defaults that schedulers rely on, priorities, and what of a spec may change."""

from collections.abc import Iterator
from typing import Any, Final

from sky_core.model import Instant
from sky_core.simulation.objects import part, text
from sky_sandbox.api.metadata import timestamp
from sky_sandbox.api.refusals import Cause, forbidden, unsupported
from sky_sandbox.objects.case import Case, Object
from sky_sandbox.objects.container_resources import completed
from sky_sandbox.objects.parts import items
from sky_sandbox.objects.pod_rules import CONTAINERS, faults

_DEFAULTS: Final = {
    "restartPolicy": "Always",
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
    "enableServiceLinks": True,
}
_PRIORITIES: Final = "priorityclasses.scheduling.k8s.io"
_EVICTED_AFTER: Final = 300
_MAY_CHANGE: Final = frozenset({"activeDeadlineSeconds", "tolerations", "schedulingGates"})
_WHILE_GATED: Final = frozenset({"nodeSelector", "affinity"})
_IMAGES: Final = frozenset({"image"})


def admit(raw: dict[str, Any], case: Case) -> Object:
    """A pod with its defaults.

    Raises:
        Refusal: It lacks what every pod has, its priority class is not there, or it changes what may not change.
    """
    spec = _completed(part(raw, "spec"))
    if case.old is None:
        spec |= _priority(spec, case)
        if spec.get("overhead"):
            raise forbidden("pods", case.name, "Pod Overhead set without corresponding RuntimeClass defined Overhead")
    causes = [*faults(spec), *(_changes(spec, part(case.old, "spec")) if case.old else ())]
    if causes:
        raise case.invalid(*causes)
    return {**raw, "spec": spec} if case.old else {**raw, "spec": spec, "status": _status(spec, case.now)}


def gates(raw: Object) -> list[str]:
    """What a pod waits for before it may be scheduled."""
    return [text(gate, "name") for gate in items(part(raw, "spec"), "schedulingGates")]


def _completed(said: Object) -> dict[str, Any]:
    spec = {**_DEFAULTS, **said, "tolerations": _tolerations(items(said, "tolerations"))}
    for name in CONTAINERS:
        if name in spec:
            spec[name] = [completed(one, host_network=spec.get("hostNetwork") is True) for one in spec[name]]
    return spec


def _status(spec: Object, now: Instant) -> dict[str, Any]:
    status: dict[str, Any] = {"phase": "Pending", "qosClass": _quality(spec)}
    if spec.get("schedulingGates"):
        why = "Scheduling is blocked due to non-empty scheduling gates"
        gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": why}
        status["conditions"] = [{**gated, "lastProbeTime": None, "lastTransitionTime": timestamp(now)}]
    return status


def _quality(spec: Object) -> str:
    asked = [part(container, "resources") for of in CONTAINERS for container in spec.get(of, ())]
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
    for field in ("priority", "preemptionPolicy"):
        if spec.get(field, given[field]) != given[field]:
            raise forbidden("pods", case.name, f"the value of {field} ({spec[field]}) must not be provided")
    return given


def _changes(new: Object, old: Object) -> Iterator[Cause]:
    """What is wrong with a change: but for images, more tolerations and fewer gates a spec stays as it is.

    Raises:
        Refusal: It changes the affinity of a gated pod.
    """
    gated = items(old, "schedulingGates")
    may = _MAY_CHANGE | (_WHILE_GATED if gated else frozenset())
    fixed, was = ({name: _fixed(name, value) for name, value in one.items() if name not in may} for one in (new, old))
    if fixed != was:
        names = ", ".join(sorted(n for n in fixed.keys() | was.keys() if fixed.get(n) != was.get(n)))
        why = f"Forbidden: pod updates may not change fields other than images, tolerations and gates: {names}"
        yield Cause("spec", why, "FieldValueForbidden")
    if any(one not in items(new, "tolerations") for one in items(old, "tolerations")):
        why = "Forbidden: existing toleration can not be modified except its tolerationSeconds"
        yield Cause("spec.tolerations", why, "FieldValueForbidden")
    for index, gate in enumerate(items(new, "schedulingGates")):
        if gate not in gated:
            why = "Forbidden: only deletion is allowed, but found new scheduling gate"
            yield Cause(f"spec.schedulingGates[{index}].name", why, "FieldValueForbidden")
    if old.get("activeDeadlineSeconds") and not new.get("activeDeadlineSeconds"):
        yield Cause("spec.activeDeadlineSeconds", "Invalid value: must not update from a positive integer to nil")
    if gated and not part(old, "nodeSelector").items() <= part(new, "nodeSelector").items():
        yield Cause("spec.nodeSelector", "Invalid value: only additions to spec.nodeSelector are allowed")
    if gated and new.get("affinity") != old.get("affinity"):
        raise unsupported("change the affinity of a gated pod")


def _fixed(name: str, value: Any) -> Any:
    if name not in CONTAINERS:
        return value
    return [{key: inner for key, inner in container.items() if key not in _IMAGES} for container in value]
