"""The first thing that people see, as they see it: a command, with a terminal or without."""

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skyctl.command_line import status

ROOT = Path(__file__).parents[2]
BINARIES = Path(sys.executable).parent
SKYCTL = str(BINARIES / "skyctl")
PATIENCE = 120


def told(folder: Path) -> str:
    """What the demo prints there where nobody sits at a terminal."""
    settings = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(
        [SKYCTL, "demo"], cwd=folder, env=settings, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def shown() -> str:
    """What it prints in a checkout."""
    return told(ROOT)


def test_the_gang_is_seen_behind_its_switch_rank_by_rank(shown: str) -> None:
    assert [f"  n{n}  a.......  default/worker-{n}\n" in shown for n in range(4)] == [True] * 4
    assert all(f"default/worker-{n}  ->  q-train-{n}  ->  n{n}\n" in shown for n in range(4))


def test_the_other_job_says_why_it_waits_and_with_which_numbers(shown: str) -> None:
    (said,) = re.findall(
        r"default/big  Inqueue, 0 of 6 pods placed, stopped at AllocateZone\n(.*?)\n\n", shown, re.DOTALL
    )
    assert "TopologyZoneInsufficient" in said
    assert "4 of 6" in said


def test_the_picture_fits_into_eighty_columns(shown: str) -> None:
    assert max(len(line) for line in shown.partition("\ntry next")[0].splitlines()) <= 80
    assert "\x1b" not in shown


def test_every_simulation_that_it_names_works(shown: str, tmp_path: Path) -> None:
    commands = [line.strip() for line in shown.splitlines() if " simulate " in line]
    assert len(commands) == 3
    for command in commands:
        into = command.replace("> demo.html", f"> {shlex.quote(str(tmp_path / 'demo.html'))}")
        done = subprocess.run(["/bin/sh", "-c", into], cwd=ROOT, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b""), command
    assert (tmp_path / "demo.html").read_text().startswith("<!doctype html>")


def test_it_tells_the_same_every_time_and_needs_no_checkout(shown: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert told(tmp_path / "empty").partition("\ntry next")[0] == shown.partition("\ntry next")[0]
    assert list((tmp_path / "empty").iterdir()) == []


def test_its_objects_can_be_simulated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert status(["demo", "--manifests"]) == 0
    (tmp_path / "f.yaml").write_text(capsys.readouterr().out)
    assert status(["simulate", str(tmp_path / "f.yaml"), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["pods"]["default/worker-0"]["node"] == "n0"


class Terminal:
    """A terminal of its own, and what the demo shows on it."""

    def __init__(self, screen: int) -> None:
        self.shown = ""
        self._screen = screen

    def shows(self, what: str) -> None:
        """Wait for it."""
        until = time.monotonic() + PATIENCE
        while what not in self.shown:
            assert select.select([self._screen], [], [], until - time.monotonic())[0], self.shown
            self.shown += os.read(self._screen, 1 << 16).decode().replace("\r\n", "\n")

    def type(self, keys: bytes) -> None:
        os.write(self._screen, keys)


@contextmanager
def at_a_terminal(folder: Path) -> Iterator[tuple[Terminal, subprocess.Popen[bytes]]]:
    screen, keyboard = os.openpty()
    environment = {**os.environ, "TMPDIR": str(folder), "NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "80"}
    command = ["setsid", "--ctty", SKYCTL, "demo"]
    with subprocess.Popen(command, stdin=keyboard, stdout=keyboard, stderr=keyboard, env=environment) as process:
        os.close(keyboard)
        try:
            yield Terminal(screen), process
        finally:
            process.kill()
    os.close(screen)


@pytest.mark.parametrize("end", ["ctrl-c", "sigterm"])
def test_on_a_terminal_it_stays_until_it_is_told_to_end_and_leaves_nothing(end: str, tmp_path: Path) -> None:
    with at_a_terminal(tmp_path) as (terminal, process):
        terminal.shows("--watch\n")
        assert process.poll() is None
        if end == "ctrl-c":
            terminal.type(b"\x03")
        else:
            process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    assert list(tmp_path.iterdir()) == []


def test_on_a_terminal_the_commands_that_it_names_work_with_kubectl(tmp_path: Path) -> None:
    with at_a_terminal(tmp_path) as (terminal, process):
        terminal.shows("--watch\n")
        export, *commands = terminal.shown.partition("in another terminal:\n")[2].splitlines()
        assert export.startswith(f"  export KUBECONFIG={tmp_path}/")
        environment = {**os.environ, "PATH": f"{BINARIES}:{os.environ['PATH']}", "HOME": str(tmp_path / "home")}

        def run(command: str) -> str:
            done = subprocess.run(
                ["/bin/sh", "-c", f"{export}\n{command}"],
                cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}: {done.stderr}"
            return done.stdout

        *asked, watch = commands
        quotas, pods, described, _ = map(run, asked)
        assert re.search(r"q-train-0 +default +n0 +QuotaBound +1 +1 ", quotas)
        assert re.search(r"worker-3 .* Running .* n3 ", pods)
        assert "TopologyZoneInsufficient" in described
        assert "FailedScheduling" in described
        assert watch.endswith("get pods -o wide --watch")
        kubectl = watch.split()[0]
        run(f"{kubectl} wait --for=jsonpath='{{.status.phase}}'=Running pod --all --timeout=60s")
        nodes = run(f"{kubectl} get pods -o jsonpath='{{.items[*].spec.nodeName}}'").split()
        assert sorted(nodes[:6]) == ["n0", "n1", "n2", "n3", "n4", "n5"]  # as preferred, big takes both switches
        terminal.type(b"\x03")
        assert process.wait(PATIENCE) == 0
