"""A slurmctld of its own, in a folder that is thrown away."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Final

import slurm_texts as texts

PROGRAMS: Final = ("slurmctld", "sbatch", "scontrol", "scancel")
SECONDS: Final = 900.0
"""For whatever is waited for."""


class Slurm:
    """A controller that runs, with all its jobs held back until they are released together."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        """As `running` started it."""
        self._log = folder / "log"
        self._environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self._process = process

    def submit(self, count: int, options: Sequence[str]) -> None:
        """Submit so many jobs of one kind, which wait: an array, whose tasks Slurm places one by one."""
        self.ask("sbatch", "--output=/dev/null", f"--array=0-{count - 1}", *options, "--wrap=true")

    def release(self) -> float:
        """Let the waiting jobs be scheduled; at what processor time (milliseconds) the daemon was told so."""
        begun = self.processor_time()
        self.ask("scontrol", "update", "PartitionName=all", "State=UP")
        return begun

    def hold(self) -> None:
        """Start no more of them."""
        self.ask("scontrol", "update", "PartitionName=all", "State=DOWN")

    def allocated(self) -> dict[str, tuple[str, ...]]:
        """The nodes that each job has been given."""
        return texts.allocations(self._log.read_text(errors="replace"))

    def processor_time(self) -> float:
        """What the daemon has used of it, all threads together, in milliseconds."""
        clock = (~self._process.pid << 3) | 2  # Linux' number for the clock of another process
        return time.clock_gettime(clock) * 1000

    def answers(self) -> bool:
        """Whether it takes questions."""
        asked = [str(shutil.which("scontrol")), "ping"]
        done = subprocess.run(asked, env=self._environment, capture_output=True, text=True, timeout=60, check=False)
        return " UP" in done.stdout

    def ask(self, program: str, *words: str) -> str:
        """What one of Slurm's commands says.

        Raises:
            subprocess.CalledProcessError: It fails.
        """
        command = [str(shutil.which(program)), *words]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=SECONDS, check=True, cwd="/"
        )
        return done.stdout


def missing() -> list[str]:
    """Which of Slurm's programs are not here."""
    return [program for program in PROGRAMS if shutil.which(program) is None]


@contextmanager
def running(nodes: int, leaf: int) -> Iterator[Slurm]:
    """A controller of so many nodes; it is ended with the block."""
    with TemporaryDirectory(prefix="bench-slurm-") as name:
        folder = Path(name)
        for each in ("state", "spool"):
            (folder / each).mkdir()
        (folder / "slurm.conf").write_text(texts.configuration(folder, nodes, _port()))
        (folder / "topology.conf").write_text(texts.topology(nodes, leaf))
        program = [str(shutil.which("slurmctld")), "-D", "-c", "-f", str(folder / "slurm.conf")]
        with (folder / "out").open("wb") as out, subprocess.Popen(program, stdout=out, stderr=out) as process:
            try:
                slurm = Slurm(folder, process)
                wait(slurm.answers, "slurmctld to answer")
                yield slurm
            finally:
                process.kill()


def wait(for_: Callable[[], bool], what: str) -> None:
    """Ask until it is so.

    Raises:
        TimeoutError: It never was.
    """
    end, pause = time.monotonic() + SECONDS, Event()
    while not for_():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {SECONDS:.0f} s for {what}")
        pause.wait(0.02)


def _port() -> int:
    """The first of two that are free."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
