"""Quota → node for jobs with a communication group."""

from sky_core.actions.hop import settle_hop
from sky_core.reasons import Rung
from sky_core.session import Session


def allocate_zone(session: Session) -> None:
    """Place the quotas of topology jobs, each job's within the zones that its policy allows."""
    settle_hop(session, [job for job in session.going() if job.topology.on], Rung.ALLOCATE_ZONE)
