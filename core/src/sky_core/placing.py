"""Hop 2: the quotas that a job claims onto nodes, all of its needed ones or none (behaviour.md 5.2).

Hop 1 looks ahead by calling the same functions in a trial that it undoes.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from sky_core.model import Job, NodeName, QuotaName, Task
from sky_core.parcels import one_of_each
from sky_core.plugin import Area, Parcel
from sky_core.reasons import Code, Finding, Reason
from sky_core.refusing import Refusal
from sky_core.session import Session
from sky_core.statement import Statement
from sky_core.survey import ANYWHERE
from sky_core.tally import EXAMPLES, Tally
from sky_core.topology import Layout, homes, in_group, zone_of

GATES: Final = frozenset({"gang", "topology"})
"""Who lets pass at quotaAllocate whatever has its nodes, unless ranks are out of line."""


def place_needed(session: Session, trial: Statement, job: Job) -> Refusal | None:
    """Give every unbound quota of the job's needed members a node; None where all have one.

    A topology job's extras sit down with them where there is room for all. What was placed before a refusal stays in
    the trial: the caller undoes it.
    """
    session.standing(job.id).waits_for_zone = False
    members = session.members(job)
    if not job.topology.on:
        parcels = session.parcels.of(job, members.needed)
        return place_quotas(session, trial, job, _larger_first(session, parcels)) or _gate(session, job)
    group, followers = _split(session, job, members.needed)
    names = {parcel.quota.name for parcel in (*group, *followers)} if members.extras else ()
    extras, _ = _split(session, job, members.extras)
    refusal = place_zone(session, trial, job, group, [e for e in extras if e.quota.name not in names])
    return refusal or place_followers(session, trial, job, followers) or _gate(session, job)


def surely_places(session: Session, job: Job) -> bool:
    """Whether slots alone say that `place_needed` would give all a node; False where only trying tells."""
    members = session.members(job)
    group, followers = _split(session, job, members.needed)
    if not group or followers or any([task.quota is not None for task in members.extras]):
        return False
    if not _gates_open(session, job) or _refused_before(session, group):
        return False
    if not job.topology.on:
        return session.survey.holds(group, confines(session, job, group[0]))
    layout: Layout | None = session.points["predicateZone"](job, group, ())
    if layout is None or len(layout.seats) < len(group):
        return False
    return session.survey.takes_all(group, Counter([layout.seats[parcel.quota.name] for parcel in group]))


def place_extra(session: Session, trial: Statement, job: Job, task: Task) -> Refusal | None:
    """Give the quota of one extra a node; None where it has one."""
    parcels = session.parcels.of(job, [task])
    if not parcels or not job.topology.on:
        return place_quotas(session, trial, job, parcels)
    if in_group(session.world, job, task):
        return place_zone(session, trial, job, parcels, ())
    return place_followers(session, trial, job, parcels)


def place_zone(
    session: Session, trial: Statement, job: Job, group: Sequence[Parcel], extras: Sequence[Parcel]
) -> Refusal | None:
    """Seat a communication group as the zone algorithm says; without one, wherever each quota fits."""
    if not group:
        return None
    layout: Layout | None = session.points["predicateZone"](job, group, extras)
    if layout is None:
        return place_quotas(session, trial, job, group)
    if layout.refusal:
        session.standing(job.id).waits_for_zone = layout.waits
        return Refusal(findings=layout.refusal, zones=not homes(session.world, job, zoned=True))
    if not layout.seats:
        return _lacking(session, trial, job, group)
    session.standing(job.id).layout = layout
    if (refused := _seat_all(session, trial, layout, group)) is not None:
        return refused
    for parcel in extras:
        if (node := layout.seats.get(parcel.quota.name)) is not None:
            _seat(session, trial, parcel, node)
    return None


def place_followers(session: Session, trial: Statement, job: Job, parcels: Sequence[Parcel]) -> Refusal | None:
    """Give the quotas of a topology job's other tasks nodes in its zones where they fit, else anywhere."""
    if not parcels:
        return None
    world = session.world
    zones = dict.fromkeys(zone_of(world.nodes[node]) for _, node in homes(world, job, zoned=True))
    areas = [Area(zone.spec, zone) for zone in zones if zone is not None]
    for parcel in _larger_first(session, parcels):
        best = next((node for area in (*areas, ANYWHERE) if (node := session.survey.best(parcel, area))), None)
        if best is None:
            return Refusal(parcel=parcel)
        seat(session, trial, parcel, best)
    return None


def place_quotas(session: Session, trial: Statement, job: Job, parcels: Sequence[Parcel]) -> Refusal | None:
    """Give each quota, in this order, the node that the policy likes best."""
    together = _company(parcels)
    if len(together) > 1 and (alone := _as_one(session, trial, together)) is not None:
        return alone
    placed = len(together) if len(together) > 1 else 0
    left = deque([parcel for parcel in parcels if session.world.quotas[parcel.quota.name].node is None])
    while left:
        parcel = left[0]
        area = confines(session, job, parcel)
        refused = session.points["qn.prePredicate"](parcel)
        node = session.survey.best(parcel, area) if not refused else None
        if node is None:
            return Refusal(parcel=parcel, area=area, placed=placed)
        run = _next_run(session, left, node)
        _seat_run(session, trial, run, node)
        placed += sum([len(each.tasks) for each in run])
    return None


def _next_run(session: Session, left: deque[Parcel], node: NodeName) -> list[Parcel]:
    """Take the first of these, for which the node is the best, and those after it for which it surely is, too."""
    run = [left.popleft()]
    if left and left[0].pattern is run[0].pattern:
        most = session.survey.lasts(run[0], node)
        while left and len(run) < most and left[0].pattern is run[0].pattern:
            run.append(left.popleft())
    return run


def confines(session: Session, job: Job, parcel: Parcel) -> Area:
    """The nodes to which a gang's cards are confined; a task that itself names a spec label follows that instead."""
    area = session.standing(job.id).area
    return ANYWHERE if area.spec is None or not needs_one_card(session, job, parcel.tasks) else Area(area.spec)


def needs_one_card(session: Session, job: Job, tasks: Sequence[Task]) -> bool:
    """Whether tasks of a gang have to share a kind of card with the rest (behaviour.md 1, Spec code)."""
    if job.min_member <= 1:
        return False
    if job.topology.on:
        return any(in_group(session.world, job, task) for task in tasks)
    return any(task.shape.request.extended() and not _names_card(session, task) for task in tasks)


def seat(session: Session, trial: Statement, parcel: Parcel, node: NodeName) -> None:
    """Bind the parcel's quota to a node that takes it."""
    trial.bind_quota(parcel.quota.name, node)
    session.survey.placed(parcel, {node: 1})


def _seat_run(session: Session, trial: Statement, run: Sequence[Parcel], node: NodeName) -> None:
    """Bind the quotas of parcels that are alike, all of which the node takes."""
    if len(run) == 1:
        seat(session, trial, run[0], node)
        return
    trial.bind_quotas({node: [parcel.quota.name for parcel in run]}, run[0].footprint)
    session.survey.placed(run[0], {node: len(run)})


def _gates_open(session: Session, job: Job) -> bool:
    """Whether quotaAllocate surely lets pass a group that is placed at once.

    Not beside members of a strict job that are there already, whose ranks have to be in line with it.
    """
    strict = job.topology.strict and homes(session.world, job, zoned=True)
    return not strict and set(session.points.names("quotaAllocate")) <= GATES


def _gate(session: Session, job: Job) -> Refusal | None:
    """quotaAllocate: whether the whole of it may be committed."""
    refused: tuple[Reason, ...] = session.points["quotaAllocate"](job)
    if not refused:
        return None
    tally = Tally()
    tally.add(job.name, refused)
    return Refusal(findings=tally.findings())


def _refused_before(session: Session, parcels: Sequence[Parcel]) -> bool:
    """Whether any of these is refused by all nodes at once: those that are alike are asked about once."""
    return any(map(session.points["qn.prePredicate"], one_of_each(parcels)))


def _seat_all(session: Session, trial: Statement, layout: Layout, group: Sequence[Parcel]) -> Refusal | None:
    """Seat each of these; those that are alike together, where their nodes surely take them all."""
    seated = [parcel for parcel in group if parcel.quota.name in layout.seats]
    for pattern, alike in groupby(seated, key=lambda parcel: parcel.pattern):
        run, seats = list(alike), defaultdict[NodeName, list[QuotaName]](list)
        for parcel in run:
            seats[layout.seats[parcel.quota.name]].append(parcel.quota.name)
        counts = {node: len(names) for node, names in seats.items()}
        if session.survey.takes_all(run[:1], counts) and not _refused_before(session, run):
            trial.bind_quotas(seats, pattern.footprint)
            session.survey.placed(pattern, counts)
            continue
        for parcel in run:
            if (refused := _seat(session, trial, parcel, layout.seats[parcel.quota.name])) is not None:
                return refused
    return None


def _seat(session: Session, trial: Statement, parcel: Parcel, node: NodeName) -> Refusal | None:
    refused: tuple[Reason, ...] = session.points["qn.prePredicate"](parcel) or session.survey.refusals(parcel, node)
    if refused:
        tally = Tally()
        tally.add(node, refused)
        return Refusal(findings=tally.findings())
    seat(session, trial, parcel, node)
    return None


def _lacking(session: Session, trial: Statement, job: Job, group: Sequence[Parcel]) -> Refusal:
    """Why the zones don't hold the group even together: place what can be, and ask for the first that can't."""
    area = confines(session, job, group[0])
    placed = 0
    for parcel in group:
        node = session.survey.best(parcel, area)
        if node is None:
            return Refusal(parcel=parcel, area=area, placed=placed)
        seat(session, trial, parcel, node)
        placed += len(parcel.tasks)
    return Refusal(findings=(Finding(Code.TOPOLOGY_ZONE_INSUFFICIENT, len(group)),))


def _as_one(session: Session, trial: Statement, together: Sequence[Parcel]) -> Refusal | None:
    """Quotas of one job that require each other's node: the first node in index order that takes them all."""
    head = together[0]
    savepoint = trial.savepoint()
    for node in session.survey.nodes(confines(session, head.job, head)):
        for parcel in together:
            trial.bind_quota(parcel.quota.name, node)
        # Asked when all are there: each of them is what another one requires.
        if not any(session.points["qn.prePredicate"](p) or session.pairs.refusals(p, node) for p in together):
            return None
        trial.rollback(savepoint)
    names = tuple(parcel.quota.name for parcel in together[:EXAMPLES])
    return Refusal(findings=(Finding(Code.QUOTA_AFFINITY_NOT_MATCH, len(together), examples=names),), parcel=head)


def _company(parcels: Sequence[Parcel]) -> list[Parcel]:
    """The quotas that require, or are required by, another of these on their node."""

    def requires(one: Parcel, other: Parcel) -> bool:
        terms = one.quota.spec.quota_affinity.required
        return any(not term.zone and term.selector.matches(other.quota.spec.labels) for term in terms)

    if len(parcels) < 2:
        return []
    seekers = [parcel for parcel in parcels if parcel.quota.spec.quota_affinity.required]
    pairs = [(one, other) for one in seekers for other in parcels if one is not other and requires(one, other)]
    found = {id(parcel) for pair in pairs for parcel in pair}
    return [parcel for parcel in parcels if id(parcel) in found]


def _split(session: Session, job: Job, tasks: Sequence[Task]) -> tuple[list[Parcel], list[Parcel]]:
    """The quotas that a member of the communication group claims, and the others."""
    parcels = session.parcels.of(job, tasks)
    if not any(session.world.tasks[id_].shape.rdma for id_ in job.tasks):
        return parcels, []
    kinds = one_of_each(parcels)
    grouped = {parcel.pattern for parcel in kinds if any(task.shape.rdma for task in parcel.tasks)}
    if len(grouped) == len(kinds):
        return parcels, []
    return [p for p in parcels if p.pattern in grouped], [p for p in parcels if p.pattern not in grouped]


def _larger_first(session: Session, parcels: Sequence[Parcel]) -> list[Parcel]:
    return sorted(parcels, key=lambda parcel: -session.share(parcel.footprint)) if len(parcels) > 1 else list(parcels)


def _names_card(session: Session, task: Task) -> bool:
    prefixes = session.policy.settings.spec_labels
    return any(requirement.key.startswith(prefixes) for requirement in task.shape.selector.requirements)
