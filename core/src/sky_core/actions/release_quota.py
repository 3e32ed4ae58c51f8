"""Give back what can't be used, so that nobody parks on another's quotas (behaviour.md 5.6)."""

from typing import Final

from sky_core.members import started
from sky_core.reasons import Rung
from sky_core.session import Session

_AFTER_HOP_TWO: Final = frozenset({Rung.BIND, Rung.RECLAIM})


def release_quota(session: Session) -> None:
    """Take claims from jobs that got nowhere, then quotas off nodes that nobody needs."""
    for job in session.tried:
        standing = session.standing(job.id)
        if standing.going or standing.waits_for_room:
            continue
        if not started(session.world, job):
            session.vacated = session.vacated or standing.rung in _AFTER_HOP_TWO
            session.claims.give_back_all(job)
        elif standing.turned_away:
            session.claims.give_back_tasks(job, [session.world.tasks[id_] for id_ in standing.turned_away])
    _release_empty(session)


def _release_empty(session: Session) -> None:
    with session.trial() as trial:
        for quota in session.idle_quotas():
            if not (quota.claims or quota.keeps_place(session.now) or quota.spec.static_node or quota.pending):
                trial.release_quota(quota.name)
        trial.commit()
