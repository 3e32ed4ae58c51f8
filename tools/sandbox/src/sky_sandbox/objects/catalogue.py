"""The core kinds that the sandbox serves: what kubectl and the processes use, and no more."""

from typing import Final

from sky_sandbox.api.kinds import Column, Kind
from sky_sandbox.objects.core_schemas import (
    BUDGET,
    CONFIG_MAP,
    EVENT,
    LEASE,
    NODE,
    POD,
    PRIORITY_CLASS,
    USUAL,
)

_AGE: Final = Column(name="Age", path=".metadata.creationTimestamp", type="date")
_POD_FIELDS: Final = (
    "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
    "status.phase", "status.podIP", "status.nominatedNodeName",
)  # fmt: skip
_EVENT_FIELDS: Final = (
    "involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
    "involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath", "reason",
    "reportingComponent", "source", "type",
)  # fmt: skip

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
        schema=USUAL, columns=(Column(name="Status", path=".status.phase"), _AGE),
    ),
    Kind(
        plural="events", kind="Event", namespaced=True, short_names=("ev",), fields=_EVENT_FIELDS, schema=EVENT,
        made_by_update=True,
    ),
    Kind(plural="configmaps", kind="ConfigMap", namespaced=True, short_names=("cm",), schema=CONFIG_MAP),
    Kind(
        plural="persistentvolumes", kind="PersistentVolume", short_names=("pv",), subresources=("status",),
        schema=USUAL,
        columns=(
            Column(name="Capacity", path=".spec.capacity.storage"),
            Column(name="Reclaim Policy", path=".spec.persistentVolumeReclaimPolicy"),
            Column(name="Status", path=".status.phase"),
            Column(name="Claim", path=".spec.claimRef.name"),
            Column(name="StorageClass", path=".spec.storageClassName"),
            _AGE,
        ),
    ),
    Kind(
        plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True, short_names=("pvc",),
        subresources=("status",), schema=USUAL,
        columns=(
            Column(name="Status", path=".status.phase"),
            Column(name="Volume", path=".spec.volumeName"),
            Column(name="Capacity", path=".status.capacity.storage"),
            Column(name="StorageClass", path=".spec.storageClassName"),
            _AGE,
        ),
    ),
    Kind(
        plural="resourcequotas", kind="ResourceQuota", namespaced=True, short_names=("quota",), columns=(_AGE,),
        unwritable="limit namespaces by ResourceQuotas",
    ),
    Kind(
        plural="limitranges", kind="LimitRange", namespaced=True, short_names=("limits",), columns=(_AGE,),
        unwritable="limit pods by LimitRanges",
    ),
    Kind(
        group="coordination.k8s.io", plural="leases", kind="Lease", namespaced=True, schema=LEASE,
        conditional=True, made_by_update=True,
        columns=(Column(name="Holder", path=".spec.holderIdentity"), _AGE),
    ),
    Kind(
        group="events.k8s.io", plural="events", kind="Event", namespaced=True, short_names=("ev",), schema=EVENT,
        stored_as="events", made_by_update=True,
    ),
    Kind(
        group="scheduling.k8s.io", plural="priorityclasses", kind="PriorityClass", short_names=("pc",), counted=True,
        schema=PRIORITY_CLASS,
        columns=(
            Column(name="Value", path=".value", type="integer"),
            Column(name="Global-Default", path=".globalDefault", type="boolean"),
            _AGE,
            Column(name="PreemptionPolicy", path=".preemptionPolicy"),
        ),
    ),
    Kind(
        group="policy", plural="poddisruptionbudgets", kind="PodDisruptionBudget", namespaced=True,
        short_names=("pdb",), subresources=("status",), counted=True, conditional=True, schema=BUDGET,
    ),
    Kind(
        group="apiextensions.k8s.io", plural="customresourcedefinitions", kind="CustomResourceDefinition",
        short_names=("crd", "crds"), categories=("api-extensions",), subresources=("status",), counted=True,
        conditional=True, schema=USUAL,
        columns=(Column(name="Created At", path=".metadata.creationTimestamp"),),
    ),
)  # fmt: skip
"""ResourceQuotas and LimitRanges are there to be looked for: `kubectl describe namespace` does, and kubectl must choose
between two kinds when it is asked for a `quota`."""
