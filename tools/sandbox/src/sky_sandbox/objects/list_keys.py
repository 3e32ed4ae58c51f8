"""The lists of core kinds that merge item by item, by their Go types' patch and list tags (k8s.io/api).

Written as `path: keys`. The first key is the one that strategic merge patch goes by.
"""

from collections.abc import Mapping
from typing import Any, Final

from sky_sandbox.patches.lists import Schema

_SET: Final = ""
_METADATA: Final = {"metadata.finalizers": _SET, "metadata.ownerReferences": "uid"}
_CONDITIONS: Final = {**_METADATA, "status.conditions": "type"}
_CONTAINER: Final = {
    "": "name", "env": "name", "ports": "containerPort protocol", "volumeMounts": "mountPath",
    "volumeDevices": "devicePath", "resources.claims": "name",
}  # fmt: skip
_CONTAINERS: Final = ("spec.containers", "spec.initContainers", "spec.ephemeralContainers")


def schema(paths: Mapping[str, str]) -> Schema:
    """The schema that says of the lists at these paths what their keys are."""
    root: dict[str, Any] = {}
    for path, keys in paths.items():
        node = root
        for name in path.split("."):
            node = node.get("items", node)
            node = node.setdefault("properties", {}).setdefault(name, {})
        if keys == _SET:
            node |= {"x-kubernetes-list-type": "set"}
        else:
            first, *_ = listed = keys.split()
            node |= {
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": listed,
                "x-kubernetes-patch-merge-key": first,
                "items": {"properties": {"protocol": {"default": "TCP"}}} if "protocol" in listed else {},
            }
    return root


PLAIN: Final = schema(_METADATA)
WITH_CONDITIONS: Final = schema(_CONDITIONS)
NODE: Final = schema({**_CONDITIONS, "status.addresses": "type"})
POD: Final = schema(
    _CONDITIONS
    | {f"{at}.{path}".rstrip("."): keys for at in _CONTAINERS for path, keys in _CONTAINER.items()}
    | {
        "spec.volumes": "name", "spec.imagePullSecrets": "name", "spec.hostAliases": "ip",
        "spec.schedulingGates": "name", "spec.resourceClaims": "name",
        "spec.topologySpreadConstraints": "topologyKey whenUnsatisfiable", "status.podIPs": "ip",
    }
)  # fmt: skip
