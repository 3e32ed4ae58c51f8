"""Shapes: what of a pod decides where it may go."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from sky_core.api import annotations
from sky_core.api.faults import Invalid
from sky_core.api.identity import Key
from sky_core.api.requests import request
from sky_core.api.selection import node_affinity, tolerations
from sky_core.api.surroundings import NO_POD_AFFINITY, host_ports, pod_affinity, spreads
from sky_core.api.wire import core
from sky_core.constraints import NodeAffinity, NodeTerm
from sky_core.model import Pool, Shape
from sky_core.quantity import shown
from sky_core.resources import Resources
from sky_core.selectors import EVERYTHING, equals
from sky_core.settings import Settings

_NO_NODE_AFFINITY: Final = NodeAffinity()
_AFFINITY: Final = "spec.affinity.nodeAffinity"
_POOLS: Final = {pool.value: pool for pool in Pool}
_MOUNT_MAX: Final = 63
_RESOURCES_MAX: Final = 16
ANNOTATIONS: Final = (
    annotations.SPOT_POOL,
    annotations.REQUIRED_MOUNT_POINTS,
    annotations.QUOTA_AFFINITY,
    annotations.PREFERRED_QUOTA_AFFINITY,
)
"""The annotations that a shape is read from."""


def read(key: Key, pod: core.Pod, settings: Settings, *, ours: bool) -> Shape:
    """The shape of a pod; of a foreign one, what it takes of its node and whom it keeps away.

    Raises:
        Invalid: An amount, a constraint or an annotation is malformed.
    """
    spec, notes, labels = pod.spec, pod.metadata.annotations, pod.metadata.labels
    asked = request(pod)
    pool = annotations.choice(notes, annotations.SPOT_POOL, _POOLS) or Pool.EXCLUSIVE
    spot, units, load = spot_shape(asked, pool, settings)
    affinity = spec.affinity
    taken = Shape(
        request=asked,
        load=load,
        namespace=key.namespace,
        pod_affinity=pod_affinity(affinity, key.namespace, labels) if affinity else NO_POD_AFFINITY,
        ports=host_ports(spec),
        spot=spot,
        spot_units=units,
    )
    if not ours:
        return taken
    if len(asked.units) > _RESOURCES_MAX:
        raise Invalid("spec.containers", f"asks for {len(asked.units)} resources; a claim holds {_RESOURCES_MAX}")
    return replace(
        taken,
        selector=equals(spec.node_selector) if spec.node_selector else EVERYTHING,
        node_affinity=node_affinity(_AFFINITY, affinity.node_affinity) if affinity else _NO_NODE_AFFINITY,
        tolerations=tolerations(spec.tolerations) if spec.tolerations else (),
        spread=spreads(spec.topology_spread_constraints, labels) if spec.topology_spread_constraints else (),
        mounts=_mounts(notes),
        rdma=any(asked[name] for name in settings.rdma_resources),
        quota_affinity=annotations.selector(notes, annotations.QUOTA_AFFINITY),
        preferred_quota_affinity=annotations.selector(notes, annotations.PREFERRED_QUOTA_AFFINITY),
    )


def spot_shape(asked: Resources, pool: Pool, settings: Settings) -> tuple[Pool | None, int, Resources]:
    """Pool, units and load of a request: an exclusive spot unit also takes the card behind it.

    Raises:
        Invalid: It asks for both spot and what backs it.
    """
    units = asked[settings.spot_resource]
    if not units:
        return None, 0, asked
    if asked[settings.spot_backed_by]:
        raise Invalid("spec.containers", f"asks for {settings.spot_resource} and {settings.spot_backed_by} in one pod")
    if pool is Pool.SHARED:
        return pool, units, asked
    return pool, units, asked + Resources({settings.spot_backed_by: units})


def with_volumes(shape: Shape, volumes: tuple[tuple[NodeTerm, ...], ...]) -> Shape:
    """The shape of a pod whose volumes can be reached from these nodes only."""
    return replace(shape, volumes=volumes)


def _mounts(notes: Mapping[str, str]) -> tuple[str, ...]:
    text = notes.get(annotations.REQUIRED_MOUNT_POINTS, "").strip()
    mounts = {part.strip() for part in text.split(",")} if text else set()
    for mount in sorted(mounts):
        if not 0 < len(mount) <= _MOUNT_MAX or not mount.isprintable() or " " in mount:
            raise Invalid(
                annotations.field(annotations.REQUIRED_MOUNT_POINTS), f"{shown(mount)} is not the id of a mount point"
            )
    return tuple(sorted(mounts))
