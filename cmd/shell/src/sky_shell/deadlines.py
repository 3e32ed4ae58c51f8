"""Deadlines of asyncio tasks, many at once, with one timer that looks after all of them.

A timer for each, in a library or in asyncio, costs a request a tenth of all that it takes, and hardly one ever rings.
"""

import asyncio
from types import TracebackType
from typing import Final

LOOK_EVERY: Final = 0.05
"""Seconds between two looks, by which a deadline may be missed."""


class Deadlines:
    """Those of the tasks of one loop."""

    def __init__(self) -> None:
        """Nobody has one."""
        self._loop = asyncio.get_running_loop()
        self._running: dict[_Deadline, None] = {}
        self._is_looking = False

    def within(self, seconds: float) -> "_Deadline":
        """A context in which the present task takes no longer than so many seconds, else it leaves with TimeoutError.

        A task that is cancelled as well stays cancelled.
        """
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can have a deadline")
        return _Deadline(self, task, self._loop.time() + seconds)

    def begin(self, deadline: "_Deadline") -> None:
        """Look after this one, too."""
        self._running[deadline] = None
        if not self._is_looking:
            self._is_looking = True
            self._loop.call_later(LOOK_EVERY, self._look)

    def end(self, deadline: "_Deadline") -> None:
        """Look after it no more."""
        del self._running[deadline]

    def _look(self) -> None:
        now = self._loop.time()
        for deadline in self._running:
            deadline.look(now)
        self._is_looking = bool(self._running)
        if self._is_looking:
            self._loop.call_later(LOOK_EVERY, self._look)


class _Deadline:
    """As `asyncio.Timeout` has it."""

    def __init__(self, deadlines: Deadlines, task: asyncio.Task[object], at: float) -> None:
        self._deadlines = deadlines
        self._task = task
        self._cancelling = task.cancelling()
        self._at = at
        self._is_over = False

    def __enter__(self) -> None:
        self._deadlines.begin(self)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._deadlines.end(self)
        if self._is_over and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def look(self, now: float) -> None:
        if now >= self._at and not self._is_over:
            self._is_over = self._task.cancel()
