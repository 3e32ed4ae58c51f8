"""Pod → node: check each claimed task against its quota's node once more, and bind."""

from collections.abc import Sequence
from itertools import groupby

import msgspec

from sky_core.members import is_spot
from sky_core.model import Job, Node, Task
from sky_core.reasons import Code, Finding, Reason, Rung
from sky_core.rows import bind_row
from sky_core.session import Session
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.tally import Tally

_ROOM = frozenset({Code.INSUFFICIENT_IDLE})


class Refused(msgspec.Struct, frozen=True):
    """A task that can't be bound, what stands in its way, and why."""

    task: Task
    where: str
    reasons: tuple[Reason, ...]

    @property
    def for_room(self) -> bool:
        """Whether nothing but room is lacking."""
        return all(reason.code in _ROOM for reason in self.reasons)


def bind(session: Session) -> None:
    """Hop 3 for the needed members of each job, all or none; then for its extras, each alone.

    Who has waited with a claim for room, or for another Binding, goes first: else others take what was made for it.
    """
    jobs, at = sorted(session.going(), key=lambda job: not session.claims.has_waited(job)), 0
    while at < len(jobs):
        if row := bind_row(session, jobs, at):
            at += row
            continue
        with session.attempt(jobs[at], Rung.BIND):
            _bind_needed(session, jobs[at])
        at += 1
    for job in session.going_with_extras():
        with session.attempt(job, Rung.BIND):
            _bind_extras(session, job)


def bind_all(session: Session, trial: Statement, tasks: Sequence[Task]) -> list[Refused]:
    """Allocate and bind these tasks; those that can't be are left out."""
    refused: list[Refused] = []
    quotas, nodes = session.world.quotas, session.world.nodes
    homes = [quotas[task.quota].node if task.quota is not None else None for task in tasks]
    for (node, _), pairs in groupby(zip(homes, tasks, strict=True), key=lambda pair: (pair[0], pair[1].shape)):
        run = [task for _, task in pairs]
        if node is None or node not in nodes:
            code = Code.STATIC_BIND_PENDING if node is None else Code.QUOTA_UNAVAILABLE
            refused += [Refused(task, task.quota or task.name, (Reason(code),)) for task in run]
        elif session.survey.binds(run[0], nodes[node]) >= len(run):
            trial.bind_run(run, node)
        else:
            refused += _bind_each(session, trial, run, nodes[node])
    return refused


def _bind_each(session: Session, trial: Statement, tasks: Sequence[Task], node: Node) -> list[Refused]:
    refused: list[Refused] = []
    for task in tasks:
        reasons = session.points["tn.select"](task, node) or session.points["tn.predicate"](task, node)
        if reasons:
            refused.append(Refused(task, node.name, reasons))
            continue
        trial.allocate(task, node.name)
        trial.bind(session.world.tasks[task.id])
    return refused


def _bind_needed(session: Session, job: Job) -> None:
    tasks = session.members(job).waiting()
    if not tasks or is_spot(session.world, job):
        return
    standing = session.standing(job.id)
    with session.trial() as trial:
        refused = bind_all(session, trial, tasks)
        if not refused and session.points["jobReady"](job):
            trial.commit()
            return
    standing.turned_away = tuple(one.task.id for one in refused if not one.for_room)
    standing.short_of_room = bool(refused) and not standing.turned_away
    standing.refuse(Rung.BIND, _findings(refused))
    standing.going = False


def _bind_extras(session: Session, job: Job) -> None:
    for task in session.members(job).extras:
        if task.state is not TaskState.ALLOCATED_TO_QUOTA:
            continue
        with session.trial() as trial:
            refused = bind_all(session, trial, [task])
            if not refused:
                trial.commit()
                continue
        session.standing(job.id).refuse(Rung.BIND, _findings(refused))
        with session.trial() as trial:
            session.claims.give_back(trial, job, task)
            trial.commit()


def _findings(refused: Sequence[Refused]) -> tuple[Finding, ...]:
    tally = Tally()
    by_place: dict[str, tuple[Reason, ...]] = {}
    for one in refused:
        by_place[one.where] = (*by_place.get(one.where, ()), *one.reasons)
    for where, reasons in by_place.items():
        tally.add(where, reasons)
    return tally.findings()
