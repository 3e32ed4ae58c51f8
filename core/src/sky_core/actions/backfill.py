"""Spot tasks straight onto nodes."""

from sky_core.session import Session


def backfill(session: Session) -> None:
    """Nothing yet."""
