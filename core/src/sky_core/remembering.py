"""What a cycle leaves for the next: who waits, for how long, and for what (behaviour.md 7.6)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from sky_core.decisions import BindTask, Decision
from sky_core.members import started
from sky_core.memory import REFUSALS, Attempt, Memory, QuotaShape
from sky_core.model import Duration, Instant, Job, JobId, Task
from sky_core.reasons import Code, Rung, Topic, Verdict
from sky_core.session import Session
from sky_core.states import TaskState
from sky_core.waiting import next_wait
from sky_core.world import World

SHAPES_MAX: Final = 64
"""Refused quota shapes that are remembered of a job; beyond that only those of its last attempt are."""
_HOP_TWO: Final = frozenset({Rung.ALLOCATE_ZONE, Rung.ALLOCATE_QUOTA})
_FOR_CLAIMS: Final = frozenset({Code.INSUFFICIENT_QUOTA, Code.QUEUE_CAPABILITY_EXCEEDED})


def remember(session: Session, decisions: Sequence[Decision], verdicts: Mapping[JobId, Verdict]) -> Memory:
    """The attempts of jobs that wait: those of this cycle, and those that are still backing off, or were left aside."""
    attempts, kept = session.memory.attempts, dict[JobId, Attempt]()
    for id_ in dict.fromkeys((*session.standings, *sorted(session.world.unanswered))):
        if (attempt := _kept(session, id_, attempts.get(id_))) is not None:
            kept[id_] = attempt
    for told in session.told:
        new = kept[told.by]
        if new is attempts.get(told.by):
            kept.update({id_: attempts[id_] for id_ in told.ids})
        elif session.standing(told.by).quotaless:
            kept.update({id_: replace(new, verdict=verdicts[id_]) for id_ in told.ids})
        else:
            kept.update(dict.fromkeys(told.ids, new))
    tasks, before = session.world.tasks, session.memory.binds
    binds = {id_: count for id_, count in before.items() if id_ in tasks and _is_tried_again(tasks[id_], count)}
    for decision in decisions:
        if isinstance(decision, BindTask):
            binds[decision.task] = before.get(decision.task, 0) + 1
    return Memory(attempts=kept, binds=binds)


def _kept(session: Session, id_: JobId, last: Attempt | None) -> Attempt | None:
    job, standing = session.world.jobs.get(id_), session.standings.get(id_)
    if job is None:
        return None
    if standing is not None and standing.findings:
        backs_off = last is not None and standing.verdict().codes() == (Code.BACKING_OFF,)
        return last if backs_off else _attempt(session, job, last)
    refused = standing is not None and last is not None and Code.BIND_REFUSED in last.verdict.codes()
    sent = refused and _is_binding(session.world, job)  # if this is refused too, its wait is doubled
    return last if sent or id_ in session.world.unanswered else None


def _is_binding(world: World, job: Job) -> bool:
    return any(world.tasks[id_].state is TaskState.BINDING for id_ in job.tasks)


def _is_tried_again(task: Task, refused: int) -> bool:
    """Whether a task whose Bindings were refused so often has kept its claim or, on spot, was not sent away.

    One that is unanswered may be refused yet.
    """
    spot = task.state is TaskState.PENDING and task.shape.spot is not None
    return task.state in (TaskState.ALLOCATED_TO_QUOTA, TaskState.BINDING) or (spot and refused < REFUSALS)


def robbed(session: Session, job: JobId) -> bool:
    """Whether what a job was refused for was given back later in this cycle, which is a change for it.

    For want of a quota, or of its queue's capability: claims. By hop 2: nodes that another had taken, and was then
    refused by hop 3. Else the two would be tried again at the same times, and come to the same.
    """
    verdict = session.standing(job).verdict()
    if verdict.rung in _HOP_TWO:
        return session.vacated
    return session.claims.gave_back and not _FOR_CLAIMS.isdisjoint(verdict.codes())


def _attempt(session: Session, job: Job, last: Attempt | None) -> Attempt:
    world, standing = session.world, session.standing(job.id)
    verdict = standing.verdict()
    at, wait = session.now, Duration(0)
    if verdict.rung is Rung.ENQUEUE and last is not None and job.id not in session.hastened:
        at, wait = Instant(at - last.wait), last.wait  # over by now; the next one is longer all the same
    elif _backs_off(session, job, verdict):
        wait = next_wait(last, reset=robbed(session, job.id) or job.id in session.hastened)
    # Kept when the patience is over, or the next attempt would begin to wait anew.
    since = (last.waiting_since if last is not None else None) or job.waiting_since
    if since is None and standing.waits_for_zone:
        since = session.now
    return Attempt(
        verdict=verdict,
        at=at,
        wait=wait,
        openings=tuple(world.openings[topic] for topic in Topic),
        version=job.version,
        refused=_refused(standing.refused, last),
        waiting_since=since,
        room_until=standing.room_until,
        victims=standing.victims,
    )


def _refused(now: Collection[QuotaShape], last: Attempt | None) -> frozenset[QuotaShape]:
    """The quota shapes for which no node was found while the job waits, so that in the end it has tried them all.

    Of the last attempt's alone it would take turns between two, try no third, and tell something else each time.
    """
    all_ = frozenset(now) | (last.refused if last is not None else frozenset())
    return all_ if len(all_) <= SHAPES_MAX else frozenset(now)


def _backs_off(session: Session, job: Job, verdict: Verdict) -> bool:
    """Whether a job waits before it is tried again.

    Not one that was not let in, which is asked each time; nor one that keeps its claims while room is made for it; nor
    one that has started, unless its Bindings are refused.
    """
    if Code.BIND_REFUSED in verdict.codes():
        return True
    waits_for_room = session.standing(job.id).waits_for_room
    return verdict.rung is not Rung.ENQUEUE and not waits_for_room and not started(session.world, job)
