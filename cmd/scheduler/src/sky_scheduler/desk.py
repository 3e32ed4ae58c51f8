"""One cycle, from what has happened to what is to be done: all of it between two awaits, in whatever thread."""

from collections.abc import Set
from typing import Final

import msgspec
import structlog

from sky_core import invariants
from sky_core.cycle import Outcome
from sky_core.decisions import BindTask
from sky_core.invariants import Violation
from sky_core.members import started
from sky_core.memory import Memory
from sky_core.model import SECOND, Duration, Instant
from sky_scheduler.configuration import Configured
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.mirror import Taken
from sky_scheduler.plans import Plan, planned
from sky_scheduler.recorder import Recorder
from sky_scheduler.reports import Reporting, Reports, Subject
from sky_scheduler.stopwatch import EVERY, Lap, Stopwatch
from sky_scheduler.view import View

RECOUNT_EVERY: Final = Duration(600 * SECOND)
"""How often everything is recounted from the objects."""
STOCK_EVERY: Final = Duration(10 * SECOND)

_log = structlog.get_logger(__name__)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a cycle."""

    outcome: Outcome
    memory: Memory
    plan: Plan
    reports: Reports
    laps: tuple[Lap, ...]


class Desk:
    """Where cycles are run. One caller at a time; nothing here waits, or knows the time.

    Attributes:
        view: The objects as of the last cycle.
        configured: What the cycles decide by.
    """

    def __init__(self, configured: Configured, metrics: SchedulerMetrics, recorder: Recorder | None = None) -> None:
        """Nothing is known yet."""
        self.view = View(configured.policy.settings)
        self.configured = configured
        self._metrics = metrics
        self._recorder = recorder
        self._reporting = Reporting()
        self._epoch = 0
        self._cycles = 0
        self._recounted = self._stocked = Instant(0)

    def catch_up(self, taken: Taken) -> None:
        """Take up what has happened, and decide nothing.

        A new leader's first cycle need not catch up with everything, nor is it told what has come and gone since long.
        """
        changes = self.view.take_up(taken)
        self.view.course.world.shorten()
        if self._recorder is not None:
            self._recorder.learn(changes)

    def lead(self, epoch: int) -> None:
        """From now on cycles decide, and write in this epoch."""
        self._epoch = epoch
        self.open_file()

    def adopt(self, configured: Configured) -> None:
        """Decide by another configuration, under which objects are read as before."""
        self.configured = configured
        self.open_file()

    def start_over(self, configured: Configured) -> None:
        """Forget all objects: they are to be read in another way. Back-offs begin anew, patience is on the objects."""
        self.configured = configured
        self.view = View(configured.policy.settings)
        self._reporting = Reporting()
        if self._recorder is not None:
            self._recorder.forget()

    def cycle(self, taken: Taken, now: Instant, again: Set[Subject]) -> Round:
        """Take up what has happened, and decide; what was decided is assumed when this returns.

        `again` are those that could not be told what they were to be told.
        """
        policy, course = self.configured.policy, self.view.course
        changes = self.view.take_up(taken)
        watch = Stopwatch()
        self._cycles += 1
        measured = watch.policy(policy) if self._cycles % EVERY == 0 else policy
        with watch.running():
            outcome = course.cycle(measured, now, watch.actions())
        self._metrics.measured(watch)
        self._check(outcome, now)
        at = Instant(now - now % SECOND)  # as servers write times in conditions
        plan = planned(self.view, outcome.decisions, self._epoch, at)
        self._assume(outcome, now)
        reports = self._reporting.due(self.view, outcome, policy, at, again)
        if self._recorder is not None:
            self._recorder.write(course, self.configured.text, changes, now, outcome)
        return Round(outcome=outcome, memory=course.memory, plan=plan, reports=reports, laps=tuple(watch.laps))

    def _assume(self, outcome: Outcome, now: Instant) -> None:
        course, binds = self.view.course, [one for one in outcome.decisions if isinstance(one, BindTask)]
        starting = [
            job
            for id_ in dict.fromkeys(b.job for b in binds)
            if not started(course.world, job := course.world.jobs[id_])
        ]
        course.assume(outcome.decisions)
        for job in starting:
            self._metrics.start(course.world, job, now)
        if now - self._stocked >= STOCK_EVERY:
            self._stocked = now
            self._metrics.count(course.world, self.configured.policy.settings, outcome.verdicts, now)

    def _check(self, outcome: Outcome, now: Instant) -> None:
        """Look for defects of ours: in what was decided always, in what is kept beside the rows now and then."""
        world = self.view.course.world
        found: list[Violation] = [Violation("defect", "cycle", defect) for defect in outcome.defects]
        if outcome.decisions:
            found += invariants.check_decisions(world, outcome.decisions, now)
        if self._cycles > 1 and now - self._recounted >= RECOUNT_EVERY:  # the first is waited for
            self._recounted = now
            found += invariants.check(world)
        for violation in found:
            self._metrics.violations.labels(violation.invariant).inc()
            _log.error("Defect", invariant=violation.invariant, object=violation.object, fault=violation.fault)

    def open_file(self) -> None:
        """Let the flight recorder begin a file here, if there is one and cycles decide."""
        if self._recorder is not None and self._epoch:
            self._recorder.open(self._epoch, self.view.course, self.configured.text)
