"""Pods that the cluster itself lives by are never victims (behaviour.md 7.1)."""

from collections.abc import Sequence

from sky_core.model import Task, TaskId
from sky_core.plugin import Context, Functions, Plugin


def open_session(_context: Context, _: None) -> Functions:
    """Needs nothing of the session."""
    return Functions(reclaimable=_reclaimable)


def _reclaimable(_claimant: Task | None, candidates: Sequence[Task]) -> frozenset[TaskId]:
    return frozenset(task.id for task in candidates if not task.critical)


PLUGIN = Plugin(name="conformance", open=open_session)
