"""The kinds of object that processes read and write, and where an API server has them."""

import re
from typing import Final
from urllib.parse import quote

import msgspec

from sky_core.api.kinds import GROUP


class Resource(msgspec.Struct, frozen=True):
    """A kind of object, as the API calls it. The core group is empty."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        """As objects spell it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def is_custom(self) -> bool:
        """Whether a CustomResourceDefinition makes it, which may be missing."""
        return "." in self.group and not self.group.endswith(".k8s.io")

    def collection(self, namespace: str = "") -> str:
        """The path of all objects: of a namespace where one is given, else of the cluster."""
        root = f"/apis/{self.group}" if self.group else "/api"
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        return f"{root}/{self.version}{within}/{self.plural}"

    def path(self, namespace: str, name: str, subresource: str = "") -> str:
        """The path of one object, or of a part of it. Objects of the cluster have the namespace `""`."""
        tail = f"/{subresource}" if subresource else ""
        return f"{self.collection(namespace)}/{quote(name, safe='')}{tail}"

    def __str__(self) -> str:
        """As kubectl knows it, without doubt: `quotas.scheduling.infini-ai.com`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


PODS: Final = Resource("", "v1", "pods", "Pod", True)
NODES: Final = Resource("", "v1", "nodes", "Node")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace")
PERSISTENT_VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume")
PERSISTENT_VOLUME_CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", True)
PRIORITY_CLASSES: Final = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass")
POD_DISRUPTION_BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", True)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", True)
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event", True)
QUOTAS: Final = Resource(GROUP, "v1alpha1", "quotas", "Quota")
POD_GROUPS: Final = Resource(GROUP, "v1alpha1", "podgroups", "PodGroup", True)
QUEUES: Final = Resource(GROUP, "v1alpha1", "queues", "Queue")
JOB_QUEUES: Final = Resource(GROUP, "v1alpha1", "jobqueues", "JobQueue")
NODE_TOPOLOGIES: Final = Resource(GROUP, "v1alpha1", "nodetopologies", "NodeTopology")

SEEN: Final = (
    NAMESPACES,
    PRIORITY_CLASSES,
    NODES,
    NODE_TOPOLOGIES,
    QUEUES,
    JOB_QUEUES,
    QUOTAS,
    POD_GROUPS,
    PERSISTENT_VOLUMES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
)
"""The kinds that a world is made of."""

_KINDS: Final = {(one.group, one.plural): one.kind for one in (*SEEN, LEASES, EVENTS)}
_PATH: Final = re.compile(
    r"/api(?:s/(?P<group>[^/]+))?/[^/]+(?:/namespaces/[^/]+)?/(?P<plural>[^/]+)(?P<named>/[^/]+(?:/(?P<part>.+))?)?"
)


class Target(msgspec.Struct, frozen=True):
    """What a path leads to: `kind` is one of a closed set, with its part behind a slash (`Pod/binding`)."""

    kind: str
    is_one: bool


def target(path: str) -> Target:
    """What is at this path, for metrics and traces: no object's name is in it."""
    found = _PATH.fullmatch(path)
    kind = _KINDS.get((found["group"] or "", found["plural"])) if found else None
    if found is None or kind is None:
        return Target("other", is_one=True)
    return Target(f"{kind}/{found['part']}" if found["part"] else kind, is_one=found["named"] is not None)
