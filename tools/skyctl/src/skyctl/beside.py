"""The scheduler as a process of its own, beside a cluster of ours."""

import sys
from pathlib import Path
from typing import Final

import trio

from sky_control_plane import Server
from skyctl.terminal import tell

_LOOK_SECONDS: Final = 0.2
_WORDS_MAX: Final = 2000


async def with_scheduler(kubeconfig: Path, log: Path, stop: trio.Event) -> int:
    """Let the scheduler run as a process of its own until it is to end; 1 if it ends before, after telling why."""
    command = [sys.executable, "-m", "sky_scheduler", "--kubeconfig", str(kubeconfig), "--bind", "127.0.0.1:0"]
    scheduler = Server("sky-scheduler", command, log)
    scheduler.start()  # in this thread, with which it dies
    try:
        while scheduler.running and not stop.is_set():
            with trio.move_on_after(_LOOK_SECONDS):
                await stop.wait()
        if scheduler.running:
            return 0
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(scheduler.stop)
    _tell_last(log)
    return 1


def _tell_last(log: Path) -> None:
    tell("the scheduler has ended. The last that it said:")
    for line in log.read_text(errors="replace")[-_WORDS_MAX:].splitlines():
        tell(line)
