"""What allocateZone and allocateQuota share: needed members of each job all or none, then the extras one by one."""

from collections.abc import Sequence

from sky_core.members import is_spot
from sky_core.model import Job
from sky_core.placing import place_extra, place_needed
from sky_core.reasons import Rung
from sky_core.refusing import explain
from sky_core.rows import place_row
from sky_core.session import Session
from sky_core.states import TaskState


def settle_hop(session: Session, jobs: Sequence[Job], rung: Rung) -> None:
    """Hop 2 for these jobs, in this order. A job that fails gives back its claims at once."""
    jobs = [job for job in jobs if not is_spot(session.world, job)]
    at = 0
    while at < len(jobs):
        if row := place_row(session, jobs, at):
            at += row
            continue
        with session.attempt(jobs[at], rung):
            _place_needed(session, jobs[at], rung)
        at += 1
    mine = {job.id for job in jobs}
    for job in session.going_with_extras():
        if job.id in mine:
            with session.attempt(job, rung):
                _place_extras(session, job, rung)


def _place_needed(session: Session, job: Job, rung: Rung) -> None:
    with session.trial() as trial:
        refusal = place_needed(session, trial, job)
        if refusal is None:
            trial.commit()
            return
        findings = explain(session, refusal)
    session.standing(job.id).refuse(rung, findings)
    session.standing(job.id).going = False
    session.claims.give_back_fresh(job)


def _place_extras(session: Session, job: Job, rung: Rung) -> None:
    claiming = [task for task in session.members(job).extras if task.state is TaskState.ALLOCATED_TO_QUOTA]
    for task in claiming:
        with session.trial() as trial:
            refusal = place_extra(session, trial, job, task)
            if refusal is None:
                trial.commit()
                continue
            findings = explain(session, refusal)
        session.standing(job.id).refuse(rung, findings)
        with session.trial() as trial:
            session.claims.give_back(trial, job, session.world.tasks[task.id])
            trial.commit()
