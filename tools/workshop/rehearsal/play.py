"""The play: objects are put, the scheduler comes, and what is to happen later happens."""

from collections import deque
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

import msgspec
import structlog
import trio
from prometheus_client import CollectorRegistry

from rehearsal.attempts import Attempts
from rehearsal.ending import Ending, report
from rehearsal.grounds import KINDS, Grounds, ask, listed, path, settles
from rehearsal.notes import Notes
from rehearsal.refusal import RefusedError
from sky_core.api.identity import Key, key_of
from sky_core.api.kinds import kind_of
from sky_core.model import SECOND
from sky_core.simulation.objects import Object
from sky_core.simulation.report import Report
from sky_core.simulation.run import DEFAULT_QUEUE
from sky_core.simulation.timeline import Apply, Delete, Event, FailNextBind, Finish
from sky_scheduler.configuration import Configured
from sky_scheduler.desk import Desk
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.process import Process
from sky_scheduler.station import LISTED_EVERY, Surroundings
from sky_scheduler.testing.stage import Player, Wire
from sky_shell.lease import Candidate, unique_identity
from sky_shell.transport import Transport

PATIENCE: Final = 60.0
"""Seconds for a cluster to come to rest before the scheduler is there."""


class Play:
    """A scheduler on grounds, with somebody who directs."""

    def __init__(self, grounds: Grounds, configured: Configured, cycles: int) -> None:
        """Nothing has happened yet; `cycles` is how many there may be, more of them where the period is shorter."""
        settings = configured.policy.settings
        if grounds.period is not None:
            cycles *= max(settings.period // grounds.period, 1)
            settings = msgspec.structs.replace(settings, period=grounds.period)
        policy = msgspec.structs.replace(configured.policy, settings=settings)
        self._grounds = grounds
        self._configured = msgspec.structs.replace(configured, policy=policy)
        self._cycles = cycles
        self._notes = Notes()
        self._attempts = Attempts(grounds.scheduling, self._notes)
        self._warnings: list[str] = []
        self._happened: dict[int, list[str]] = {}
        self._player = self._scheduler()

    async def run(self, objects: Sequence[Object], timeline: Sequence[Event]) -> Report | RefusedError:
        """Play it to its end; what came of it, or why it can't be played there."""
        with structlog.testing.capture_logs() as logs:
            try:
                await self._populate(objects)
                await self._perform(timeline)
            except RefusedError as refused:
                return refused
        if self._player.error is not None:
            raise self._player.error
        defects = [f"{log['object']}: {log['fault']}" for log in logs if log["event"] == "Defect"]
        return report(
            Ending(
                objects=await listed(self._grounds.transport),
                course=self._player.process.station.desk.view.course,
                notes=self._notes,
                attempts=self._attempts.noted,
                happened=self._happened,
                settings=self._configured.policy.settings,
                warnings=self._warnings,
                defects=defects,
            )
        )

    async def _perform(self, timeline: Sequence[Event]) -> None:
        """From the scheduler's coming to its going."""
        refused: RefusedError | None = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._player.run)
            try:
                await self._direct(timeline)
            except RefusedError as error:  # not through the nursery, which would put it into a group
                refused = error
            await self._player.stop()
        if refused is not None:
            raise refused

    def _scheduler(self) -> Player:
        grounds, registry = self._grounds, CollectorRegistry()
        metrics = SchedulerMetrics(registry)
        wire = Wire(self._attempts, unique_identity(), [])
        surroundings = Surroundings(now=grounds.now, random=Random(0), run_sync=grounds.run_sync)  # noqa: S311
        desk = Desk(self._configured, metrics, self._notes)
        process = Process(wire, desk, Candidate(wire.name), grounds.namespace, surroundings, metrics)
        return Player(wire, process, registry)

    async def _populate(self, objects: Sequence[Object]) -> None:
        by_key = {key_of(raw): raw for raw in objects if kind_of(key_of(raw), raw) is not None}
        by_key.setdefault(key_of(DEFAULT_QUEUE), DEFAULT_QUEUE)
        for kind in KINDS:
            for key in sorted(by_key):
                if key.kind == kind:
                    await self._grounds.apply(by_key[key])
        with trio.fail_after(PATIENCE):
            while settles(await listed(self._grounds.transport)):  # noqa: ASYNC110  a cluster sets no event
                await trio.sleep(0.05)

    async def _direct(self, timeline: Sequence[Event]) -> None:
        """Let happen what is to happen, until nothing more would or the cycles are over.

        In simulated time that is between two cycles, after the one whose time has come, so that the next one sees it.
        """
        grounds, period, later = self._grounds, self._player.process.station.period, deque(timeline)
        due = trio.current_time() + LISTED_EVERY + period / 2
        elapsed = 0.0
        while True:
            await trio.sleep_until(due)
            await grounds.repair(self._configured.policy.settings)
            while later and (later[0].at <= elapsed * SECOND if grounds.waits else await self._rests(at_last=False)):
                await self._happen(later.popleft())
            if len(self._notes.cycles) >= self._cycles or (not later and await self._rests(at_last=True)):
                await trio.sleep(period * 3 / 8)
                return
            due, elapsed = due + period, elapsed + period

    async def _rests(self, *, at_last: bool) -> bool:
        """Whether nothing goes on, and `at_last` nothing will."""
        if not self._notes.is_quiet or self._attempts.under_way or (at_last and self._notes.expects_more):
            return False
        objects = await listed(self._grounds.transport)
        kept = at_last and any(_is_kept(raw) for raw in objects.values())
        return not kept and not settles(objects) and self._has_seen(objects)

    def _has_seen(self, objects: Mapping[Key, Object]) -> bool:
        """Whether the last cycle knew what is there."""
        known = self._player.process.station.desk.view.identities
        there = {key: raw["metadata"]["resourceVersion"] for key, raw in objects.items()}
        return there == {key: identity.version for key, identity in known.items()}

    async def _happen(self, event: Event) -> None:
        self._happened.setdefault(len(self._notes.cycles), []).append(str(event.what))
        if not await happens(self._grounds, event):
            self._warnings.append(f"timeline: {event.what}: there is no such object")


async def happens(grounds: Grounds, event: Event) -> bool:
    """Let an event happen; whether there was something for it to happen to.

    Raises:
        RefusedError: The server does not let it.
    """
    match event.what:
        case Apply(raw):
            await grounds.apply(raw)
            return True
        case Delete(key):
            return await _deleted(grounds.transport, key)
        case Finish(pod, phase):
            change = {"status": {"phase": phase}}
            return await ask(grounds.transport, "PATCH", path(pod, "status"), change) is not None
        case FailNextBind():
            await grounds.fail_next_bind(event.what)
            return True


async def _deleted(transport: Transport, key: Key) -> bool:
    try:
        return await ask(transport, "DELETE", path(key), {}) is not None
    except KeyError:
        raise RefusedError(f"delete {key}: no such kind is known here") from None


def _is_kept(raw: Object) -> bool:
    """Whether it is a quota that keeps a place for somebody."""
    return raw["kind"] == "Quota" and bool((raw.get("status") or {}).get("reservedTasks"))
