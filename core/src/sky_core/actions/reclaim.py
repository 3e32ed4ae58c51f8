"""Make room for starving jobs by evicting spot pods from the nodes of their quotas (behaviour.md 5.4).

Nobody is evicted unless, with the victims gone, all needed members of the claimant fit. Room that is being made is
waited for; while it is, no others are chosen.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from sky_core.decisions import Certificate
from sky_core.eviction import Choice
from sky_core.members import is_spot
from sky_core.model import SECOND, Duration, Instant, Job, NodeName, Task
from sky_core.reasons import Code, Finding, Rung
from sky_core.rescheduling import Proposal, propose
from sky_core.resources import NOTHING, Resources
from sky_core.room import awaited
from sky_core.session import Session
from sky_core.states import TaskState

PATIENCE: Final = Duration(60 * SECOND)
"""How long beyond the victims' grace a claimant waits for them to be gone."""


def reclaim(session: Session) -> None:
    """For each job that only room keeps from starting."""
    for job in session.passed:
        standing = session.standing(job.id)
        if standing.short_of_room and job.preempts and session.points["jobStarving"](job):
            with session.attempt(job, Rung.RECLAIM):
                _make_room(session, job)
    _reschedule(session)


def _reschedule(session: Session) -> None:
    """Propose, or make, the evictions that would free a zone for spot gangs that wait for one."""
    settings = session.rescheduling
    for job in session.passed if settings is not None else ():
        if session.standing(job.id).going or not is_spot(session.world, job):
            continue
        tasks = session.members(job).waiting() if job.topology.on else ()
        proposal = propose(session.world, tasks, session.victims.evictable) if tasks else None
        if proposal is None:
            continue
        session.proposals[job.id] = proposal
        if settings is not None and settings.act and job.preempts:
            _clear_zone(session, job, proposal)


def _clear_zone(session: Session, job: Job, proposal: Proposal) -> None:
    """Evict the proposed pods, if all are of lower priority: else two gangs could evict each other for ever."""
    victims = [victim for tasks in proposal.victims.values() for victim in tasks]
    if any(victim.priority >= job.priority for victim in victims):
        return
    load = session.members(job).waiting()[0].shape.load
    with session.trial() as trial:
        for node, tasks in proposal.victims.items():
            idle = session.world.books[node].idle
            room = idle + sum((task.shape.load for task in tasks), start=NOTHING)
            certificate = Certificate(
                claimant=job.id,
                node=node,
                needed=load.times(load.slots_in(room)),
                idle=idle,
                frees=tuple((task.id, task.shape.load) for task in tasks),
                cost=0,
                alone=None,
            )
            for task in tasks:
                trial.evict(task, certificate)
                session.victims.note(task)
        trial.commit()


def _make_room(session: Session, job: Job) -> None:
    waiting = [task for task in session.members(job).waiting() if task.state is TaskState.ALLOCATED_TO_QUOTA]
    by_node: dict[NodeName, list[Task]] = defaultdict(list)
    for task in waiting:
        quota = session.world.quotas[task.quota] if task.quota is not None else None
        if quota is not None and quota.node is not None:
            by_node[quota.node].append(task)
    short = {node: lacking for node, tasks in by_node.items() if (lacking := _lacking(session, node, tasks))}
    if any(_leaving(session, node) for node in short):
        _wait(session, job, waiting, short)
        return
    choices: dict[NodeName, Choice] = {}
    for node, lacking in short.items():
        choice = session.victims.choose(node, lacking) if not _borrowed(session, by_node[node]) else None
        if choice is None:
            _blocked(session, job, node, lacking)
            return
        choices[node] = choice
    _evict(session, job, by_node, choices)
    _wait(session, job, waiting, short)


def _lacking(session: Session, node: NodeName, tasks: Sequence[Task]) -> Resources:
    """What the tasks' requests exceed the node's idle by, beside what others with claims there will take."""
    book = session.world.books[node]
    others = awaited(session.world, node, but=frozenset(task.id for task in tasks))
    return _load(tasks).shortfall(book.idle - others)


def _leaving(session: Session, node: NodeName) -> bool:
    """Whether spot pods are on their way out of the node."""
    world = session.world
    on_node = (world.tasks[id_] for id_ in world.tasks_on.get(node, ()))
    return any(task.state is TaskState.RELEASING and task.shape.spot is not None for task in on_node)


def _borrowed(session: Session, tasks: Sequence[Task]) -> bool:
    """Whether a claim beyond its quota's request asks: that causes no eviction (behaviour.md 4)."""
    quotas = (session.world.quotas[task.quota] for task in tasks if task.quota is not None)
    return any(not quota.claimed.only(quota.spec.named).fits_in(quota.spec.request) for quota in quotas)


def _evict(
    session: Session, job: Job, by_node: Mapping[NodeName, Sequence[Task]], choices: Mapping[NodeName, Choice]
) -> None:
    with session.trial() as trial:
        for node, choice in choices.items():
            book = session.world.books[node]
            others = awaited(session.world, node, but=frozenset(task.id for task in by_node[node]))
            certificate = Certificate(
                claimant=job.id,
                node=node,
                needed=_load(by_node[node]),
                idle=book.idle - others,
                frees=tuple((victim.id, victim.shape.load) for victim in choice.victims),
                cost=choice.cost,
                alone=choice.alone,
            )
            for victim in choice.victims:
                trial.evict(victim, certificate)
                session.victims.note(victim)
        trial.commit()


def _wait(session: Session, job: Job, tasks: Sequence[Task], short: Mapping[NodeName, Resources]) -> None:
    """Keep the claims and wait for the room, unless it has been waited for too long."""
    standing = session.standing(job.id)
    last = session.memory.attempts.get(job.id)
    until = last.room_until if last is not None else None
    if until is not None and session.now >= until:
        _blocked(session, job, *next(iter(short.items())))
        session.give_back_all(job)
        return
    standing.room_until = until or Instant(session.now + _grace(session, short) + PATIENCE)
    standing.waits_for_room = True
    with session.trial() as trial:
        for task in tasks:
            node = session.world.quotas[task.quota].node if task.quota is not None else None
            if node is not None and node in short:
                trial.pipeline(task, node)
        trial.commit()
    lacking = NOTHING
    for amount in short.values():
        lacking += amount
    standing.refuse(Rung.RECLAIM, (Finding(Code.WAITING_FOR_RELEASE, len(short), lacking, examples=tuple(short)[:3]),))


def _grace(session: Session, nodes: Mapping[NodeName, Resources]) -> Duration:
    """The longest grace of the pods that are leaving these nodes."""
    world = session.world
    leaving = (world.tasks[id_] for node in nodes for id_ in world.tasks_on.get(node, ()))
    return max((task.grace for task in leaving if task.state is TaskState.RELEASING), default=Duration(0))


def _blocked(session: Session, job: Job, node: NodeName, lacking: Resources) -> None:
    """Say on which node the room is only under pods that may not be evicted."""
    available = session.world.books[node].idle.only(lacking.units)
    finding = Finding(Code.EVICTION_BLOCKED, 1, lacking, available, (node,))
    session.standing(job.id).refuse(Rung.RECLAIM, (*session.standing(job.id).findings, finding))


def _load(tasks: Sequence[Task]) -> Resources:
    total = NOTHING
    for task in tasks:
        total += task.shape.load
    return total
