"""Schemas of the parts that our kinds share with those of Kubernetes, as strict as its own validation.

Their structs are read from Pods and Nodes too, which the API server has validated; so they carry no bounds themselves.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from sky_core.api.wire import meta
from sky_core.api.wire.bounds import MAGNITUDE, NAMES

Schema: TypeAlias = dict[str, Any]

AMOUNT: Final[Schema] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
    "minimum": 0,
    "maxLength": 32,
    "pattern": rf"^\+?{MAGNITUDE}$",
}
"""A quantity that people write."""

_KEY: Final[Schema] = {"type": "string", "minLength": 1, "maxLength": 317}
_VALUE: Final[Schema] = {"type": "string", "maxLength": 63}


def _listed(items: Schema, most: int) -> Schema:
    return {"type": "array", "maxItems": most, "items": items, "x-kubernetes-list-type": "atomic"}


def _requirement(operators: list[str]) -> Schema:
    operator = {"type": "string", "enum": operators}
    return {
        "type": "object",
        "required": ["key", "operator"],
        "properties": {"key": _KEY, "operator": operator, "values": _listed(_VALUE, 64)},
        "x-kubernetes-validations": [
            {
                "rule": "(self.operator in ['Exists', 'DoesNotExist']) != (has(self.values) && size(self.values) > 0)",
                "message": "values must be given, but for Exists and DoesNotExist, which must have none",
            }
        ],
    }


_LABEL_REQUIREMENT: Final = _requirement(["In", "NotIn", "Exists", "DoesNotExist"])
_NODE_REQUIREMENT: Final = _requirement(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
_NODE_TERM: Final[Schema] = {
    "type": "object",
    "properties": {
        "matchExpressions": _listed(_NODE_REQUIREMENT, 32),
        "matchFields": _listed(_NODE_REQUIREMENT, 32),
    },
    "x-kubernetes-map-type": "atomic",
}
_PREFERRED_TERM: Final[Schema] = {
    "type": "object",
    "required": ["weight"],
    "properties": {
        "weight": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100},
        "preference": _NODE_TERM,
    },
}

PARTS: Final[Mapping[type, Schema]] = {
    meta.ObjectMeta: {"type": "object"},
    meta.LabelSelector: {
        "type": "object",
        "properties": {
            "matchLabels": {"type": "object", "maxProperties": 32, "additionalProperties": _VALUE, **NAMES},
            "matchExpressions": _listed(_LABEL_REQUIREMENT, 32),
        },
        "x-kubernetes-map-type": "atomic",
    },
    meta.NodeAffinity: {
        "type": "object",
        "properties": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "type": "object",
                "required": ["nodeSelectorTerms"],
                "properties": {"nodeSelectorTerms": {**_listed(_NODE_TERM, 16), "minItems": 1}},
                "x-kubernetes-map-type": "atomic",
            },
            "preferredDuringSchedulingIgnoredDuringExecution": _listed(_PREFERRED_TERM, 16),
        },
    },
    meta.Toleration: {
        "type": "object",
        "properties": {
            "key": {"type": "string", "maxLength": 317},
            "operator": {"type": "string", "enum": ["Exists", "Equal"]},
            "value": _VALUE,
            "effect": {"type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"]},
        },
        "x-kubernetes-validations": [
            {
                "rule": "has(self.operator) && self.operator == 'Exists' ? !has(self.value) || self.value == '' "
                ": has(self.key) && self.key != ''",
                "message": "value must be empty for Exists, and key must be given for anything else",
            }
        ],
    },
    meta.Condition: {
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": {"type": "string", "maxLength": 316, "pattern": r"^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "reason": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1024,
                "pattern": r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "message": {"type": "string", "maxLength": 32768},
            "lastTransitionTime": {"type": "string", "format": "date-time", "maxLength": 64},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0, "maximum": 2**53},
        },
    },
}
