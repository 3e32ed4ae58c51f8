"""Propose, or make, the evictions that would free a zone for spot gangs that wait for one (behaviour.md 7.6).

Part of backfill, which is where such a gang learns that it has to wait; only with the plugin rescheduling.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from sky_core.decisions import Certificate
from sky_core.direct import parcel_of
from sky_core.members import is_spot
from sky_core.model import Job, NodeName, Task
from sky_core.reasons import Code
from sky_core.rescheduling import Proposal, propose, room_to_come
from sky_core.session import Session
from sky_core.topology import homes, population

_ROOM: Final = frozenset({Code.INSUFFICIENT_IDLE, Code.SPOT_INSUFFICIENT})


def reschedule(session: Session) -> None:
    """For each spot gang that was let in and found no zone."""
    if session.rescheduling is None:
        return
    for job in session.passed:
        if not job.topology.on or session.standing(job.id).going or not is_spot(session.world, job):
            continue
        tasks = session.members(job).waiting()
        proposal = _proposal(session, job, tasks) if tasks else None
        if proposal is not None:
            session.proposals[job.id] = proposal
            if session.rescheduling.act and job.preempts:
                _clear_zone(session, job, proposal, tasks)


def _proposal(session: Session, job: Job, tasks: Sequence[Task]) -> Proposal | None:
    """In the zones where its members are, or in any; on nodes that refuse it for nothing but room."""
    if any(task.shape is not tasks[0].shape for task in tasks):
        return None
    world, parcel = session.world, parcel_of(session, job, tasks[0])
    at_home = population(world, homes(world, job, zoned=True))

    def suits(node: NodeName) -> bool:
        return all(reason.code in _ROOM for reason in session.survey.refusals(parcel, node))

    def evictable(node: NodeName) -> list[Task]:
        return [task for task in session.victims.evictable(node) if task.job != job.id]

    zones = [zone for id_, zone in world.zones.items() if not at_home or id_ in at_home]
    suitable = (replace(zone, nodes=tuple(filter(suits, zone.nodes))) for zone in zones)
    return propose(world, suitable, tasks, evictable)


def _clear_zone(session: Session, job: Job, proposal: Proposal, tasks: Sequence[Task]) -> None:
    """Evict the proposed pods, if budgets let them go together and all are of lower priority.

    Of equal priority two gangs could evict each other for ever.
    """
    load = tasks[0].shape.load
    with session.trial() as trial:
        for node, victims in proposal.victims.items():
            room = room_to_come(session.world, node)
            frees = tuple((victim.id, victim.shape.load) for victim in victims)
            slots = load.slots_in(sum((amount for _, amount in frees), start=room))
            certificate = Certificate(
                claimant=job.id,
                node=node,
                needed=load.times(min(slots, len(tasks))),
                idle=room,
                frees=frees,
                cost=0,
                alone=None,
            )
            for victim in victims:
                if victim.priority >= job.priority or not session.victims.allows((), victim):
                    return
                trial.evict(victim, certificate)
                session.victims.note(victim)
        trial.commit()
