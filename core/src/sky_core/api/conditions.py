"""Conditions in an object's status: a list in which each type stands once, and keeps its place."""

from collections.abc import Mapping, Sequence
from typing import Any

from sky_core.api.instants import rfc3339
from sky_core.model import Instant

Condition = Mapping[str, Any]


def condition(type_: str, *, holds: bool, reason: str = "", message: str = "") -> dict[str, Any]:
    """A condition that has just been looked at."""
    return {"type": type_, "status": "True" if holds else "False", "reason": reason, "message": message}


def merged(old: Sequence[Condition], new: Condition, now: Instant) -> list[Condition]:
    """With this condition in the place of the one of its type; its transition is now only if its status differs."""
    at = next((i for i, one in enumerate(old) if one.get("type") == new["type"]), None)
    since = rfc3339(now)
    if at is None:
        return [*old, {**new, "lastTransitionTime": since}]
    if old[at].get("status") == new["status"]:
        since = old[at].get("lastTransitionTime") or since
    return [*old[:at], {**new, "lastTransitionTime": since}, *old[at + 1 :]]
