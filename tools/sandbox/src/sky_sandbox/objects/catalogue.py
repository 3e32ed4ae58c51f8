"""The core kinds that the sandbox serves: what kubectl and the processes use, and no more."""

from typing import Final

from sky_sandbox.api.kinds import Kind
from sky_sandbox.objects.core_schemas import (
    BUDGET,
    CLAIM,
    CONFIG_MAP,
    EVENT,
    LEASE,
    NODE,
    POD,
    PRIORITY_CLASS,
    USUAL,
    VOLUME,
)

_POD_FIELDS: Final = (
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
    "status.phase", "status.podIP", "status.nominatedNodeName",
)  # fmt: skip
_ABOUT: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_EVENT_FIELDS: Final = (
    *(f"involvedObject.{field}" for field in _ABOUT), "reason", "reportingComponent", "source", "type",
)  # fmt: skip
_NEWER_EVENT_FIELDS: Final = (*(f"regarding.{field}" for field in _ABOUT), "reason", "reportingController", "type")

CORE: Final = (
    Kind(
        plural="pods", kind="Pod", namespaced=True, short_names=("po",), categories=("all",), counted=True, schema=POD,
        subresources=("status", "binding", "eviction"), fields=_POD_FIELDS,
    ),
    Kind(
        plural="nodes", kind="Node", short_names=("no",), subresources=("status",), fields=("spec.unschedulable",),
        schema=NODE,
    ),
    Kind(
        plural="namespaces", kind="Namespace", short_names=("ns",), subresources=("status",), fields=("status.phase",),
        schema=USUAL,
    ),
    Kind(
        plural="events", kind="Event", namespaced=True, short_names=("ev",), fields=_EVENT_FIELDS, schema=EVENT,
        made_by_update=True,
    ),
    Kind(plural="configmaps", kind="ConfigMap", namespaced=True, short_names=("cm",), schema=CONFIG_MAP),
    Kind(
        plural="persistentvolumes", kind="PersistentVolume", short_names=("pv",), subresources=("status",),
        schema=VOLUME,
    ),
    Kind(
        plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True, short_names=("pvc",),
        subresources=("status",), schema=CLAIM,
    ),
    Kind(
        plural="resourcequotas", kind="ResourceQuota", namespaced=True, short_names=("quota",),
        unwritable="limit namespaces by ResourceQuotas",
    ),
    Kind(
        plural="limitranges", kind="LimitRange", namespaced=True, short_names=("limits",),
        unwritable="limit pods by LimitRanges",
    ),
    Kind(
        group="coordination.k8s.io", plural="leases", kind="Lease", namespaced=True, schema=LEASE,
        conditional=True, made_by_update=True,
    ),
    Kind(
        group="events.k8s.io", plural="events", kind="Event", namespaced=True, short_names=("ev",), schema=EVENT,
        stored_as="events", made_by_update=True, fields=_NEWER_EVENT_FIELDS,
    ),
    Kind(
        group="scheduling.k8s.io", plural="priorityclasses", kind="PriorityClass", short_names=("pc",), counted=True,
        schema=PRIORITY_CLASS,
    ),
    Kind(
        group="policy", plural="poddisruptionbudgets", kind="PodDisruptionBudget", namespaced=True,
        short_names=("pdb",), subresources=("status",), counted=True, conditional=True, schema=BUDGET,
    ),
    Kind(
        group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition",
        short_names=("crd", "crds"), categories=("api-extensions",), subresources=("status",), counted=True,
        conditional=True, schema=USUAL,
    ),
)  # fmt: skip
"""ResourceQuotas and LimitRanges are there to be looked for: `kubectl describe namespace` does, and kubectl must choose
between two kinds when it is asked for a `quota`."""
