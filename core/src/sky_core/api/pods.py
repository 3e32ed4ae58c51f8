"""Pods, ours and foreign: what of a task can be read off its pod alone, and the task once the rest is known."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from sky_core.api import annotations as notes_
from sky_core.api import identity
from sky_core.api.annotations import NO_WISH, Wish
from sky_core.api.decoding import decoded
from sky_core.api.faults import Fault, Invalid
from sky_core.api.identity import Key
from sky_core.api.instants import instant_at
from sky_core.api.priorities import Priority
from sky_core.api.ranks import rank_and_place
from sky_core.api.requests import request
from sky_core.api.selection import node_affinity, tolerations
from sky_core.api.surroundings import NO_POD_AFFINITY, host_ports, pod_affinity, spreads
from sky_core.api.wire import core
from sky_core.constraints import NodeAffinity, NodeTerm
from sky_core.model import SECOND, Duration, JobId, NodeName, Pool, QueueName, QuotaName, Shape, Task, TaskId
from sky_core.quantity import shown
from sky_core.resources import Resources
from sky_core.selectors import EVERYTHING, equals
from sky_core.settings import Settings
from sky_core.states import FINISHED, TaskState, observed

_NO_NODE_AFFINITY: Final = NodeAffinity()
_SYSTEM: Final = "system-"
_POOLS: Final = {pool.value: pool for pool in Pool}
_MOUNT_MAX: Final = 63
_AFFINITY: Final = "spec.affinity.nodeAffinity"


class PodReading(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one pod says.

    `task` lacks what other objects decide: its quota and claim, volumes, priority class, reservation. `volumes` are
    the names of its PersistentVolumeClaims. `queue` is that of a pod without a group. `fault`: the pod is malformed,
    and `task` holds what can be read of it.
    """

    task: Task
    phase: str = ""
    deleting: bool = False
    volumes: tuple[str, ...] = ()
    priority: int | None = None
    priority_class: str = ""
    preempts: bool | None = None
    queue: QueueName | None = None
    group: str | None = None
    wish: Wish = NO_WISH
    fault: Fault | None = None

    def with_shape(self, shape: Shape) -> "PodReading":
        """With an equal shape that others have too."""
        return replace(self, task=replace(self.task, shape=shape))


def read(key: Key, raw: Mapping[str, Any], settings: Settings) -> PodReading:
    """A pod.

    Raises:
        Invalid: It is malformed.
    """
    pod = decoded(raw, core.Pod)
    meta, spec, notes = pod.metadata, pod.spec, pod.metadata.annotations
    name = identity.name("metadata.name", meta.name)
    created = instant_at("metadata.creationTimestamp", meta.creation_timestamp)
    ours = spec.scheduler_name == settings.scheduler_name
    group = notes_.name(notes, notes_.GROUP_NAME) if ours else None
    rank, place, role = rank_and_place(notes, meta.labels, name, created) if ours else ((), "", "")
    return PodReading(
        task=Task(
            id=TaskId(identity.uid(key, meta.uid)),
            namespace=identity.name("metadata.namespace", key.namespace),
            name=name,
            job=job_of(key, group) if ours else None,
            shape=_shape(key, pod, settings, ours=ours),
            labels=meta.labels,
            created=created,
            state=TaskState.PENDING,
            rank=rank,
            place=place,
            role=role,
            node=NodeName(identity.name("spec.nodeName", spec.node_name)) if spec.node_name else None,
            required_quota=_quota_name(notes) if ours else None,
            inherits=notes_.name(notes, notes_.INHERIT_RESOURCE_FROM) if ours else None,
            gated=bool(spec.scheduling_gates),
            critical=is_critical(key, spec.priority_class_name),
            started=instant_at("status.startTime", pod.status.start_time) if pod.status.start_time else None,
            grace=Duration(max(spec.termination_grace_period_seconds, 0) * SECOND),
        ),
        phase=pod.status.phase,
        deleting=bool(meta.deletion_timestamp),
        volumes=_claims(name, spec),
        priority=spec.priority,
        priority_class=spec.priority_class_name,
        preempts=spec.preemption_policy != "Never" if spec.preemption_policy else None,
        queue=_queue_name(notes) if ours else None,
        group=group,
        wish=notes_.wish(notes) if ours else NO_WISH,
    )


def job_of(key: Key, group: str | None) -> JobId:
    """The job of a pod of ours."""
    return identity.job_id(key.namespace, group or identity.lone(key.name))


def is_critical(key: Key, priority_class: str) -> bool:
    """Whether conformance protects it (behaviour.md 7.1)."""
    return key.namespace == "kube-system" or priority_class.startswith(_SYSTEM)


def task(
    reading: PodReading,
    *,
    quota: QuotaName | None,
    shape: Shape,
    priority: Priority | None,
    wish: Wish,
    settings: Settings,
) -> Task:
    """The task that a pod is.

    Args:
        reading: What the pod says.
        quota: The quota whose status names it.
        shape: Its own, with the volumes of its claims.
        priority: Its priority class, if that exists.
        wish: What its PodGroup asks, else what it asks itself.
        settings: How long places are kept.
    """
    row = reading.task
    state = observed(
        phase=reading.phase,
        deleting=reading.deleting,
        node=row.node is not None,
        binding=False,
        claim=quota is not None,
    )
    number, preempts = reading.priority, reading.preempts
    asked = settings.default_reservation if wish.reservation is None else wish.reservation
    seconds = -(-min(asked, settings.max_reservation) // SECOND)  # claims keep whole seconds
    return replace(
        row,
        state=state,
        shape=shape,
        quota=quota,
        priority=number if number is not None else priority.value if priority else 0,
        preempts=preempts if preempts is not None else priority.preempts if priority else True,
        evicted=reading.deleting and state in FINISHED,
        reservation=Duration(seconds * SECOND),
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


def _shape(key: Key, pod: core.Pod, settings: Settings, *, ours: bool) -> Shape:
    """The shape; of a foreign pod, what it takes of its node and whom it keeps away."""
    spec, notes, labels = pod.spec, pod.metadata.annotations, pod.metadata.labels
    asked = request(pod)
    pool = notes_.choice(notes, notes_.SPOT_POOL, _POOLS) or Pool.EXCLUSIVE
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
    return replace(
        taken,
        selector=equals(spec.node_selector) if spec.node_selector else EVERYTHING,
        node_affinity=node_affinity(_AFFINITY, affinity.node_affinity) if affinity else _NO_NODE_AFFINITY,
        tolerations=tolerations(spec.tolerations) if spec.tolerations else (),
        spread=spreads(spec.topology_spread_constraints, labels) if spec.topology_spread_constraints else (),
        mounts=_mounts(notes),
        rdma=any(asked[name] for name in settings.rdma_resources),
        quota_affinity=notes_.selector(notes, notes_.QUOTA_AFFINITY),
        preferred_quota_affinity=notes_.selector(notes, notes_.PREFERRED_QUOTA_AFFINITY),
    )


def _claims(pod: str, spec: core.PodSpec) -> tuple[str, ...]:
    """The PersistentVolumeClaims that a pod mounts; that of an ephemeral volume is called `pod-volume`."""
    return tuple(
        volume.persistent_volume_claim.claim_name if volume.persistent_volume_claim else f"{pod}-{volume.name}"
        for volume in spec.volumes
        if volume.persistent_volume_claim or volume.ephemeral
    )


def _mounts(notes: Mapping[str, str]) -> tuple[str, ...]:
    text = notes.get(notes_.REQUIRED_MOUNT_POINTS, "").strip()
    mounts = {part.strip() for part in text.split(",")} if text else set()
    for mount in sorted(mounts):
        if not 0 < len(mount) <= _MOUNT_MAX or not mount.isprintable() or " " in mount:
            raise Invalid(notes_.field(notes_.REQUIRED_MOUNT_POINTS), f"{shown(mount)} is not the id of a mount point")
    return tuple(sorted(mounts))


def _quota_name(notes: Mapping[str, str]) -> QuotaName | None:
    name = notes_.name(notes, notes_.QUOTA_NAME)
    return QuotaName(name) if name else None


def _queue_name(notes: Mapping[str, str]) -> QueueName | None:
    name = notes_.name(notes, notes_.QUEUE_NAME)
    return QueueName(name) if name else None
