"""Spot tasks straight onto nodes, gang by gang: they take no quota, reserve nothing and, left alone, evict nobody."""

from sky_core.actions.reschedule import reschedule
from sky_core.direct import place_spot
from sky_core.members import is_spot
from sky_core.model import Job
from sky_core.reasons import Rung
from sky_core.session import Session


def backfill(session: Session) -> None:
    """The needed members of each spot job, all or none; then its extras, each alone."""
    jobs = [job for job in session.going() if is_spot(session.world, job)]
    for job in jobs:
        with session.attempt(job, Rung.BACKFILL):
            _fill_needed(session, job)
    for job in jobs:
        if session.standing(job.id).going:
            with session.attempt(job, Rung.BACKFILL):
                _fill_extras(session, job)
    reschedule(session)


def _fill_needed(session: Session, job: Job) -> None:
    tasks = session.members(job).waiting()
    if not tasks:
        return
    findings = place_spot(session, job, tasks)
    if findings:
        session.standing(job.id).refuse(Rung.BACKFILL, findings)
        session.standing(job.id).going = False


def _fill_extras(session: Session, job: Job) -> None:
    for task in session.members(job).extras:
        if not task.gated and (findings := place_spot(session, job, [task])):
            session.standing(job.id).refuse(Rung.BACKFILL, findings)
