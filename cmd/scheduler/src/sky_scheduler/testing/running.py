"""The scheduler as a process of its own, and what it says."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from signal import SIGTERM, Signals
from types import TracebackType
from typing import Any, Final, Self

STOPPING: Final = 15.0
"""Seconds within which it has ended: it stops within ten."""

_ADDRESS: Final = re.compile(r"Running on (http://[^ ]+)")


class Running:
    """A process that runs inside this context, and is killed after it."""

    def __init__(self, kubeconfig: Path, log: Path, *words: str) -> None:
        """Start it, with more words on its command line; what it says is added to the log."""
        command = [sys.executable, "-m", "sky_scheduler", "--kubeconfig", str(kubeconfig), "--bind", "127.0.0.1:0"]
        self.log = log
        with log.open("ab") as said:
            self._process = subprocess.Popen([*command, *words], stderr=said)

    def __enter__(self) -> Self:
        """It has started already."""
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        """Kill it, paused or not."""
        self._process.kill()
        self._process.wait()

    @property
    def status(self) -> int | None:
        """How it ended; None while it runs, be it paused."""
        return self._process.poll()

    @property
    def address(self) -> str:
        """Where it is asked how it is; empty until it listens."""
        found = _ADDRESS.search(self.log.read_text())
        return found[1] if found else ""

    def ask(self, page: str) -> tuple[int, str]:
        """What it says of itself: the HTTP status and the text of `/livez`, `/readyz` or `/metrics`."""
        return ask(self.address + page)

    def metric(self, name: str, **labels: str) -> float:
        """The value of a metric; 0 for one that is not there."""
        inside = ",".join(f'{label}="{value}"' for label, value in labels.items())
        series = f"{name}{{{inside}}} " if labels else f"{name} "
        lines = self.ask("/metrics")[1].splitlines()
        return sum(float(line.removeprefix(series)) for line in lines if line.startswith(series))

    def signal(self, number: Signals) -> None:
        """Send it a signal; SIGSTOP pauses it, SIGCONT lets it go on."""
        self._process.send_signal(number)

    def end(self, number: Signals = SIGTERM) -> int:
        """How it ends when it is told to."""
        self.signal(number)
        return self._process.wait(STOPPING)

    def wait(self) -> int:
        """How it ends by itself."""
        return self._process.wait()

    def said(self, message: str) -> list[dict[str, Any]]:
        """What it has logged under this message, oldest first."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["msg"] == message]


def ask(url: str) -> tuple[int, str]:
    """The HTTP status and the text of a page."""
    try:
        with urllib.request.urlopen(url, timeout=STOPPING) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()
