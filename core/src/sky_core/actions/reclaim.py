"""Make room for starving jobs by evicting spot pods from the nodes of their quotas (behaviour.md 5.4).

Nobody is evicted unless, with the victims gone, all needed members of the claimant fit. Room that is being made is
waited for; while victims of an earlier cycle are on their way out of a node, no others are chosen there.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from sky_core.decisions import Certificate
from sky_core.eviction import Choice
from sky_core.model import SECOND, Duration, Instant, Job, NodeName, Task, TaskId
from sky_core.reasons import Code, Finding, Rung
from sky_core.resources import NOTHING, Resources
from sky_core.room import may_evict
from sky_core.session import Session
from sky_core.statement import Statement
from sky_core.states import TaskState
from sky_core.topology import home

PATIENCE: Final = Duration(60 * SECOND)
"""How long beyond the victims' grace a claimant waits for them to be gone."""


class Shortage(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A node that has too little room for the tasks that claim quotas there.

    `load` is what these take, `room` what the node has left for them, and what evictions of this cycle add to that.
    """

    node: NodeName
    tasks: tuple[Task, ...]
    load: Resources
    room: Resources

    @property
    def lacking(self) -> Resources:
        """What has yet to be made; nothing where others have made enough."""
        return self.load.shortfall(self.room)


def reclaim(session: Session) -> None:
    """For each job that only room keeps from starting: first for those for which it is being made already."""
    starving = [job for job in session.passed if _starves(session, job)]
    for step in (_wait_on, _make_room):
        for job in starving:
            if not session.standing(job.id).waits_for_room:
                with session.attempt(job, Rung.RECLAIM):
                    step(session, job)


def _starves(session: Session, job: Job) -> bool:
    if not (session.standing(job.id).short_of_room and job.preempts):
        return False
    starving: bool = session.points["jobStarving"](job)
    return starving


def _wait_on(session: Session, job: Job) -> None:
    """Wait for victims of an earlier cycle, unless that has taken too long: then the claims go back."""
    shortages = _shortages(session, job)
    if not any(_leaving(session, shortage.node) for shortage in shortages):
        return
    last = session.memory.attempts.get(job.id)
    until = last.room_until if last is not None else None
    if until is not None and session.now >= until:
        _block(session, job, shortages[0])
        session.claims.give_back_all(job)
        return
    victims = last.victims if last is not None else frozenset()
    _repeat(session, job, shortages, victims)
    _wait(session, job, shortages, until, victims)


def _repeat(session: Session, job: Job, shortages: Sequence[Shortage], victims: frozenset[TaskId]) -> None:
    """Evict those of the chosen again whom the API server let stay: what the others leave is not enough."""
    with session.trial() as trial:
        for shortage in shortages:
            coming = replace(shortage, room=shortage.room + _load(_leaving(session, shortage.node)))
            choice = session.victims.choose(shortage.node, coming.lacking, victims) if coming.lacking else None
            if choice is not None:
                _evict(session, trial, job, coming, choice)
        trial.commit()


def _make_room(session: Session, job: Job) -> None:
    """Evict on all nodes that are short, or on none; then wait."""
    shortages = _shortages(session, job)
    victims: set[TaskId] = set()
    with session.trial() as trial:
        for shortage in shortages:
            if not shortage.lacking:
                continue
            choice = _choice(session, job, shortage)
            if choice is None:
                _block(session, job, shortage)
                return
            _evict(session, trial, job, shortage, choice)
            victims.update(victim.id for victim in choice.victims)
        trial.commit()
    if shortages:
        _wait(session, job, shortages, None, frozenset(victims))


def _shortages(session: Session, job: Job) -> list[Shortage]:
    """The nodes on which the job's waiting members lack room, beside those who wait for room already."""
    world = session.world
    found = []
    for node, tasks in _by_node(session, job).items():
        load, left = _load(tasks), world.books[node].idle - world.books[node].pipelined
        if not load.fits_in(left):
            room = left + _load(task for task in _releasing(session, node) if task.id in session.certificates)
            found.append(Shortage(node=node, tasks=tuple(tasks), load=load, room=room))
    return found


def _by_node(session: Session, job: Job) -> dict[NodeName, list[Task]]:
    """The job's waiting members by the nodes of the quotas that they claim."""
    by_node: dict[NodeName, list[Task]] = defaultdict(list)
    for task in session.members(job).waiting():
        if (node := home(session.world, task)) is not None:
            by_node[node].append(task)
    return by_node


def _releasing(session: Session, node: NodeName) -> list[Task]:
    """Who is on the way out of a node."""
    on_node = (session.world.tasks[id_] for id_ in session.world.tasks_on.get(node, ()))
    return [task for task in on_node if task.state is TaskState.RELEASING]


def _leaving(session: Session, node: NodeName) -> list[Task]:
    """The spot pods on their way out of a node that were told to go in an earlier cycle."""
    releasing = _releasing(session, node)
    return [task for task in releasing if task.shape.spot is not None and task.id not in session.certificates]


def _choice(session: Session, job: Job, shortage: Shortage) -> Choice | None:
    """Who goes; None where nobody may be evicted for one of these claims, or evictions do not help."""
    quotas = (session.world.quotas[task.quota] for task in shortage.tasks if task.quota is not None)
    if not all(may_evict(job, quota) for quota in quotas):
        return None
    return session.victims.choose(shortage.node, shortage.lacking)


def _evict(session: Session, trial: Statement, job: Job, shortage: Shortage, choice: Choice) -> None:
    certificate = Certificate(
        claimant=job.id,
        node=shortage.node,
        needed=shortage.load,
        idle=shortage.room,
        frees=tuple((victim.id, victim.shape.load) for victim in choice.victims),
        cost=choice.cost,
        alone=choice.alone,
    )
    for victim in choice.victims:
        trial.evict(victim, certificate)
        session.victims.note(victim)


def _wait(
    session: Session, job: Job, shortages: Sequence[Shortage], until: Instant | None, victims: frozenset[TaskId]
) -> None:
    """Keep the claims and wait for the room; `until` as long as before, None: as long as those who go may take."""
    standing = session.standing(job.id)
    standing.victims = victims
    releasing = (task for shortage in shortages for task in _releasing(session, shortage.node))
    grace = max((task.grace for task in releasing), default=Duration(0))
    standing.room_until = until or Instant(session.now + grace + PATIENCE)
    standing.waits_for_room = True
    with session.trial() as trial:
        for node, tasks in _by_node(session, job).items():
            for task in tasks:
                trial.pipeline(task, node)
        trial.commit()
    lacking = NOTHING
    for shortage in shortages:
        lacking += shortage.load.shortfall(session.world.books[shortage.node].idle)
    names = tuple(shortage.node for shortage in shortages[:3])
    standing.refuse(Rung.RECLAIM, (Finding(Code.WAITING_FOR_RELEASE, len(shortages), lacking, examples=names),))


def _block(session: Session, job: Job, shortage: Shortage) -> None:
    """Say on which node the room is only under pods that may not be evicted."""
    standing, lacking = session.standing(job.id), shortage.lacking
    available = session.world.books[shortage.node].idle.only(lacking.units)
    finding = Finding(Code.EVICTION_BLOCKED, 1, lacking, available, (shortage.node,))
    standing.refuse(Rung.RECLAIM, (*standing.findings, finding))


def _load(tasks: Iterable[Task]) -> Resources:
    total = NOTHING
    for task in tasks:
        total += task.shape.load
    return total
