"""How a process ends: gracefully within ten seconds of the first signal, at once on the second."""

import os
import signal
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
import trio

GRACE_SECONDS: Final = 10.0

_log = structlog.get_logger(__name__)


async def until_signal(work: Callable[[trio.Event], Awaitable[None]], grace: float = GRACE_SECONDS) -> None:
    """Do this until it ends. SIGTERM and SIGINT set its event; after a grace it is cancelled.

    A second signal ends the process with the status that the signal means, and nothing more is done.
    """
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(_heed, stop, nursery.cancel_scope, grace)
        await work(stop)
        nursery.cancel_scope.cancel()


async def _heed(
    stop: trio.Event,
    scope: trio.CancelScope,
    grace: float,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
        task_status.started()
        async for number in received:
            if stop.is_set():
                os._exit(128 + number)
            _log.info("Stopping", signal=signal.Signals(number).name)
            stop.set()
            scope.deadline = trio.current_time() + grace
