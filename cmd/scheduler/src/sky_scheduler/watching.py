"""The reflectors of all kinds, and whether what they tell can be relied on."""

from random import Random
from typing import Final, NoReturn

import trio

from sky_scheduler.mirror import Mirror
from sky_shell.reflector import SILENCE, Reflector
from sky_shell.resources import SEEN
from sky_shell.transport import Transport

STALE: Final = SILENCE + 10.0
"""Seconds without a sign of life after which no decision is based on a kind any more. A watch that says nothing is
followed by a list, which has these last seconds for its answer."""


class Watching:
    """Keeps a mirror up to date.

    Attributes:
        mirror: What is there.
        reflectors: Those at work; always the same list.
    """

    def __init__(self, transport: Transport, random: Random) -> None:
        """Nothing is watched yet."""
        self.mirror = Mirror()
        self.reflectors: list[Reflector] = []
        self._transport = transport
        self._random = random
        self._scope = trio.CancelScope()

    async def run(self) -> NoReturn:
        """List and watch until cancelled."""
        while True:
            self.mirror.start_over()
            self.reflectors[:] = [Reflector(self._transport, kind, self.mirror, self._random) for kind in SEEN]
            async with trio.open_nursery() as nursery:
                self._scope = nursery.cancel_scope
                for reflector in self.reflectors:
                    nursery.start_soon(reflector.run)

    def start_over(self) -> None:
        """Forget everything and list anew."""
        self.mirror.start_over()
        self._scope.cancel()

    def is_complete(self) -> bool:
        """Whether every kind has been listed."""
        return self.mirror.complete.is_set()

    def fault(self) -> str | None:
        """Why nothing may be decided on what is known; None if it may."""
        for reflector in self.reflectors:
            if not reflector.synced.is_set():
                return f"{reflector.resource} not listed yet: {reflector.fault}"
            if reflector.age > STALE:
                return f"{reflector.resource} not heard of for {reflector.age:.0f} s: {reflector.fault}"
        return None if self.is_complete() else "not listed yet"
