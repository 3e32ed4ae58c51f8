"""One cycle: from what is believed, to what is to be done, and why the rest waits."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from sky_core.actions import ACTIONS, Action
from sky_core.api.configuration import Registry
from sky_core.decisions import Decision
from sky_core.memory import Memory
from sky_core.model import Instant, Job, JobId
from sky_core.peers import Told
from sky_core.plugins import DEFAULT, PLUGINS
from sky_core.policy import Enabled, Policy, compile_policy
from sky_core.reasons import Code, Reason, Rung, Verdict
from sky_core.register import Register
from sky_core.remembering import remember, robbed
from sky_core.rescheduling import Proposal
from sky_core.session import MakeSurvey, Session
from sky_core.settings import Settings
from sky_core.shelves import Shelves, Shelving
from sky_core.standing import Standing
from sky_core.statement import Statement
from sky_core.survey import Classes
from sky_core.turns import turns as take_turns
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
    shelves: Callable[[World, Instant], Shelving] = Shelves,
    turns: Callable[[Session], Iterator[Job]] = take_turns,
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
        turns: How jobs have their turn; likewise.
        actions: What the names in the configuration stand for; who measures them passes them wrapped.
    """
    world.shorten()
    register = Register.of(world, now)
    with Statement(world, now) as cycle:
        register.settle(cycle, now)
        session = Session(world, memory, policy, now, survey, shelves, turns, cycle.certificates)
        for action in policy.settings.actions:
            actions[action](session)
        outcome = Outcome(
            decisions=cycle.decisions(),
            verdicts=_verdicts(session),
            cut_short=bool(session.hastened) or any(robbed(session, job.id) for job in session.tried),
            proposals=session.proposals,
            defects=tuple(session.defects),
        )
        return outcome, remember(session, outcome.decisions, outcome.verdicts)


REGISTRY: Final = Registry(PLUGINS, DEFAULT, tuple(ACTIONS))
"""What a configuration may name (`sky_core.api.configuration.read_configuration`)."""


def default_policy(settings: Settings | None = None) -> Policy:
    """The policy without a configuration file."""
    plugins = [Enabled.by_default(PLUGINS[name]) for name in DEFAULT]
    return compile_policy(settings or Settings(), plugins, {})


def _verdicts(session: Session) -> dict[JobId, Verdict]:
    world = session.world
    verdicts = dict.fromkeys(world.jobs, DONE)
    for job, standing in session.standings.items():
        if job in verdicts:
            verdicts[job] = _verdict(session, job, standing)
    for told in session.told:
        standing = session.standing(told.by)
        if standing.not_let_in:
            verdicts.update(_by_name(session, told, standing.not_let_in))
        elif standing.quotaless:
            verdicts.update(_by_members(session, told, standing))
        else:
            verdicts.update(dict.fromkeys(told.ids, verdicts[told.by]))
    for job in world.unanswered:
        verdicts.pop(job, None)
    return verdicts


def _by_name(session: Session, told: Told, reasons: tuple[Reason, ...]) -> Iterator[tuple[JobId, Verdict]]:
    """Of each its own verdict: made once, while it is told for the same reasons."""
    known, ids = told.crowd.not_let_in(reasons), told.ids
    for id_ in ids:
        if id_ not in known:
            standing = Standing()
            standing.turn_back(session.world.jobs[id_].name, reasons)
            known[id_] = _verdict(session, id_, standing)
    return zip(ids, map(known.__getitem__, ids), strict=True)


def _by_members(session: Session, told: Told, standing: Standing) -> Iterator[tuple[JobId, Verdict]]:
    jobs, tasks = session.world.jobs, session.world.tasks
    for id_ in told.ids:
        members = jobs[id_].tasks
        yield id_, standing.verdict_naming(tuple([tasks[members[at]].name for at in standing.quotaless]))


def _verdict(session: Session, job: JobId, standing: Standing) -> Verdict:
    """The attempt's; of a job that is backing off that of its last attempt, and that it backs off."""
    verdict = standing.verdict()
    last = session.memory.attempts.get(job)
    if last is None or verdict.codes() != (Code.BACKING_OFF,):
        return verdict
    return Verdict(last.verdict.rung, (*last.verdict.findings, *verdict.findings))
