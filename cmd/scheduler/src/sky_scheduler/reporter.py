"""Tells what there is to tell, one thing at a time and never in the way of what was decided."""

from collections.abc import Callable, Sequence
from typing import Final, NoReturn

import structlog
import trio

from sky_core.model import Instant
from sky_scheduler.commit import Committer
from sky_scheduler.events import Announcements
from sky_scheduler.mirror import Mirror
from sky_scheduler.reports import Report, Reports, Subject
from sky_shell.writer import Acknowledged, Refused, Unknown, Writer
from sky_shell.writes import Refusal

PAUSE: Final = 0.02
"""Seconds between two writes: each costs the server twice what a Binding does."""
PATIENCE: Final = 1.0
"""Seconds that a write waits at most for decisions that are under way: there may always be some."""

_LATER: Final = frozenset({Refusal.CONFLICT, Refusal.THROTTLED})

_log = structlog.get_logger(__name__)


class Reporter:
    """Writes reports and events. Of a subject only the latest is told; of reports and events reports come first.

    Attributes:
        again: Subjects that could not be told what they were to be told, for reasons that may have passed.
    """

    def __init__(
        self,
        writer: Writer,
        mirror: Mirror,
        committer: Committer,
        announcements: Announcements,
        now: Callable[[], Instant],
    ) -> None:
        """`writer` is for this alone, with one request at a time."""
        self.again: set[Subject] = set()
        self._writer = writer
        self._mirror = mirror
        self._committer = committer
        self._announcements = announcements
        self._now = now
        self._waiting: dict[Subject, Sequence[Report]] = {}
        self._woken = trio.Event()

    def want(self, reports: Reports) -> None:
        """These are to be told, whatever was to be told of the same subjects before."""
        for subject, told in reports.items():
            self.again.discard(subject)
            self._waiting.pop(subject, None)
            if told:
                self._waiting[subject] = told
        self.wake()

    def wake(self) -> None:
        """There may be something to tell."""
        self._woken.set()

    async def run(self) -> NoReturn:
        """Tell until cancelled."""
        while True:
            if not (self._waiting or self._announcements):
                self._woken = trio.Event()
                await self._woken.wait()
                continue
            with trio.move_on_after(PATIENCE):
                await self._committer.rest()
            if self._waiting:
                await self._report()
            elif self._announcements:
                await self._writer.perform(self._announcements.next())
            await trio.sleep(PAUSE)

    async def _report(self) -> None:
        subject = next(iter(self._waiting))
        report, *rest = self._waiting.pop(subject)
        if rest:
            self._waiting[subject] = rest  # behind the others: a gang may have a thousand pods to be told
        match await self._writer.perform(report.write):
            case Acknowledged(body):
                self._mirror.acknowledged(report.resource, body)
                if report.event is not None:
                    self._announcements.add(report.event, self._now())
            case Unknown():
                self.again.add(subject)
            case Refused(why, message):
                if why in _LATER:
                    self.again.add(subject)
                elif why not in (Refusal.GONE, Refusal.REPLACED):
                    _log.warning("Not told", path=report.write.path, why=why.value, error=message)
