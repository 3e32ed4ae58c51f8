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
from sky_core.api.requests import RESIZE_PENDING
from sky_core.api.wire import core
from sky_core.model import SECOND, Duration, Instant, JobId, NodeName, QueueName, QuotaName, Shape, Task, TaskId
from sky_core.selectors import Labels
from sky_core.settings import Settings
from sky_core.states import FINISHED, TaskState, observed

_SYSTEM: Final = "system-"
_PHASES: Final = {phase: phase for phase in ("Pending", "Running", "Succeeded", "Failed", "Unknown")}
"""So that one text serves for all pods."""
_GRACE_MAX: Final = 2**31
_SHARED: Final = frozenset(
    {
        annotations.INHERIT_RESOURCE_FROM,
        annotations.QUEUE_NAME,
        *annotations.WISHES,
        *shapes.ANNOTATIONS,
    }
)
"""The annotations that a mould is made of. The others that are read are a pod's own."""


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
    return Reader(settings, lambda shape: shape).read(key, decoded(raw, core.Pod))


class Reader:
    """Reads pods, and keeps the last in mind: those of a job are listed one after the other, and differ in little."""

    def __init__(self, settings: Settings, one: Callable[[Shape], Shape]) -> None:
        """`one` gives the shape that stands for all equal ones."""
        self._settings = settings
        self._one = one
        self._said: object = None
        self._mould: PodReading | None = None
        self._labels: Labels = {}

    def read(self, key: Key, pod: core.Pod) -> PodReading:
        """As the function `read`; labels equal to the last ones are these.

        Raises:
            Invalid: It is malformed.
        """
        said = _said(key, pod)
        if self._mould is None or said != self._said:
            self._mould = _mould(key, pod, self._settings, self._one)
            self._said = said
        if pod.metadata.labels != self._labels:
            self._labels = pod.metadata.labels  # most of a pod's memory
        return _cast(self._mould, key, pod, self._labels)

    def forget(self) -> None:
        """Keep nothing in mind."""
        self._said = self._mould = None


def _said(key: Key, pod: core.Pod) -> tuple[object, ...]:
    """All of a pod that its mould is made of, and little else."""
    spec, status, meta = pod.spec, pod.status, pod.metadata
    return (
        key.namespace,
        replace(spec, node_name="", volumes=()),
        (status.resources, status.allocated_resources, status.container_statuses, status.init_container_statuses),
        [one for one in status.conditions if one.type == RESIZE_PENDING],
        {name: text for name, text in meta.annotations.items() if name in _SHARED},
        meta.labels if spec.affinity or spec.topology_spread_constraints else None,
    )


def _mould(key: Key, pod: core.Pod, settings: Settings, one: Callable[[Shape], Shape]) -> PodReading:
    """What is read of a pod and of all that say the same: a reading without whatever is a pod's own."""
    spec, notes = pod.spec, pod.metadata.annotations
    ours = spec.scheduler_name == settings.scheduler_name
    return PodReading(
        task=Task(
            id=TaskId(""),
            namespace=identity.name("metadata.namespace", key.namespace),
            name="",
            job=job_of(key, None) if ours else None,
            shape=one(shapes.read(key, pod, settings, ours=ours)),
            labels={},
            created=Instant(0),
            state=TaskState.PENDING,
            inherits=annotations.name(notes, annotations.INHERIT_RESOURCE_FROM) if ours else None,
            gated=bool(spec.scheduling_gates),
            critical=is_critical(key, spec.priority_class_name),
            grace=Duration(min(max(spec.termination_grace_period_seconds, 0), _GRACE_MAX) * SECOND),
        ),
        priority=spec.priority,
        priority_class=spec.priority_class_name,
        preempts=spec.preemption_policy != "Never" if spec.preemption_policy else None,
        queue=_queue_name(notes) if ours else None,
        wish=annotations.wish(notes) if ours else NO_WISH,
    )


def _cast(mould: PodReading, key: Key, pod: core.Pod, labels: Labels) -> PodReading:
    """A reading of a pod, whose labels these are too: the mould with all that is the pod's own."""
    meta, status, row = pod.metadata, pod.status, mould.task
    name = identity.name("metadata.name", meta.name)
    created = instant_at("metadata.creationTimestamp", meta.creation_timestamp)
    ours = row.job is not None
    group = annotations.group(meta.annotations) if ours else None
    stands = position(meta.annotations, labels, name, created) if ours else Position()
    task = replace(
        row,
        id=TaskId(identity.uid(key, meta.uid)),
        name=name,
        job=job_of(key, group) if ours else None,
        labels=labels,
        created=created,
        rank=stands.rank,
        place=stands.place,
        role=stands.role,
        node=NodeName(identity.shared_name("spec.nodeName", host)) if (host := pod.spec.node_name) else None,
        required_quota=_quota_name(meta.annotations) if ours else None,
        started=instant_at("status.startTime", status.start_time) if status.start_time else None,
    )
    return replace(
        mould,
        task=task,
        phase=_PHASES.get(status.phase, status.phase),
        deleting=bool(meta.deletion_timestamp),
        volumes=_claims(name, pod.spec) if ours and pod.spec.volumes else (),
        group=group,
    )


def job_of(key: Key, group: str | None) -> JobId:
    """The job of a pod of ours."""
    if group:
        return identity.shared_job_id(key.namespace, group)
    return identity.job_id(key.namespace, identity.lone(key.name))


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
