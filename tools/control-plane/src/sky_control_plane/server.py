"""One program of the control plane as a process."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

_POLL: Final = 0.05
_STOP: Final = 5.0
_UNLESS_ORPHANED: Final = '[ "$PPID" = "$0" ] && exec "$@"'  # who died before setpriv ran sends no signal


class ServerError(Exception):
    """A server ended, or was not ready in time; with the end of its log."""


class Server:
    """A program with its log. It dies with the thread that started it, where the system has setpriv."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        """Nothing is started yet."""
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether there is a process, be it paused."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the process that was started last; 0 if none was."""
        return 0 if self._process is None else self._process.pid

    def start(self, *flags: str) -> None:
        """Start it, with further flags this time; what it says is added to its log."""
        setpriv = shutil.which("setpriv")
        guard = [setpriv, "--pdeathsig=KILL", "sh", "-c", _UNLESS_ORPHANED, str(os.getpid())] if setpriv else []
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*guard, *self.command, *flags],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # else Ctrl-C in a terminal would reach it before us
            )

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal; SIGSTOP pauses it, SIGCONT lets it go on."""
        if self.running and self._process is not None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End it at once, paused or not."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def stop(self, patience: float = _STOP) -> None:
        """Ask it to end, and end it when `patience` seconds are over."""
        self.signal(signal.SIGTERM)
        try:
            if self._process is not None:
                self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()

    def wait_until(self, ready: Callable[[], bool], patience: float) -> None:
        """Wait until a question about it is answered with yes.

        Raises:
            ServerError: It ended before, or `patience` seconds were over.
        """
        for _ in range(round(patience / _POLL)):
            if ready():
                return
            try:
                if self._process is not None:
                    self._process.wait(_POLL)
                raise ServerError(f"{self.name} ended: {self._last_words()}")
            except subprocess.TimeoutExpired:
                continue
        raise ServerError(f"{self.name} was not ready after {patience} s: {self._last_words()}")

    def _last_words(self) -> str:
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
