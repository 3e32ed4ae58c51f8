"""A desk with a watch over the cluster: what a leader and who waits to be one have in common."""

import faulthandler
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import Any, Final, NoReturn, TypeVar

import msgspec
import structlog
import trio

from sky_core.model import SECOND, Instant
from sky_scheduler import garbage
from sky_scheduler.configuration import Configured
from sky_scheduler.desk import Desk
from sky_scheduler.watching import Watching
from sky_shell.health import Pulse
from sky_shell.transport import Transport

T = TypeVar("T")

LISTED_EVERY: Final = 0.02
"""Seconds between looks whether everything is listed."""
SLOW_SECONDS: Final = 30.0
"""A cycle that takes longer shows where every thread is, and the process is taken for dead."""

_log = structlog.get_logger(__name__)


RunSync = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Calls a function that takes its time; `trio.to_thread.run_sync` does it in a thread."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is put into: its time of day, its luck, and its thread."""

    now: Callable[[], Instant]
    random: Random
    run_sync: RunSync = trio.to_thread.run_sync


class Station:
    """Whoever calls waits for whoever called before: the desk has room for one.

    Attributes:
        wanted: The configuration that is to be in use; it is taken up between two cycles.
    """

    def __init__(self, transport: Transport, desk: Desk, surroundings: Surroundings) -> None:
        """Nothing is known yet."""
        self.desk = desk
        self.wanted = desk.configured
        self.watching = Watching(transport, surroundings.random)
        self.now = surroundings.now
        self._run_sync = surroundings.run_sync
        self._sweeper = garbage.Sweeper()
        self._busy = trio.Lock()
        self._began: float | None = None

    def want(self, configured: Configured) -> None:
        """Use this configuration from the next cycle on."""
        self.wanted = configured

    @property
    def period(self) -> float:
        """Seconds from one cycle to the next."""
        return self.desk.configured.policy.settings.period / SECOND

    async def do(self, function: Callable[..., T], *arguments: object) -> T:
        """Let the desk do something, apart from the trio loop."""
        async with self._busy:
            self._began = trio.current_time()
            result: T = await self._run_sync(partial(garbage.uncollected, partial(function, *arguments)))
            self._began = None
            return result

    async def beat(self, pulse: Pulse) -> NoReturn:
        """Let the pulse beat, unless the desk is at one thing for so long that it will never end."""
        while True:
            if self._began is None or trio.current_time() - self._began <= SLOW_SECONDS:
                pulse.beat()
                told = False
            elif not told:
                told = True
                _log.error("Cycle takes too long", seconds=SLOW_SECONDS)
                faulthandler.dump_traceback()
            await trio.sleep(1)

    def rest(self) -> None:
        """There is nothing to do until the next cycle."""
        self._sweeper.sweep()

    async def catch_up(self) -> None:
        """Take up what has happened, and decide nothing."""
        await self.do(self.desk.catch_up, self.watching.mirror.take())

    async def listed(self, stop: trio.Event) -> bool:
        """Wait until all that is there is known and taken up; False if the process stops before.

        What is known is taken up while the rest is still being listed: a server takes its time over that.
        """
        while not self.watching.mirror.complete.is_set():
            with trio.move_on_after(LISTED_EVERY):
                await stop.wait()
            if stop.is_set():
                return False
            await self.catch_up()
        await self.catch_up()
        garbage.put_by()
        return True

    async def take_up(self, wanted: Configured) -> bool:
        """Use another configuration; whether objects are to be listed anew, for they are read in another way by it."""
        anew = wanted.reading != self.desk.configured.reading
        if anew:
            self.watching.start_over()
        await self.do(self.desk.start_over if anew else self.desk.adopt, wanted)
        return anew
