"""Task → node without a quota: the way of spot tasks, alone or as a gang, in zones where they ask for RDMA.

A spot task travels as a parcel of its own, with a quota that exists only here, so that areas, zones and slots mean the
same for it as for everybody else.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sky_core.admission import over_capability
from sky_core.model import Instant, Job, NodeName, Quota, QuotaName, QuotaSpec, Task
from sky_core.plugin import Area, Parcel
from sky_core.reasons import Code, Finding, Reason
from sky_core.resources import NOTHING
from sky_core.session import Session
from sky_core.statement import Statement
from sky_core.survey import ANYWHERE
from sky_core.tally import Tally
from sky_core.topology import Layout, homes

Findings = tuple[Finding, ...]


def place_spot(session: Session, job: Job, tasks: Sequence[Task]) -> Findings:
    """Bind all of these spot tasks, or none; empty where they are bound."""
    if (beyond := _over_capability(session, job, tasks)) is not None:
        tally = Tally()
        tally.add(job.queue, (beyond,))
        return tally.findings()
    parcels = [parcel_of(session, job, task) for task in sorted(tasks, key=lambda task: task.rank)]
    first: Findings = ()
    for area in _areas(session, job, parcels):
        session.standing(job.id).area = area
        with session.trial() as trial:
            findings = _place(session, trial, job, parcels, area)
            if not findings:
                trial.commit()
                return ()
        first = first or findings
    return first


def _over_capability(session: Session, job: Job, tasks: Sequence[Task]) -> Reason | None:
    """Whether the tasks would take the queue beyond its capability; never asked of needed members of a begun job."""
    needed = {task.id for task in session.members(job).needed}
    if session.has_begun(job) and all(task.id in needed for task in tasks):
        return None
    more = NOTHING
    for task in tasks:
        more += task.shape.request
    return over_capability(session, session.world.queues[job.queue], more)


def _place(session: Session, trial: Statement, job: Job, parcels: Sequence[Parcel], area: Area) -> Findings:
    seats: Mapping[QuotaName, NodeName] = {}
    if job.topology.on:
        layout: Layout | None = session.points["predicateZone"](job, parcels, ())
        if layout is not None and not layout.seats:
            session.standing(job.id).waits_for_zone = layout.waits
            return layout.refusal or _refusals(session, parcels[0], area)
        seats = layout.seats if layout is not None else {}
    for parcel in parcels:
        node = seats.get(parcel.quota.name) or session.survey.best(parcel, area)
        if node is None or session.survey.refusals(parcel, node):
            return _refusals(session, parcel, area)
        trial.allocate(parcel.tasks[0], node)
        session.holdings.add(job, parcel.tasks[0].shape.request)
        trial.bind(session.world.tasks[parcel.tasks[0].id])
    return ()


def _areas(session: Session, job: Job, parcels: Sequence[Parcel]) -> Iterator[Area]:
    """A gang's cards are of one kind: where most members are, else where least is left over; else anywhere."""
    specs = session.world.specs
    if job.min_member <= 1 or len(specs) < 2:
        yield ANYWHERE
        return
    there = Counter(session.world.nodes[node].spec for _, node in homes(session.world, job, zoned=False))
    if there:
        yield Area(min(there, key=lambda spec: (-there[spec], spec)))
        return
    left = {spec: session.survey.total(parcels[0], Area(spec)) - len(parcels) for spec in specs}
    for spec in sorted(specs, key=lambda spec: (left[spec] < 0, left[spec], spec)):
        yield Area(spec)


def _refusals(session: Session, parcel: Parcel, area: Area) -> Findings:
    tally = Tally()
    for name in session.survey.nodes(area):
        tally.add(name, session.survey.refusals(parcel, name))
    if not tally:
        tally.finding(Finding(Code.SPOT_INSUFFICIENT, 0, parcel.tasks[0].shape.request))
    return tally.findings()


def parcel_of(session: Session, job: Job, task: Task) -> Parcel:
    """A spot task as a parcel of its own."""
    spec = session.spot_specs.get(task.shape)
    if spec is None:
        request = task.shape.request
        spec = QuotaSpec(queue=job.queue, request=request, named=frozenset(request.units), labels={})
        session.spot_specs[task.shape] = spec
    quota = Quota(name=QuotaName(task.id), uid="", spec=spec, created=Instant(0), order=())
    return Parcel(job=job, quota=quota, tasks=(task,), direct=True)
