"""What a cycle leaves for the next: per job, how its last attempt went. All else is read from the objects."""

from typing import Final

import msgspec

from sky_core.model import Duration, Instant, JobId, TaskId
from sky_core.reasons import Topic, Verdict
from sky_core.resources import Resources
from sky_core.selectors import Selector

REFUSALS: Final = 3
"""Refused Bindings in a row after which a job is sent away for a while (behaviour.md 5)."""


class QuotaShape(msgspec.Struct, frozen=True, gc=False):
    """A quota's shape by value: what hop 2 refused once is claimed last while the job waits."""

    request: Resources
    selector: Selector


class Attempt(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A job's last attempt that did not start it fully.

    `wait` is how long it backs off from `at`. `openings` are the world's counts then, in the order of `Topic`, and
    `version` the job's own: what has moved since may cut the wait short. `refused`: quota shapes that found no node, in
    it or before. `waiting_since`: since when the job waits for a single zone; `room_until`: to when for room that is
    being made by evicting `victims`.
    """

    verdict: Verdict
    at: Instant
    wait: Duration
    openings: tuple[int, ...] = (0,) * len(Topic)
    version: int = 0
    refused: frozenset[QuotaShape] = frozenset()
    waiting_since: Instant | None = None
    room_until: Instant | None = None
    victims: frozenset[TaskId] = frozenset()

    @property
    def next(self) -> Instant:
        """The first instant at which the job is tried again."""
        return Instant(self.at + self.wait)


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Every job that waits; and how often in a row a task's Binding was decided without its being bound since."""

    attempts: dict[JobId, Attempt] = {}
    binds: dict[TaskId, int] = {}
