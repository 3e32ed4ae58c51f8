"""The core kinds on their way in: defaults that others rely on, and rules that a cluster would hold them to.

A kind that is not here has neither.
"""

from collections.abc import Mapping
from typing import Any, Final

from sky_core.api import budgets
from sky_core.api.faults import Invalid
from sky_core.selector_text import is_label_value
from sky_core.simulation.objects import part
from sky_sandbox.api.metadata import is_qualified_name
from sky_sandbox.api.refusals import Cause
from sky_sandbox.objects import custom, definitions, events, pods
from sky_sandbox.objects.case import Admit, Case, Object
from sky_sandbox.objects.parts import items

NOT_READY: Final = "node.kubernetes.io/not-ready"
NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"

_PRIORITY_MAX: Final = 1_000_000_000
_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_UNCOUNTED: Final = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")


def admitted(raw: dict[str, Any], case: Case) -> Object:
    """What becomes of an object that comes in.

    Raises:
        Refusal: It may not.
    """
    admit = custom.admit if case.kind.custom else ADMIT.get(case.kind.kept_as)
    return raw if admit is None else admit(raw, case)


def _node(raw: dict[str, Any], case: Case) -> Object:
    """A new node is not ready until somebody says that it is."""
    if case.old is not None:
        return raw
    taints = [one for one in items(part(raw, "spec"), "taints") if one.get("key") != NOT_READY]
    return {**raw, "spec": {**part(raw, "spec"), "taints": [*taints, {"key": NOT_READY, "effect": "NoSchedule"}]}}


def _namespace(raw: dict[str, Any], case: Case) -> Object:
    metadata = raw["metadata"]
    labels = {**metadata.get("labels", {}), NAMESPACE_LABEL: case.name}
    raw = {**raw, "metadata": {**metadata, "labels": labels}}
    return raw if case.old else {**raw, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}


def _priority_class(raw: dict[str, Any], case: Case) -> Object:
    value = raw.get("value", 0)
    if case.old is not None and value != case.old["value"]:
        raise case.invalid_at("value", "Forbidden: may not be changed in an update", "FieldValueForbidden")
    if case.name.startswith("system-") and _SYSTEM.get(case.name) != value:
        why = "Forbidden: priority class names with 'system-' prefix are reserved for system use only"
        raise case.invalid_at("metadata.name", why, "FieldValueForbidden")
    if value > _PRIORITY_MAX and case.name not in _SYSTEM:
        why = f"Forbidden: maximum allowed value of a user defined priority is {_PRIORITY_MAX}"
        raise case.invalid_at("value", why, "FieldValueForbidden")
    policy = raw.get("preemptionPolicy", "PreemptLowerPriority")
    if policy not in {"PreemptLowerPriority", "Never"}:
        raise case.invalid_at("preemptionPolicy", f'Unsupported value: "{policy}"', "FieldValueNotSupported")
    return {**raw, "preemptionPolicy": policy, "value": value}


def _lease(raw: dict[str, Any], case: Case) -> Object:
    spec = part(raw, "spec")
    causes = []
    if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
        causes.append(Cause("spec.leaseDurationSeconds", "must be greater than 0"))
    if spec.get("leaseTransitions") is not None and spec["leaseTransitions"] < 0:
        causes.append(Cause("spec.leaseTransitions", "must be greater than or equal to 0"))
    if causes:
        raise case.invalid(*causes)
    return raw


def _budget(raw: dict[str, Any], case: Case) -> Object:
    try:
        rule = budgets.read(raw)
    except Invalid as error:
        raise case.invalid_at(error.field, error.fault) from None
    for name, share in (("minAvailable", rule.available_min), ("maxUnavailable", rule.unavailable_max)):
        if share is not None and share.percent and share.count > 100:
            raise case.invalid_at(f"spec.{name}", "Invalid value: Must not be greater than 100%")
    for key, value in part(raw, "spec", "selector", "matchLabels").items():
        if not (is_qualified_name(key) and is_label_value(value)):
            raise case.invalid_at("spec.selector.matchLabels", f'Invalid value: "{key}={value}": a label is wanted')
    return raw if case.old else {**raw, "status": dict.fromkeys(_UNCOUNTED, 0)}


def _volume(raw: dict[str, Any], case: Case) -> Object:
    return _claim({**raw, "spec": {"persistentVolumeReclaimPolicy": "Retain", **part(raw, "spec")}}, case)


def _claim(raw: dict[str, Any], case: Case) -> Object:
    full = {**raw, "spec": {"volumeMode": "Filesystem", **part(raw, "spec")}}
    return full if case.old else {**full, "status": {"phase": "Pending"}}


ADMIT: Final[Mapping[str, Admit]] = {
    "pods": pods.admit,
    "nodes": _node,
    "namespaces": _namespace,
    "persistentvolumes": _volume,
    "persistentvolumeclaims": _claim,
    "priorityclasses.scheduling.k8s.io": _priority_class,
    "leases.coordination.k8s.io": _lease,
    "poddisruptionbudgets.policy": _budget,
    events.RESOURCE: events.admit,
    definitions.RESOURCE: definitions.admit,
}
