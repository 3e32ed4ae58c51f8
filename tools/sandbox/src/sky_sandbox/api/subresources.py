"""The parts of a pod that are more than data: binding it to a node, and evicting it."""

from typing import Any, Final

from sky_core.api.conditions import condition, merged
from sky_core.api.instants import rfc3339
from sky_core.model import Instant
from sky_core.simulation.objects import Object, conditions, part, text, written
from sky_sandbox.api.bodies import Preconditions, converted
from sky_sandbox.api.deletion import ENDED, Deleter
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.metadata import whole
from sky_sandbox.api.refusals import Cause, bad_request, conflict, defect, too_many
from sky_sandbox.api.storage import Key, Stored
from sky_sandbox.api.writing import Writer
from sky_sandbox.objects.disruption import RESOURCE, disruptable, is_ready, protects
from sky_sandbox.objects.pods import gates

_UNPROCESSED_AFTER: Final = 10


def bind(writer: Writer, kind: Kind, key: Key, binding: Object, now: Instant, *, trial: bool) -> None:
    """Give a pod its node. As on a cluster, nobody asks whether the node is there, or the pod has ended.

    Raises:
        Refusal: It is not there, not the one that is meant, has a node, is going, or is gated.
    """
    name = key[1]
    metadata, target = part(binding, "metadata"), part(binding, "target")
    if metadata.get("name", name) != name:
        raise bad_request(f"name in URL does not match name in Binding object: {metadata['name']}")
    if text(target, "kind") not in {"", "Node"}:
        raise defect(f'target.kind: Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"')
    if not text(target, "name"):
        raise defect("target.name: Required value")
    pod = writer.found(kind, key).object
    meant = Preconditions(uid=metadata.get("uid") or None, resource_version=metadata.get("resourceVersion") or None)
    if why := meant.broken_by(pod):
        raise conflict(kind.resource, name, why)
    if why := _no_bind(pod, name):
        raise conflict("pods/binding", name, why)
    for of in ("annotations", "labels"):
        if metadata.get(of):
            pod = written(pod, ("metadata", of), {**part(pod, "metadata", of), **metadata[of]})
    pod = written(pod, ("spec", "nodeName"), target["name"])
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
    pod = written(pod, ("status", "conditions"), merged(conditions(pod), scheduled, whole(now)))
    if not trial:
        writer.storage.put(kind.kept_as, key, pod, now)


def _no_bind(pod: Object, name: str) -> str:
    if text(part(pod, "metadata"), "deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if node := text(part(pod, "spec"), "nodeName"):
        return f'pod {name} is already assigned to node "{node}"'
    if gates(pod):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def evict(
    writer: Writer, deleter: Deleter, kind: Kind, key: Key, eviction: Object, now: Instant, *, trial: bool
) -> None:
    """Let a pod go, if its disruption budget allows it.

    Raises:
        Refusal: It is not there, not the one that is meant, or its budget is in the way.
    """
    name = part(eviction, "metadata").get("name", key[1])
    if name != key[1]:
        raise bad_request(f"name in URL does not match name in Eviction object: {name}")
    options = converted({**part(eviction, "deleteOptions"), **({"dryRun": ["All"]} if trial else {})})
    pod = writer.found(kind, key).object
    runs = text(part(pod, "status"), "phase") not in ENDED | {"Pending"}
    budget = _budget(writer, pod) if runs and not text(part(pod, "metadata"), "deletionTimestamp") else None
    if budget is not None:
        status = _spent(budget.object, pod, now)
        if not options.is_trial and not options.preconditions.broken_by(pod):
            budget_key = (key[0], budget.object["metadata"]["name"])
            writer.put_status(writer.registry[RESOURCE], budget_key, status, now)
    if not options.is_trial and not options.preconditions.broken_by(pod):
        writer.put_status(kind, key, _disrupted(pod, now), now)
    deleter.delete(kind, key, options, now)


def _disrupted(pod: Object, now: Instant) -> Object:
    told = condition("DisruptionTarget", holds=True, reason="EvictionByEvictionAPI", message="Eviction API: evicting")
    return {**part(pod, "status"), "conditions": merged(conditions(pod), told, whole(now))}


def _budget(writer: Writer, pod: Object) -> Stored | None:
    namespace = pod["metadata"]["namespace"]
    found = [one for one in writer.storage.objects(RESOURCE, namespace) if protects(one.object, pod)]
    if len(found) > 1:
        why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise defect(why)
    return found[0] if found else None


def _spent(budget: Object, pod: Object, now: Instant) -> dict[str, Any]:
    """The budget's status after this disruption."""
    name, status = budget["metadata"]["name"], part(budget, "status")
    message = "Cannot evict pod as it would violate the pod's disruption budget."
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        why = f"The disruption budget {name} is still being processed by the server."
        raise too_many(message, retry_after=_UNPROCESSED_AFTER, causes=[Cause("", why, "DisruptionBudget")])
    if not is_ready(pod) and status["currentHealthy"] >= status["desiredHealthy"] > 0:
        return dict(status)
    if status["disruptionsAllowed"] < 1:
        why = (
            f"The disruption budget {name} needs {status['desiredHealthy']} healthy pods "
            f"and has {status['currentHealthy']} currently"
        )
        raise too_many(message, causes=[Cause("", why, "DisruptionBudget")])
    disrupted = {**status.get("disruptedPods", {}), pod["metadata"]["name"]: rfc3339(now)}
    allowed = status["disruptionsAllowed"] - 1
    told = merged(conditions(budget), disruptable(budget, allowed), whole(now))
    return {**status, "disruptionsAllowed": allowed, "disruptedPods": disrupted, "conditions": told}
