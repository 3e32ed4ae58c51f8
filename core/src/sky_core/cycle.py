"""One cycle: from what is believed, to what is to be done, and why the rest waits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from sky_core import reservations
from sky_core.actions import ACTIONS, Action
from sky_core.api.configuration import Registry
from sky_core.decisions import BindTask, Decision
from sky_core.members import started
from sky_core.memory import REFUSALS, Attempt, Memory
from sky_core.model import Duration, Instant, Job, JobId, Task
from sky_core.plugins import DEFAULT, PLUGINS
from sky_core.policy import Enabled, Policy, compile_policy
from sky_core.reasons import Code, Rung, Topic, Verdict
from sky_core.rescheduling import Proposal
from sky_core.session import MakeSurvey, Session
from sky_core.settings import Settings
from sky_core.shelves import Shelves, Shelving
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.survey import Classes
from sky_core.waiting import next_wait
from sky_core.world import World

DONE: Final = Verdict(Rung.DONE)


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a cycle comes to.

    `decisions`: quota writes, evictions, binds, to be performed in this order, a job's binds after its writes are
    acknowledged. `verdicts`: every job with a task of ours, but for those for which something sent is unanswered.
    `proposals`: evictions that would free a zone, for jobs that wait for one (plugin rescheduling).
    `cut_short`: some job was tried before its back-off had ended, or is to be, since claims that it might have had were
    given back after its turn. `defects`: what went wrong in us, per job set aside.
    """

    decisions: tuple[Decision, ...]
    verdicts: Mapping[JobId, Verdict]
    cut_short: bool
    proposals: Mapping[JobId, Proposal] = {}
    defects: tuple[str, ...] = ()


def schedule(
    world: World,
    memory: Memory,
    policy: Policy,
    now: Instant,
    *,
    survey: MakeSurvey = Classes,
    shelves: Callable[[World], Shelving] = Shelves,
    actions: Mapping[str, Action] = ACTIONS,
) -> tuple[Outcome, Memory]:
    """Decide one cycle. A pure function: the same inputs give the same outcome, byte for byte.

    The world is handed back as it was found; the caller lays the decisions over it.

    Args:
        world: What is believed now.
        memory: What the cycle before left.
        policy: The compiled configuration.
        now: Nanoseconds since 1970; durations and expiries are counted from it.
        survey: How nodes are asked; the test kit passes the naive way.
        shelves: How quotas are found; likewise.
        actions: What the names in the configuration stand for; who measures them passes them wrapped.
    """
    world.changed.clear()  # whoever keeps a cursor into it does so for one session
    with Statement(world, now) as cycle:
        reservations.settle(cycle, world, sorted(world.quotas), now)
        session = Session(world, memory, policy, now, survey, shelves, cycle.certificates)
        for action in policy.settings.actions:
            actions[action](session)
        outcome = Outcome(
            decisions=cycle.decisions(),
            verdicts=_verdicts(session),
            cut_short=bool(session.hastened) or any(_robbed(session, id_) for id_ in session.world.jobs),
            proposals=session.proposals,
            defects=tuple(session.defects),
        )
        return outcome, _remember(session, outcome.decisions)


REGISTRY: Final = Registry(PLUGINS, DEFAULT, tuple(ACTIONS))
"""What a configuration may name (`sky_core.api.configuration.read_configuration`)."""


def default_policy(settings: Settings | None = None) -> Policy:
    """The policy without a configuration file."""
    plugins = [Enabled.by_default(PLUGINS[name]) for name in DEFAULT]
    return compile_policy(settings or Settings(), plugins, {})


def _verdicts(session: Session) -> dict[JobId, Verdict]:
    world = session.world
    return {id_: _verdict(session, id_) for id_ in world.jobs if id_ not in world.unanswered}


def _verdict(session: Session, job: JobId) -> Verdict:
    """The attempt's; of a job that is backing off that of its last attempt, and that it backs off."""
    standing = session.heard(job)
    if standing is None:
        return DONE
    verdict = standing.verdict()
    last = session.memory.attempts.get(job)
    if last is None or verdict.codes() != (Code.BACKING_OFF,):
        return verdict
    return Verdict(last.verdict.rung, (*last.verdict.findings, *verdict.findings))


def _remember(session: Session, decisions: Sequence[Decision]) -> Memory:
    """The attempts of jobs that wait: those of this cycle, and those that are still backing off, or were left aside."""
    kept: dict[JobId, Attempt] = {}
    for id_, job in session.world.jobs.items():
        standing = session.heard(id_)
        last = session.memory.attempts.get(id_)
        if last is not None and id_ in session.world.unanswered:
            kept[id_] = last
        if standing is None:
            continue
        if standing.findings:
            backs_off = last is not None and standing.verdict().codes() == (Code.BACKING_OFF,)
            kept[id_] = last if last is not None and backs_off else _attempt(session, job, last)
        elif last is not None and Code.BIND_REFUSED in last.verdict.codes() and _is_binding(session.world, job):
            kept[id_] = last  # whose wait is doubled if this is refused too
    tasks, before = session.world.tasks, session.memory.binds
    binds = {id_: count for id_, count in before.items() if id_ in tasks and _is_tried_again(tasks[id_], count)}
    for decision in decisions:
        if isinstance(decision, BindTask):
            binds[decision.task] = before.get(decision.task, 0) + 1
    return Memory(attempts=kept, binds=binds)


def _is_binding(world: World, job: Job) -> bool:
    return any(world.tasks[id_].state is TaskState.BINDING for id_ in job.tasks)


def _is_tried_again(task: Task, refused: int) -> bool:
    """Whether a task whose Bindings were refused so often has kept its claim or, on spot, was not sent away.

    One that is unanswered may be refused yet.
    """
    spot = task.state is TaskState.PENDING and task.shape.spot is not None
    return task.state in (TaskState.ALLOCATED_TO_QUOTA, TaskState.BINDING) or (spot and refused < REFUSALS)


def _robbed(session: Session, job: JobId) -> bool:
    """Whether a job was refused for want of a quota, and claims were given back in this cycle: a change for it."""
    return session.gave_back and Code.INSUFFICIENT_QUOTA in session.standing(job).verdict().codes()


def _attempt(session: Session, job: Job, last: Attempt | None) -> Attempt:
    world, standing = session.world, session.standing(job.id)
    verdict = standing.verdict()
    wait = Duration(0)
    if _backs_off(session, job, verdict):
        wait = next_wait(last, reset=_robbed(session, job.id) or job.id in session.hastened)
    # Kept when the patience is over, or the next attempt would begin to wait anew.
    since = (last.waiting_since if last is not None else None) or job.waiting_since
    if since is None and standing.waits_for_zone:
        since = session.now
    return Attempt(
        verdict=verdict,
        at=session.now,
        wait=wait,
        openings=tuple(world.openings[topic] for topic in Topic),
        version=job.version,
        refused=frozenset(standing.refused),
        waiting_since=since,
        room_until=standing.room_until,
    )


def _backs_off(session: Session, job: Job, verdict: Verdict) -> bool:
    """Whether a job waits before it is tried again.

    Not one that was not let in, which is asked each time; nor one that keeps its claims while room is made for it; nor
    one that has started, unless its Bindings are refused.
    """
    if Code.BIND_REFUSED in verdict.codes():
        return True
    waits_for_room = session.standing(job.id).waits_for_room
    return verdict.rung is not Rung.ENQUEUE and not waits_for_room and not started(session.world, job)
