"""Quota → node for all other jobs."""

from sky_core.actions.hop import settle_hop
from sky_core.reasons import Rung
from sky_core.session import Session


def allocate_quota(session: Session) -> None:
    """Place the quotas of jobs without topology, each on the node that the policy likes best."""
    settle_hop(session, [job for job in session.going() if not job.topology.on], Rung.ALLOCATE_QUOTA)
