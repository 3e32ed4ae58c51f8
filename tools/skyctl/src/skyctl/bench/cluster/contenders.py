"""Who races: each a process of its own, with what it took of the machine."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from sky_control_plane import ControlPlane, NotAtHandError, Server
from skyctl.bench.cluster.stand import SCHEDULER

OURS: Final = "sky-scheduler"
NULL: Final = "null"
PEER: Final = "kube-scheduler"

Command = Callable[[ControlPlane], list[str]]


class Contender(msgspec.Struct, frozen=True):
    """A scheduler: what its process is called with, and which name pods call it by."""

    name: str
    scheduler: str
    command: Command

    def is_there(self, plane: ControlPlane) -> bool:
        """Whether its program is at hand."""
        try:
            self.command(plane)
        except NotAtHandError:
            return False
        return True

    def start(self, plane: ControlPlane, folder: Path) -> "Runner":
        """Start its process; its log is in the folder."""
        server = Server(self.name, self.command(plane), folder / f"{self.name}.log")
        server.start()
        return Runner(server)


class Taken(msgspec.Struct, frozen=True):
    """What a process took: seconds of processor, and the most memory that it had at once, in bytes."""

    processor: float
    memory: int


class Runner:
    """A contender that runs."""

    def __init__(self, server: Server) -> None:
        """It has just been started."""
        self._server = server

    def check(self) -> None:
        """Nothing, while it runs.

        Raises:
            ServerError: It has ended; with the end of its log.
        """
        if not self._server.running:
            self._server.wait_until(lambda: False, 1)

    def taken(self) -> Taken:
        """So far."""
        proc = Path(f"/proc/{self._server.pid}")
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        ticks = int(fields[11]) + int(fields[12])
        peak = next(line for line in (proc / "status").read_text().splitlines() if line.startswith("VmHWM:"))
        return Taken(processor=ticks / os.sysconf("SC_CLK_TCK"), memory=int(peak.split()[1]) * 1024)

    def stop(self) -> None:
        """Let it end in good order, so that a Lease is given back."""
        self._server.stop(patience=15)


def _python(module: str, *words: str, told: Path | None = None) -> Command:
    def of(plane: ControlPlane) -> list[str]:
        access = ["--kubeconfig", str(plane.kubeconfig(SCHEDULER.name))]
        return [sys.executable, "-m", module, *([] if told is None else [str(told)]), *access, *words]

    return of


def _peer(plane: ControlPlane) -> list[str]:
    # Its own limits of fifty requests a second would be all that is measured.
    return [*plane.command(PEER), "--kube-api-qps=5000", "--kube-api-burst=5000"]


def sampled(told: Path) -> Contender:
    """Ours, which writes into this file where its time goes."""
    return Contender(OURS, OURS, _python("skyctl.bench.cluster.sampled", "--bind", "127.0.0.1:0", told=told))


CONTENDERS: Final = (
    Contender(OURS, OURS, _python("sky_scheduler", "--bind", "127.0.0.1:0")),
    Contender(NULL, OURS, _python("skyctl.bench.cluster.null")),
    Contender(PEER, "default-scheduler", _peer),
)
