"""Task → quota: admit each job, and claim quotas for its needed members, all or none; then for its extras."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sky_core.admission import admission, has_begun
from sky_core.areas import candidates, rank_bounds
from sky_core.claiming import Claimer, Terms
from sky_core.model import Job, QuotaName, Task
from sky_core.placing import needs_one_card, place_needed
from sky_core.plugin import Area
from sky_core.reasons import Rung
from sky_core.session import Session
from sky_core.states import TaskState
from sky_core.tally import Tally


def allocate_job(session: Session) -> None:
    """Hop 1 for every job with something to do, in queue and job order."""
    for job in session.turns():
        session.notice_haste(job)
        with session.attempt(job, Rung.ALLOCATE_JOB):
            if refused := admission(session, job):
                tally = Tally()
                tally.add(job.name, refused)
                session.standing(job.id).refuse(Rung.ENQUEUE, tally.findings())
                continue
            session.admit(job)
            _claim_needed(session, job)
    for job in list(session.going()):
        with session.attempt(job, Rung.ALLOCATE_JOB):
            _claim_extras(session, job)


def _claim_needed(session: Session, job: Job) -> None:
    tasks = _claimless(session.members(job).needed)
    if not tasks:
        return
    terms = Terms(homes=_homes(session, job), capped=not has_begun(session, job), bounds=rank_bounds(session, job))
    carded = needs_one_card(session, job, tasks)
    tried = candidates(session, job, tasks, terms) if carded else iter(())
    first: Terms | None = None
    for inside in tried:
        first = first or inside
        if _works(session, job, tasks, inside):
            return
    last = (
        terms
        if first is None
        else replace(first, area=Area(first.area.spec), homes=_homes(session, job), must_place=False)
    )
    _settle(session, job, tasks, last)


def _works(session: Session, job: Job, tasks: Sequence[Task], terms: Terms) -> bool:
    """Claim within these terms and see whether hop 2 would place it all; keep the claims if so."""
    standing = session.standing(job.id)
    with session.trial() as trial:
        standing.area = terms.area
        claimer = Claimer(session, trial, job, terms)
        if not all(claimer.claim(task) for task in tasks) or not session.points["quotaReady"](job):
            return False
        with session.trial() as ahead:
            if place_needed(session, ahead, job):
                return False
        standing.area = Area(terms.area.spec)
        trial.commit()
        return True


def _settle(session: Session, job: Job, tasks: Sequence[Task], terms: Terms) -> None:
    """Claim what there is, and let hop 2 say what is wrong with it; or say what hop 1 lacks."""
    standing = session.standing(job.id)
    standing.area = terms.area
    with session.trial() as trial:
        claimer = Claimer(session, trial, job, terms)
        without = [task for task in tasks if not claimer.claim(task)]
        if without:
            standing.refuse(Rung.ALLOCATE_JOB, claimer.why_not(without))
        elif session.points["quotaReady"](job):
            trial.commit()
            return
    standing.going = False


def _claim_extras(session: Session, job: Job) -> None:
    tasks = _claimless(session.members(job).extras)
    if not tasks:
        return
    standing = session.standing(job.id)
    terms = Terms(area=standing.area, homes=_homes(session, job), bounds=rank_bounds(session, job))
    with session.trial() as trial:
        claimer = Claimer(session, trial, job, terms)
        without = [task for task in tasks if not claimer.claim(task)]
        trial.commit()
    if without:
        standing.refuse(Rung.ALLOCATE_JOB, claimer.why_not(without))


def _claimless(tasks: Sequence[Task]) -> list[Task]:
    """Tasks that still need a claim, in rank order; spot tasks take none, and gated ones wait."""
    pending = (task for task in tasks if task.state is TaskState.PENDING and not task.gated)
    return sorted((task for task in pending if task.shape.spot is None), key=lambda task: task.rank)


def _homes(session: Session, job: Job) -> tuple[QuotaName, ...]:
    """The quotas with an existing node that the job's queue may use."""
    return tuple(_existing(session, job))


def _existing(session: Session, job: Job) -> Iterator[QuotaName]:
    world = session.world
    for name in session.shelves.homes(job.queue):
        quota = world.quotas[name]
        node = quota.node or quota.spec.static_node
        if node is not None and node in world.nodes:
            yield name
