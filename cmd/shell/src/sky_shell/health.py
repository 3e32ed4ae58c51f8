"""Whether a process lives, and whether it is of use: `/livez` and `/readyz`."""

import faulthandler
from collections.abc import Callable
from typing import Final, NoReturn

import trio

from sky_shell.pages import Answer, Request

TICK_SECONDS: Final = 1.0
STALL_SECONDS: Final = 30.0
"""A loop that has not ticked for so long does not live. What every thread is doing then goes to standard error."""

Check = Callable[[], str | None]
"""None if all is well, else what is not."""


class Pulse:
    """Something that must happen again and again."""

    def __init__(self, within: float) -> None:
        """It has to `beat` at least every so many seconds, from now on."""
        self._within = within
        self._last = trio.current_time()

    def beat(self) -> None:
        """It has happened."""
        self._last = trio.current_time()

    def check(self) -> str | None:
        """How late it is, if it is."""
        silent = trio.current_time() - self._last
        return f"not seen for {silent:.0f} s" if silent > self._within else None


class Health:
    """Named checks. A process adds its own; the trio loop itself is one of those for life."""

    def __init__(self) -> None:
        """All is well."""
        self._loop = Pulse(STALL_SECONDS)
        self._live: dict[str, Check] = {"loop": self._loop.check}
        self._ready: dict[str, Check] = {}

    def pulse(self, name: str, within: float) -> Pulse:
        """What must beat for the process to live."""
        pulse = Pulse(within)
        self._live[name] = pulse.check
        return pulse

    def needs(self, name: str, check: Check) -> None:
        """What must be well for the process to be of use."""
        self._ready[name] = check

    async def tick(self) -> NoReturn:
        """The beat of the loop. Should it stop, a thread of the interpreter's says where everybody is."""
        try:
            while True:
                self._loop.beat()
                faulthandler.dump_traceback_later(STALL_SECONDS)
                await trio.sleep(TICK_SECONDS)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def livez(self, _: Request) -> Answer:
        """Whether the process lives; where it doesn't, it is to be killed."""
        return _page(self._live)

    def readyz(self, _: Request) -> Answer:
        """Whether the process is of use, and what it lacks."""
        return _page(self._ready)


def _page(checks: dict[str, Check]) -> Answer:
    found = {name: check() for name, check in checks.items()}
    lines = [f"{name}: {fault or 'ok'}\n" for name, fault in found.items()]
    return Answer(503 if any(found.values()) else 200, "".join(lines).encode() or b"ok\n")
