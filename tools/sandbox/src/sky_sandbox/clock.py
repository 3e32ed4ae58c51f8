"""The sandbox's clock: trio's, laid on a calendar, which can be paused and set forward."""

from collections.abc import Callable
from typing import Protocol

import trio

from sky_core.model import SECOND, Duration, Instant


class Waiting(Protocol):
    """Something that is to be looked at when it wakes, and at some instant."""

    wake: Callable[[], None]

    @property
    def due(self) -> Instant | None:
        """When to look even if nothing wakes; None if never."""


class Clock:
    """An instant that goes on with trio's clock, be that a simulated one."""

    def __init__(self, start: Instant) -> None:
        """A clock that says `start` now."""
        self._shown = start
        self._since: float | None = trio.current_time()
        self._waiters: dict[trio.Event, None] = {}

    @property
    def paused(self) -> bool:
        """Whether it stands still."""
        return self._since is None

    def now(self) -> Instant:
        """What it says."""
        if self._since is None:
            return self._shown
        return Instant(self._shown + round((trio.current_time() - self._since) * SECOND))

    def pause(self) -> None:
        """Stand still: nothing falls due any more."""
        self._shown, self._since = self.now(), None
        self._tell()

    def resume(self) -> None:
        """Go on from where it stands."""
        self._shown, self._since = self.now(), trio.current_time()
        self._tell()

    def advance(self, by: Duration) -> None:
        """Set it forward, whether it goes or stands."""
        self._shown = Instant(self._shown + by)
        self._tell()

    async def wait_for(self, waiting: Waiting) -> None:
        """Wait until something wakes or is due; it may be sooner, if the clock is set."""
        seconds = float("inf")
        if waiting.due is not None and self._since is not None:
            seconds = max(waiting.due - self.now(), 0) / SECOND
        event = trio.Event()
        waiting.wake = event.set
        self._waiters[event] = None
        try:
            with trio.move_on_after(seconds):
                await event.wait()
        finally:
            del self._waiters[event]

    def _tell(self) -> None:
        for event in self._waiters:
            event.set()
