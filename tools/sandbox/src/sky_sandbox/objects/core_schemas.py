"""What the sandbox knows of core kinds: the types of fields that somebody here reads, and how lists merge.

Written as `path: what`, and turned into the words of a structural schema. What is in no table may be anything. The keys
of lists are those of the Go types' patch and list tags (k8s.io/api); strategic merge patch goes by the first.
"""

from collections.abc import Mapping
from typing import Any, Final

from sky_sandbox.patches.lists import Schema

_WORDS: Final[Mapping[str, Schema]] = {
    "text": {"type": "string"},
    "int": {"type": "integer"},
    "flag": {"type": "boolean"},
    "object": {"type": "object"},
    "texts by name": {"type": "object", "additionalProperties": {"type": "string"}},
    "int or text": {"x-kubernetes-int-or-string": True},
    "amounts": {"type": "object", "additionalProperties": {"format": "quantity"}},
    "micro time": {"type": "string", "format": "micro-time"},
    "objects": {"type": "array", "items": {"type": "object"}},
    "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
}
_BY: Final = "by "
_METADATA: Final = {
    "metadata.labels": "texts by name", "metadata.annotations": "texts by name",
    "metadata.finalizers": "set", "metadata.ownerReferences": "by uid",
}  # fmt: skip
_USUAL: Final = {**_METADATA, "spec": "object", "status": "object", "status.conditions": "by type"}
_CONTAINER: Final = {
    "": "by name", "name": "text", "image": "text", "env": "by name", "ports": "by containerPort protocol",
    "volumeMounts": "by mountPath", "volumeDevices": "by devicePath",
    "resources": "object", "resources.requests": "amounts", "resources.limits": "amounts",
    "resources.claims": "by name",
}  # fmt: skip
_REFERENCE: Final = ("kind", "namespace", "name", "uid")
_TOLERATION: Final = ("key", "operator", "value", "effect")
_CONTAINERS: Final = ("spec.containers", "spec.initContainers", "spec.ephemeralContainers")


def schema(fields: Mapping[str, str]) -> Schema:
    """The schema that says this of the fields at these paths; within a list, of its items' fields."""
    root: dict[str, Any] = {}
    for path, what in fields.items():
        node = root
        for name in path.split("."):
            node = node.get("items", node)
            node = node.setdefault("properties", {}).setdefault(name, {})
        node |= _by_key(what.removeprefix(_BY).split()) if what.startswith(_BY) else _WORDS[what]
    return root


def _by_key(keys: list[str]) -> dict[str, Any]:
    defaults = {"properties": {"protocol": {"default": "TCP"}}} if "protocol" in keys else {}
    return {
        "type": "array",
        "items": {"type": "object", **defaults},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": keys,
        "x-kubernetes-patch-merge-key": keys[0],
    }


PLAIN: Final = schema(_METADATA)
USUAL: Final = schema(_USUAL)
VOLUME: Final = schema({**_USUAL, "spec.capacity": "amounts"})
CLAIM: Final = schema({**_USUAL, "spec.resources.requests": "amounts", "status.capacity": "amounts"})
CONFIG_MAP: Final = schema({**_METADATA, "data": "texts by name"})
EVENT: Final = schema(
    _METADATA
    | {
        "involvedObject": "object", **{f"involvedObject.{name}": "text" for name in _REFERENCE},
        "message": "text", "reason": "text", "action": "text", "type": "text",
        "reportingComponent": "text", "reportingInstance": "text", "eventTime": "micro time",
        "series": "object", "series.count": "int", "series.lastObservedTime": "micro time",
    }
)  # fmt: skip
PRIORITY_CLASS: Final = schema({**_METADATA, "value": "int", "globalDefault": "flag", "preemptionPolicy": "text"})
LEASE: Final = schema(
    _METADATA
    | {
        "spec": "object", "spec.holderIdentity": "text", "spec.leaseDurationSeconds": "int",
        "spec.leaseTransitions": "int", "spec.acquireTime": "micro time", "spec.renewTime": "micro time",
    }
)  # fmt: skip
BUDGET: Final = schema(
    _USUAL
    | {
        "spec.minAvailable": "int or text", "spec.maxUnavailable": "int or text", "spec.selector": "object",
        "spec.selector.matchLabels": "texts by name",
        "status.observedGeneration": "int", "status.disruptionsAllowed": "int", "status.currentHealthy": "int",
        "status.desiredHealthy": "int", "status.expectedPods": "int",
        "status.disruptedPods": "texts by name",
    }
)  # fmt: skip
NODE: Final = schema(
    _USUAL
    | {
        "spec.unschedulable": "flag", "spec.taints": "objects", "status.addresses": "by type",
        "status.allocatable": "amounts", "status.capacity": "amounts",
    }
)  # fmt: skip
POD: Final = schema(
    _USUAL
    | {f"{at}.{path}".rstrip("."): what for at in _CONTAINERS for path, what in _CONTAINER.items()}
    | {
        "spec.nodeName": "text", "spec.schedulerName": "text", "spec.priorityClassName": "text", "spec.priority": "int",
        "spec.restartPolicy": "text",
        "spec.terminationGracePeriodSeconds": "int", "spec.nodeSelector": "texts by name",
        "spec.tolerations": "objects", **{f"spec.tolerations.{name}": "text" for name in _TOLERATION},
        "spec.schedulingGates": "by name", "spec.schedulingGates.name": "text", "spec.volumes": "by name",
        "spec.imagePullSecrets": "by name", "spec.hostAliases": "by ip", "spec.resourceClaims": "by name",
        "spec.topologySpreadConstraints": "by topologyKey whenUnsatisfiable", "status.podIPs": "by ip",
        "status.phase": "text", "status.containerStatuses": "objects",
    }
)  # fmt: skip
