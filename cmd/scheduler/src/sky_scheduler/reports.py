"""What people are told of jobs and queues, in the status of their objects: looked for in a cycle, written after it.

What an object says already is not written again. So it is the objects that remember what was told, and a new leader
over an idle cluster writes nothing.
"""

from collections.abc import Hashable, Iterator, Mapping, Set
from typing import Any, Final

import msgspec

from sky_core import status
from sky_core.api.identity import Key
from sky_core.api.instants import rfc3339
from sky_core.api.reports import (
    codes,
    is_told,
    job_queue_status,
    pod_condition,
    pod_group_status,
    queue_status,
    says_the_same,
    told,
)
from sky_core.cycle import Outcome
from sky_core.members import OPEN
from sky_core.model import SECOND, Duration, Instant, Job, JobId
from sky_core.policy import Policy, reconcile
from sky_core.reasons import Code, Rung, Verdict
from sky_core.world import World
from sky_scheduler.events import Event
from sky_scheduler.view import View
from sky_shell.resources import JOB_QUEUES, POD_GROUPS, PODS, QUEUES, Resource
from sky_shell.writes import Write, merge_status
from sky_shell.writes import pod_condition as condition_write

QUEUES_EVERY: Final = Duration(5 * SECOND)
"""How often at most queues are counted anew."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be told of one object; the event goes with it."""

    resource: Resource
    key: Key
    write: Write
    event: Event | None = None


Subject = Hashable
"""Whom reports are about: a job's id, or a queue's key."""
Reports = Mapping[Subject, tuple[Report, ...]]
"""All that is to be told of each subject that was looked at; nothing, where its objects say it all."""


class Reporting:
    """Looks for what is to be told, job by job when something about a job has changed."""

    def __init__(self) -> None:
        """Nobody has been looked at."""
        self._looked: dict[JobId, tuple[Job, Rung, tuple[Code, ...]]] = {}
        self._counted = -1
        self._count_at = Instant(0)

    def due(self, view: View, outcome: Outcome, policy: Policy, now: Instant, again: Set[Subject]) -> Reports:
        """What is to be told after a cycle; `again` are those that could not be told what they were to be told.

        What the cycle decided is assumed, and most likely done by the time at which it is told. If it is not, the next
        cycles tell so.
        """
        world, reports, looked = view.course.world, dict[Subject, tuple[Report, ...]](), self._looked
        self._looked = {}
        for id_, job in world.jobs.items():
            verdict, before = outcome.verdicts.get(id_), looked.get(id_)
            if verdict is None:
                continue
            self._looked[id_] = mark = (job, verdict.rung, codes(verdict))
            if before is None or before[0] is not job or before[1:] != mark[1:] or id_ in again:
                reports[id_] = tuple(_of_job(view, world, job, verdict, now))
        reports.update((gone, ()) for gone in looked if gone not in world.jobs)
        changed = view.revision != self._counted and now >= self._count_at
        if changed or any(isinstance(subject, Key) for subject in again):
            self._counted, self._count_at = view.revision, Instant(now + QUEUES_EVERY)
            reports.update(_of_queues(view, policy))
        return reports


def _of_job(view: View, world: World, job: Job, verdict: Verdict, now: Instant) -> Iterator[Report]:
    key = Key("PodGroup", job.namespace, job.name)
    grouped = job.grouped and key in view.statuses
    if grouped:
        attempt = view.course.memory.attempts.get(job.id)
        old = view.statuses[key]
        new = pod_group_status(
            status.phase(world, job, verdict),
            status.task_counts(world, job),
            verdict,
            attempt.next if attempt is not None else None,
            old.get("conditions", ()),
            now,
        )
        if not says_the_same(old, new):
            news = bool(job.tasks) and not _same_refusal(old, new)
            yield Report(
                resource=POD_GROUPS,
                key=key,
                write=merge_status(POD_GROUPS, *key[1:], version=view.identities[key].version, status=merge(old, new)),
                event=_failed(view, POD_GROUPS, key, verdict) if news else None,
            )
    if not codes(verdict):
        return
    for id_ in job.tasks:
        task = world.tasks[id_]
        pod = Key("Pod", task.namespace, task.name)
        found, wanted = view.told.get(pod, {}), pod_condition(verdict, gated=task.gated)
        if task.state not in OPEN or is_told(found, wanted):
            continue
        if found.get("status") != wanted["status"]:
            wanted = {**wanted, "lastTransitionTime": rfc3339(now)}
        yield Report(
            resource=PODS,
            key=pod,
            write=condition_write(*pod[1:], uid=task.id, condition=wanted),
            event=None if grouped else _failed(view, PODS, pod, verdict),
        )


def _failed(view: View, resource: Resource, key: Key, verdict: Verdict) -> Event | None:
    if not codes(verdict):
        return None
    return Event(
        resource=resource,
        identity=view.identities[key],
        reason="FailedScheduling",
        action="Scheduling",
        note=told(verdict),
        is_warning=True,
    )


def _same_refusal(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    one, other = ((said.get("rung"), {each["code"] for each in said.get("reasons", ())}) for said in (old, new))
    return one == other


def _of_queues(view: View, policy: Policy) -> Iterator[tuple[Key, tuple[Report, ...]]]:
    world = view.course.world
    for name, report in status.queue_statuses(world, policy.settings).items():
        yield _of_queue(view, QUEUES, name, queue_status(report))
    for lane, counted in reconcile(policy, world).items():
        yield _of_queue(view, JOB_QUEUES, lane, job_queue_status(counted))


def _of_queue(view: View, resource: Resource, name: str, new: Mapping[str, Any]) -> tuple[Key, tuple[Report, ...]]:
    key = Key(resource.kind, "", name)
    old = view.statuses.get(key)
    if old is None or {**_EMPTY, **old} == {**_EMPTY, **new}:
        return key, ()
    version = view.identities[key].version
    write = merge_status(resource, "", name, version=version, status=merge(old, new))
    return key, (Report(resource=resource, key=key, write=write),)


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The merge patch (RFC 7386) that makes one object the other."""
    patch: dict[str, Any] = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if before == value and name in old:
            continue
        nested = isinstance(value, Mapping) and isinstance(before, Mapping)
        patch[name] = merge(before or {}, value) if nested else value
    return patch


_EMPTY: Final[Mapping[str, Any]] = {
    "allocated": {},
    "specAllocatable": {},
    "specAllocated": {},
    "specShadow": {},
    "pending": 0,
    "running": 0,
}
