"""Pods, ours and foreign: what of a task can be read off its pod alone, and the task once the rest is known."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from sky_core.api import annotations, identity, shapes
from sky_core.api.annotations import NO_WISH, Wish
from sky_core.api.decoding import decoded
from sky_core.api.faults import Fault
from sky_core.api.identity import Key
from sky_core.api.instants import instant_at
from sky_core.api.priorities import Priority
from sky_core.api.ranks import Position, position
from sky_core.api.wire import core
from sky_core.model import SECOND, Duration, JobId, NodeName, QueueName, QuotaName, Shape, Task, TaskId
from sky_core.selectors import Labels
from sky_core.settings import Settings
from sky_core.states import FINISHED, TaskState, observed

ReadShape = Callable[..., Shape]
"""As `shapes.read`."""

_SYSTEM: Final = "system-"
_PHASES: Final = {phase: phase for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown")}
"""So that one text serves for all pods."""
_GRACE_MAX: Final = 2**31


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


def read(
    key: Key,
    raw: Mapping[str, Any] | core.Pod,
    settings: Settings,
    shape: ReadShape = shapes.read,
    shared: Callable[[Labels], Labels] = lambda labels: labels,
) -> PodReading:
    """A pod, whose shape is read by `shape`, and its labels replaced by equal ones that are `shared`.

    Raises:
        Invalid: It is malformed.
    """
    pod = decoded(raw, core.Pod)
    meta, spec, notes = pod.metadata, pod.spec, pod.metadata.annotations
    name = identity.name("metadata.name", meta.name)
    created = instant_at("metadata.creationTimestamp", meta.creation_timestamp)
    ours = spec.scheduler_name == settings.scheduler_name
    group = annotations.name(notes, annotations.GROUP_NAME) if ours else None
    stands = position(notes, meta.labels, name, created) if ours else Position()
    return PodReading(
        task=Task(
            id=TaskId(identity.uid(key, meta.uid)),
            namespace=identity.name("metadata.namespace", key.namespace),
            name=name,
            job=job_of(key, group) if ours else None,
            shape=shape(key, pod, settings, ours=ours),
            labels=shared(meta.labels),
            created=created,
            state=TaskState.PENDING,
            rank=stands.rank,
            place=stands.place,
            role=stands.role,
            node=NodeName(identity.name("spec.nodeName", spec.node_name)) if spec.node_name else None,
            required_quota=_quota_name(notes) if ours else None,
            inherits=annotations.name(notes, annotations.INHERIT_RESOURCE_FROM) if ours else None,
            gated=bool(spec.scheduling_gates),
            critical=is_critical(key, spec.priority_class_name),
            started=instant_at("status.startTime", pod.status.start_time) if pod.status.start_time else None,
            grace=Duration(min(max(spec.termination_grace_period_seconds, 0), _GRACE_MAX) * SECOND),
        ),
        phase=_PHASES.get(pod.status.phase, pod.status.phase),
        deleting=bool(meta.deletion_timestamp),
        volumes=_claims(name, spec) if ours else (),
        priority=spec.priority,
        priority_class=spec.priority_class_name,
        preempts=spec.preemption_policy != "Never" if spec.preemption_policy else None,
        queue=_queue_name(notes) if ours else None,
        group=group,
        wish=annotations.wish(notes) if ours else NO_WISH,
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
    bound: NodeName | None,
    evicted: bool,
    shape: Shape,
    priority: Priority | None,
    wish: Wish,
    settings: Settings,
) -> Task:
    """The task that a pod is.

    Args:
        reading: What the pod says.
        quota: The quota whose status names it.
        bound: The node that we are binding it to.
        evicted: Whether we are evicting it.
        shape: Its own, with the volumes of its claims.
        priority: Its priority class, if that exists.
        wish: What its PodGroup asks, else what it asks itself.
        settings: How long places are kept.
    """
    row = reading.task
    deleting = reading.deleting or evicted
    state = observed(
        phase=reading.phase,
        deleting=deleting,
        node=row.node is not None,
        binding=bound is not None,
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
        node=row.node or bound,
        priority=number if number is not None else priority.value if priority else 0,
        preempts=preempts if preempts is not None else priority.preempts if priority else True,
        evicted=deleting and state in FINISHED,
        reservation=Duration(seconds * SECOND),
    )


def _claims(pod: str, spec: core.PodSpec) -> tuple[str, ...]:
    """The PersistentVolumeClaims that a pod mounts; that of an ephemeral volume is called `pod-volume`."""
    return tuple(
        volume.persistent_volume_claim.claim_name if volume.persistent_volume_claim else f"{pod}-{volume.name}"
        for volume in spec.volumes
        if volume.persistent_volume_claim or volume.ephemeral
    )


def _quota_name(notes: Mapping[str, str]) -> QuotaName | None:
    name = annotations.name(notes, annotations.QUOTA_NAME)
    return QuotaName(name) if name else None


def _queue_name(notes: Mapping[str, str]) -> QueueName | None:
    name = annotations.name(notes, annotations.QUEUE_NAME)
    return QueueName(name) if name else None
