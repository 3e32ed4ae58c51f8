"""Jobs: PodGroups, and pods without one, with what their tasks ask for."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

import msgspec

from sky_core.api import annotations, identity
from sky_core.api.amounts import resources
from sky_core.api.annotations import NO_WISH, Wish
from sky_core.api.decoding import decoded
from sky_core.api.faults import Fault
from sky_core.api.identity import Key
from sky_core.api.instants import instant_at
from sky_core.api.pods import PodReading
from sky_core.api.priorities import Priority
from sky_core.api.wire import crds
from sky_core.model import Duration, Instant, Job, JobId, QueueName, Task, Topology
from sky_core.resources import NOTHING, Resources
from sky_core.selectors import Labels
from sky_core.settings import Settings

_DEFAULT_QUEUE = QueueName("default")


class GroupReading(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What one PodGroup says. `fault`: it is malformed, and the rest is what a job has by default."""

    namespace: str
    name: str
    created: Instant = Instant(0)
    queue: QueueName = _DEFAULT_QUEUE
    labels: Labels = {}
    min_member: int = 1
    min_task_member: tuple[tuple[str, int], ...] = ()
    min_resources: Resources = NOTHING
    priority_class: str = ""
    wish: Wish = NO_WISH
    phase: str = ""
    waiting_since: Instant | None = None
    fault: str = ""


class Member(msgspec.Struct, frozen=True, gc=False):
    """A task of a job, with what its pod says of the job."""

    task: Task
    reading: PodReading


def read(key: Key, raw: Mapping[str, Any]) -> GroupReading:
    """A PodGroup.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, crds.PodGroup)
    meta, spec = written.metadata, written.spec
    waiting = (one for one in written.status.conditions if one.type == "WaitingForZone" and one.status == "True")
    since = next((one.last_transition_time for one in waiting), None)
    return GroupReading(
        namespace=identity.name("metadata.namespace", key.namespace),
        name=identity.name("metadata.name", meta.name),
        created=instant_at("metadata.creationTimestamp", meta.creation_timestamp),
        queue=QueueName(identity.name("spec.queue", spec.queue)),
        labels=meta.labels,
        min_member=spec.min_member,
        min_task_member=tuple(sorted(spec.min_task_member.items())),
        min_resources=resources("spec.minResources", spec.min_resources),
        priority_class=spec.priority_class_name,
        wish=annotations.wish(meta.annotations),
        phase=written.status.phase,
        waiting_since=None if since is None else instant_at("status.conditions[WaitingForZone]", since),
    )


def spoilt(key: Key, fault: Fault) -> GroupReading | None:
    """A malformed PodGroup: the job is there, so that its pods are told."""
    return GroupReading(namespace=key.namespace, name=key.name, fault=str(fault)) if key.is_proper else None


def job(
    id_: JobId,
    group: GroupReading | None,
    members: Sequence[Member],
    priorities: Mapping[str, Priority],
    mixed: str,
) -> Job:
    """The job of these members, which are in rank order, and `mixed` as told of them; its version is 0.

    Without a group it is that of the one pod that it is called after, or its group does not exist.
    """
    first = members[0].reading if members else None
    grouped = group is not None or (first is not None and first.group is not None)
    known = group or _unknown(id_, members, grouped=grouped)
    priority = priorities.get(known.priority_class)
    wish = known.wish
    for member in members:
        wish = wish.over(member.reading.wish)
    faults = [known.fault, *(str(member.reading.fault) for member in members if member.reading.fault)]
    highest = max((member.task.priority for member in members), default=0)
    willing = all(member.task.preempts for member in members)
    return Job(
        id=id_,
        namespace=known.namespace,
        name=known.name,
        queue=known.queue,
        created=known.created,
        tasks=tuple(member.task.id for member in members),
        labels=known.labels,
        min_member=known.min_member,
        min_task_member=known.min_task_member,
        min_resources=known.min_resources,
        priority=priority.value if priority else highest,
        preempts=priority.preempts if priority else willing,
        topology=_topology(wish, members),
        grouped=grouped,
        known=group is not None or not grouped,
        fault=next(filter(None, faults), "") or mixed,
        phase=known.phase,
        waiting_since=known.waiting_since,
    )


def mixed(members: Sequence[Member], settings: Settings) -> str:
    """What is wrong with a job that has spot and other tasks; empty for one that is all of a kind."""
    spot = [member.task for member in members if member.task.shape.spot is not None]
    if not spot or len(spot) == len(members):
        return ""
    other = next(member.task for member in members if member.task.shape.spot is None)
    return f"mixes tasks that ask for {settings.spot_resource} ({spot[0].key}) with others ({other.key})"


def _unknown(id_: JobId, members: Sequence[Member], *, grouped: bool) -> GroupReading:
    """What stands in for a PodGroup: for a pod without one the pod itself, for a missing one nothing but its name."""
    namespace, _, name = id_.partition("/")
    first = members[0]
    created = Instant(min(member.task.created for member in members))
    if grouped:
        return GroupReading(namespace=namespace, name=name, created=created)
    return GroupReading(
        namespace=namespace,
        name=first.task.name,
        created=created,
        queue=first.reading.queue or _DEFAULT_QUEUE,
        labels=first.task.labels,
    )


def _topology(wish: Wish, members: Sequence[Member]) -> Topology:
    """On where a member requests RDMA or "true" asks for it, off where "false" does; "true" is strict."""
    return Topology(
        on=any(member.task.shape.rdma for member in members) if wish.topology is None else wish.topology,
        strict=wish.topology is True,
        required=wish.required is True,
        patience=wish.patience or Duration(0),
        affinity_key=wish.affinity_key or "",
    )


by_rank: Final = attrgetter("task.rank")
"""What sorts the members of a job."""
