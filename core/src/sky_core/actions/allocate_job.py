"""Task → quota: admit each job, and claim quotas for its needed members, all or none; then for its extras."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from sky_core import reservations
from sky_core.admission import admission
from sky_core.areas import Apart, candidates, card_area, homes_in, rank_bounds
from sky_core.claiming import Claimer, Terms
from sky_core.members import OPEN, by_rank, least_request, started
from sky_core.memory import REFUSALS
from sky_core.model import Job, QuotaName, Task
from sky_core.placing import needs_one_card, place_extra, place_needed, surely_places
from sky_core.plugin import Area
from sky_core.reasons import Code, Finding, Rung
from sky_core.refusing import explain, refusals, speaks_to_all
from sky_core.session import Session
from sky_core.states import TaskState
from sky_core.tally import EXAMPLES


def allocate_job(session: Session) -> None:
    """Hop 1 for every job with something to do, in queue and job order."""
    for job in session.turns():
        if job.id in session.world.unanswered:
            continue
        session.tried.append(job)
        session.notice_haste(job)
        with session.attempt(job, Rung.ALLOCATE_JOB):
            if _bind_refused(session, job):
                continue
            if refused := admission(session, job):
                session.standing(job.id).turn_back(job.name, refused)
                continue
            session.admit(job)
            _claim_needed(session, job)
    for job in session.going_with_extras():
        with session.attempt(job, Rung.ALLOCATE_JOB):
            _claim_extras(session, job)


def _bind_refused(session: Session, job: Job) -> bool:
    """After three refused Bindings in a row a claim goes back, and the job backs off, started or not."""
    binds = session.memory.binds
    refused = [session.world.tasks[id_] for id_ in job.tasks if binds.get(id_, 0) >= REFUSALS] if binds else []
    refused = [task for task in refused if task.state in OPEN]
    if not refused:
        return False
    claiming = _claiming(session, job)
    lost = [task for task in claiming if task in refused] if started(session.world, job) else claiming
    session.claims.give_back_tasks(job, lost)
    names = tuple(task.name for task in refused[:EXAMPLES])
    session.standing(job.id).refuse(Rung.BIND, (Finding(Code.BIND_REFUSED, len(refused), examples=names),))
    return True


def _claiming(session: Session, job: Job) -> list[Task]:
    tasks = (session.world.tasks[id_] for id_ in job.tasks)
    return [task for task in tasks if task.state is TaskState.ALLOCATED_TO_QUOTA]


def _claim_needed(session: Session, job: Job) -> None:
    tasks = _claimless(session.members(job).needed)
    if not tasks:
        return
    terms = Terms(homes=_homes(session, job), capped=not session.has_begun(job), bounds=rank_bounds(session, job))
    tried: Iterator[Terms] | None = None
    if needs_one_card(session, job, tasks):
        tried = candidates(session, job, tasks, terms)
    elif _any_returns(session, tasks):
        tried = iter((replace(terms, moves=True),))
    if any(_works(session, job, tasks, inside) for inside in tried or ()):
        return
    # Nothing is moved unless it is known where to.
    area = card_area(session, job, tasks, terms)
    terms = replace(terms, area=area, homes=homes_in(session, terms.homes, area), apart=Apart(session, job))
    _settle(session, job, tasks, terms, tried=tried is not None)


def _works(session: Session, job: Job, tasks: Sequence[Task], terms: Terms) -> bool:
    """Claim within these terms and see whether hop 2 would place it all; keep the claims if so."""
    standing = session.standing(job.id)
    with session.trial() as trial:
        standing.area = terms.area
        claimer = Claimer(session, trial, job, terms)
        if any(claimer.claim_all(tasks)) or not session.points["quotaReady"](job):
            return False
        with session.trial() as ahead:
            if not surely_places(session, job) and place_needed(session, ahead, job) is not None:
                return False
        standing.area = Area(terms.area.spec)
        trial.commit()
        return True


def _settle(session: Session, job: Job, tasks: Sequence[Task], terms: Terms, *, tried: bool) -> None:
    """Claim what there is; or say what hop 1 lacks, or what hop 2 would say.

    `tried`: hop 2 was tried ahead, and no terms work. Claims that hop 2 would refuse are not kept till then: whoever
    comes next might need them, and those of a job that never backs off would be in the way in every cycle.
    """
    standing = session.standing(job.id)
    standing.area = terms.area
    with session.trial() as trial:
        claimer = Claimer(session, trial, job, terms)
        without = list(claimer.claim_all(tasks))
        doubtful = tried or claimer.free.beyond_slots
        if without:
            standing.refuse(Rung.ALLOCATE_JOB, claimer.why_not(without))
            standing.alike = any(finding.code is Code.INSUFFICIENT_QUOTA for finding in standing.findings)
            standing.quotaless = tuple(job.tasks.index(task.id) for task in without[:EXAMPLES])
        elif session.points["quotaReady"](job) and not (doubtful and _refuses_ahead(session, job)):
            trial.commit()
            return
    standing.going = False


def _refuses_ahead(session: Session, job: Job) -> bool:
    """Whether hop 2 would refuse the claims of the job; then the job is told so."""
    with session.trial() as ahead:
        refusal = place_needed(session, ahead, job)
        if refusal is None:
            return False
        standing = session.standing(job.id)
        standing.refuse(Rung.ALLOCATE_ZONE if job.topology.on else Rung.ALLOCATE_QUOTA, explain(session, refusal))
        standing.alike = speaks_to_all(session, refusal)
    return True


def _claim_extras(session: Session, job: Job) -> None:
    tasks = _claimless(session.members(job).extras)
    if not tasks:
        return
    standing = session.standing(job.id)
    terms = Terms(area=standing.area, homes=_homes(session, job), must_place=True, bounds=rank_bounds(session, job))
    if standing.area.spec is None:
        standing.area = card_area(session, job, tasks, terms)
    terms = replace(terms, area=standing.area, apart=Apart(session, job))
    with session.trial() as trial:
        claimer = Claimer(session, trial, job, terms)
        without = [task for task in tasks if not (_moves(session, job, task, terms) or claimer.claim(task))]
        trial.commit()
    if without and claimer.free.unplaced is not None:
        standing.refuse(Rung.ALLOCATE_JOB, refusals(session, claimer.free.unplaced, terms.area))
    elif without:
        standing.refuse(Rung.ALLOCATE_JOB, claimer.why_not(without))


def _moves(session: Session, job: Job, task: Task, terms: Terms) -> bool:
    """Claim the place that is kept for an extra, moved if need be to where hop 2 would take it; False: nothing is."""
    if not _any_returns(session, [task]):
        return False
    with session.trial() as trial:
        claimed = Claimer(session, trial, job, replace(terms, moves=True)).claim(task)
        with session.trial() as ahead:
            if not claimed or place_extra(session, ahead, job, session.world.tasks[task.id]) is not None:
                return False
        trial.commit()
        return True


def _any_returns(session: Session, tasks: Sequence[Task]) -> bool:
    """Whether a place is kept for one of the tasks."""
    return any(
        reservations.returner(session.world, task, quota, session.now) is not None
        for quota in session.kept
        for task in tasks
    )


def _claimless(tasks: Sequence[Task]) -> list[Task]:
    """Tasks that still need a claim, in rank order; spot tasks take none, and gated ones wait."""
    pending = [task for task in tasks if task.state is TaskState.PENDING and not task.gated]
    return sorted([task for task in pending if task.shape.spot is None], key=by_rank)


def _homes(session: Session, job: Job) -> tuple[QuotaName, ...]:
    """The quotas with an existing node that the job's queue may use."""
    world = session.world
    names = session.shelves.homes(job.queue, least_request(world, job))
    if not names:
        return ()
    quotas = (world.quotas[name] for name in names)
    return tuple(quota.name for quota in quotas if (quota.node or quota.spec.static_node) in world.nodes)
