"""What only a leader does: cycle after cycle, and what comes of each."""

import structlog
import trio

from sky_core.decisions import EvictTask
from sky_core.memory import Memory
from sky_core.model import JobId
from sky_scheduler.commit import Committer
from sky_scheduler.desk import Round
from sky_scheduler.events import Announcements
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.plans import Step
from sky_scheduler.reporter import Reporter
from sky_scheduler.station import Station
from sky_scheduler.traces import Traces
from sky_shell.lease import Leadership
from sky_shell.transport import Transport
from sky_shell.writer import Writer

_log = structlog.get_logger(__name__)


async def open_epoch(station: Station, leadership: Leadership, stop: trio.Event) -> int | None:
    """The epoch that we write in, once all that is there is known; None if the process stops before."""
    if not await station.listed(stop):
        return None
    epoch = await leadership.open_epoch(station.desk.view.highest_epoch)
    await station.do(station.desk.lead, epoch)
    _log.info("Deciding", epoch=epoch)
    return epoch


class Leading:
    """Decides, performs and tells, in one epoch."""

    def __init__(
        self,
        station: Station,
        transport: Transport,
        leadership: Leadership,
        announcements: Announcements,
        metrics: SchedulerMetrics,
    ) -> None:
        """Nothing is decided yet."""
        mirror, self._traces = station.watching.mirror, Traces()
        self._station = station
        self._metrics = metrics
        self._announcements = announcements
        self._memory = Memory()
        self._fault: str | None = None
        self._committer = Committer(Writer(transport, leadership.permit), mirror, self._note, self._traces.job)
        telling = Writer(transport, leadership.permit, in_flight=1)
        self._reporter = Reporter(telling, mirror, self._committer, announcements, station.now)

    async def run(self, stop: trio.Event) -> None:
        """Go on until the process stops; what is under way then is finished."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._reporter.run)
            due = trio.current_time()
            while not stop.is_set():
                await self._take_up_configuration(stop)
                if self._is_sighted():
                    await self._cycle(nursery)
                if not self._committer.is_busy:
                    self._station.rest()
                due = max(due + self._station.period, trio.current_time())
                with trio.move_on_at(due):
                    await stop.wait()
            await self._committer.rest()
            nursery.cancel_scope.cancel()

    async def _cycle(self, nursery: trio.Nursery) -> None:
        station = self._station
        taken, again = station.watching.mirror.take(), frozenset(self._reporter.again)
        round_ = await station.do(station.desk.cycle, taken, station.now(), again)
        self._memory = round_.memory
        if round_.plan:
            self._committer.take_on()
            nursery.start_soon(self._perform, round_)
        self._reporter.want(round_.reports)

    async def _perform(self, round_: Round) -> None:
        with self._traces.cycle(round_.laps):
            decided = round_.outcome.decisions
            _log.info("Decided", decisions=len(decided), jobs=len(round_.plan.shares), writes=len(round_.plan.writes))
            await self._committer.perform(round_.plan, self._waits)

    def _waits(self, job: JobId) -> bool:
        """Whether a job waits for room that evictions make."""
        attempt = self._memory.attempts.get(job)
        return attempt is not None and attempt.room_until is not None

    def _note(self, step: Step, result: str) -> None:
        """A decision is answered, or can't be carried out."""
        self._metrics.decisions.labels(type(step.decision).__name__, result).inc()
        if isinstance(step.decision, EvictTask):
            self._metrics.evictions.labels("reclaim" if self._waits_for(step) else "rescheduling", result).inc()
        if step.event is not None and result == "ok":
            self._announcements.add(step.event, self._station.now())
            self._reporter.wake()

    def _waits_for(self, step: Step) -> bool:
        return step.job is not None and self._waits(step.job)

    def _is_sighted(self) -> bool:
        """Whether what is known can be relied on; else nothing is decided, and we go on leading."""
        fault = self._station.watching.fault()
        if fault is not None and self._fault is None:
            _log.error("Deciding nothing", reason=fault)
        elif fault is None and self._fault is not None:
            _log.info("Deciding again")
        self._fault = fault
        return fault is None

    async def _take_up_configuration(self, stop: trio.Event) -> None:
        station = self._station
        if station.wanted is station.desk.configured:
            return
        await self._committer.rest()  # what is assumed is assumed of objects as they are read now
        if await station.take_up(station.wanted) and await station.listed(stop):
            await station.do(station.desk.open_file)
