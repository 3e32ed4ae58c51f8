"""What a cycle decided, as writes: by quota, and by job, whose evictions and Bindings wait for its quotas."""

from collections import defaultdict
from collections.abc import Collection, Sequence

import msgspec
from msgspec.structs import replace

from sky_core.api import annotations
from sky_core.api.encode import quota_status
from sky_core.api.identity import Key
from sky_core.decisions import BindTask, Decision, EvictTask, WriteQuota
from sky_core.members import roles
from sky_core.model import Instant, Job, JobId, QuotaName, TaskId
from sky_core.world import World
from sky_scheduler.events import Event
from sky_scheduler.view import View
from sky_shell.resources import PODS, QUOTAS, Resource
from sky_shell.writes import Write, bind, evict, put_status


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One decision, the request that carries it out, and what people are told once it is done."""

    decision: Decision
    resource: Resource
    key: Key
    job: JobId | None
    write: Write
    event: Event | None


class Quorum(msgspec.Struct, frozen=True):
    """How many of those that are to be bound must be bound together, of each role; "": of whatever role.

    It is what is left of the job's minima once its placed members are counted, and no more than are to be bound.
    """

    least: tuple[tuple[str, int], ...]
    by_task: dict[TaskId, str]

    def is_met(self, tasks: Collection[TaskId]) -> bool:
        """Whether these suffice."""
        bound = [self.by_task[task] for task in tasks]
        return all(sum(role in ("", one) for one in bound) >= least for role, least in self.least)


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be done for one job once the writes of `quotas` are answered."""

    job: JobId
    quotas: frozenset[QuotaName]
    evictions: tuple[Step, ...]
    binds: tuple[Step, ...]
    quorum: Quorum


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """All that a cycle wants done."""

    writes: tuple[Step, ...] = ()
    shares: tuple[Share, ...] = ()

    def __bool__(self) -> bool:
        """Whether that is anything."""
        return bool(self.writes or self.shares)


def planned(view: View, decisions: Sequence[Decision], epoch: int, now: Instant) -> Plan:
    """Say how these decisions are carried out. They were made on the view as it is, and are not assumed yet."""
    world = view.course.world
    writes: list[Step] = []
    quotas: dict[JobId, set[QuotaName]] = defaultdict(set)
    evictions: dict[JobId, list[EvictTask]] = defaultdict(list)
    binds: dict[JobId, list[BindTask]] = defaultdict(list)
    for decision in decisions:
        match decision:
            case WriteQuota():
                writes.append(_quota(view, world, decision, epoch, now))
                for job in decision.jobs:
                    quotas[job].add(decision.quota)
            case EvictTask():
                evictions[decision.certificate.claimant].append(decision)
            case BindTask():
                binds[decision.job].append(decision)
    written = {step.key.name for step in writes}
    return Plan(
        writes=tuple(writes),
        shares=tuple(
            Share(
                job=job,
                quotas=frozenset(quotas[job] | {one.quota for one in binds[job] if one.quota in written}),
                evictions=tuple(_pod(view, world, one, world.jobs[job]) for one in evictions[job]),
                binds=tuple(_pod(view, world, one, world.jobs[job]) for one in binds[job]),
                quorum=quorum(world, world.jobs[job], binds[job]),
            )
            for job in dict.fromkeys([*evictions, *binds])
        ),
    )


def quorum(world: World, job: Job, binds: Sequence[BindTask]) -> Quorum:
    """How many of these Bindings of a job must be sent together, or none."""
    placed = [task.role for id_ in job.tasks if (task := world.tasks[id_]).placed]
    coming = {one.task: world.tasks[one.task].role for one in binds}
    least = []
    for role, minimum in (("", job.min_member), *roles(job)):
        there, come = (sum(role in ("", one) for one in some) for some in (placed, coming.values()))
        least.append((role, min(minimum - there, come)))
    return Quorum(tuple(least), coming)


def _quota(view: View, world: World, write: WriteQuota, epoch: int, now: Instant) -> Step:
    key = Key("Quota", "", write.quota)
    row, found, identity = world.quotas[write.quota], view.statuses[key].get("conditions", ()), view.identities[key]
    status = quota_status(write, replace(row, epoch=epoch), now, found)
    request = put_status(QUOTAS, "", write.quota, uid=write.uid, version=identity.version, status=status)
    event = None
    if write.node is not None and write.node != row.node:
        event = Event(QUOTAS, identity, "QuotaBound", "Binding", f"Bound to node {write.node}")
    elif write.node is None and row.node is not None:
        event = Event(QUOTAS, identity, "QuotaReleased", "Releasing", f"Released from node {row.node}")
    return Step(decision=write, resource=QUOTAS, key=key, job=None, write=request, event=event)


def _pod(view: View, world: World, decision: BindTask | EvictTask, job: Job) -> Step:
    task = world.tasks[decision.task]
    key = Key("Pod", task.namespace, task.name)
    identity = view.identities[key]
    match decision:
        case BindTask():
            notes = {annotations.QUOTA_NAME: decision.quota} if decision.quota is not None else {}
            request = bind(*key[1:], uid=task.id, node=decision.node, annotations=notes, version=identity.version)
            note = f"Successfully assigned {task.key} to {decision.node}"
            event = Event(PODS, identity, "Scheduled", "Binding", note)
        case EvictTask():
            request = evict(*key[1:], uid=task.id)
            event = Event(
                PODS, identity, "Evicted", "Reclaim", f"Evicted from {decision.node} to make room for {job.key}"
            )
    return Step(decision=decision, resource=PODS, key=key, job=job.id, write=request, event=event)
