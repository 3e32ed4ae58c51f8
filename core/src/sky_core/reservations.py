"""Returning to one's place: what becomes of the claim of a pod that has ended, and who may take up what is kept.

Scheduler, quota-fixer and reservation-gc decide with the same functions (behaviour.md 5.0, 8).
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from sky_core.decisions import WriteQuota
from sky_core.model import Claim, Instant, Job, Quota, QuotaName, Reservation, Task
from sky_core.resources import NOTHING
from sky_core.statement import Statement, reserve
from sky_core.states import TaskState
from sky_core.world import World

COMPLETED: Final = "Completed"
"""The phase of a PodGroup whose job is finished."""


def is_finished(world: World, job: Job) -> bool:
    """Whether a job has done its work: all its tasks have ended, and at least minMember of them succeeded.

    Once its PodGroup says Completed it stays finished while its pods are cleared away, until there is a new one.
    A pod that succeeded after we evicted it has not succeeded.
    """
    tasks = [world.tasks[id_] for id_ in job.tasks]
    if any(task.unfinished for task in tasks):
        return False
    succeeded = sum(task.state is TaskState.SUCCEEDED and not task.evicted for task in tasks)
    return succeeded >= max(job.min_member, 1) or job.phase == COMPLETED


def settled(world: World, quota: Quota, now: Instant) -> Quota:
    """The quota once the claims of finished and gone pods have ended; itself where nothing ends.

    Such a claim turns into a reservation, from now on, where one was asked for, the pod did not succeed and its job is
    not finished. The reservations of finished jobs end, too; expired ones are left to reservation-gc.
    """
    lost = [claim for claim in quota.claims if not _holds(world, claim)]
    over = [kept for kept in quota.reservations if _job_finished(world, kept)]
    if not lost and not over:
        return quota
    claims = tuple(claim for claim in quota.claims if claim not in lost)
    claimed = NOTHING
    for claim in claims:
        claimed += claim.resources
    reservations = [kept for kept in quota.reservations if kept not in over]
    if quota.node is not None:
        reservations += [
            reserve(claim, quota.node, Instant(now + claim.reservation))
            for claim in lost
            if claim.reservation > 0 and not _succeeded(world, claim) and not _job_finished(world, claim)
        ]
    return replace(quota, claims=claims, claimed=claimed, reservations=tuple(reservations))


def settle(trial: Statement, world: World, quotas: Iterable[QuotaName], now: Instant) -> list[QuotaName]:
    """Begin a cycle, or a repair: settle these quotas, in this order, within the trial; not while one is written.

    Returns those of which something had to be settled.
    """
    found = []
    for name in quotas:
        old = world.quotas.get(name)
        if old is None:
            continue
        row = settled(world, old, now)
        if row is not old:
            found.append(name)
            if not row.pending:
                trial.settle(row)
    return found


def returner(world: World, task: Task, quota: Quota, now: Instant) -> Reservation | None:
    """The live reservation of this quota that the task may take up.

    It is that of its own job and place; else that of the predecessor that it names, in its namespace and queue. The
    queue of a predecessor whose job is gone is taken to be the quota's.
    """
    live = [kept for kept in quota.reservations if kept.expires > now and kept.namespace == task.namespace]
    own = (kept for kept in live if kept.job == task.job and kept.place == task.place)
    inherited = (kept for kept in live if kept.task == task.inherits and _same_queue(world, task, kept, quota))
    return next(own, None) or next(inherited, None)


def collected(world: World, now: Instant) -> tuple[WriteQuota, ...]:
    """Reservation-gc's plan: the quotas, by name, to be written without what has expired or whose job is finished."""
    writes = []
    for name in sorted(world.quotas):
        quota = world.quotas[name]
        live = tuple(kept for kept in quota.reservations if kept.expires > now and not _job_finished(world, kept))
        if live != quota.reservations:
            writes.append(WriteQuota.of(quota.with_reservations(live)))
    return tuple(writes)


def _holds(world: World, claim: Claim) -> bool:
    task = world.tasks.get(claim.task)
    return task is not None and task.unfinished


def _succeeded(world: World, claim: Claim) -> bool:
    task = world.tasks.get(claim.task)
    return task is not None and task.state is TaskState.SUCCEEDED and not task.evicted


def _job_finished(world: World, holder: Claim | Reservation) -> bool:
    job = world.jobs.get(holder.job)
    return job is not None and is_finished(world, job)


def _same_queue(world: World, task: Task, kept: Reservation, quota: Quota) -> bool:
    mine = world.jobs.get(task.job) if task.job is not None else None
    theirs = world.jobs.get(kept.job)
    return mine is not None and mine.queue == (theirs.queue if theirs is not None else quota.spec.queue)
