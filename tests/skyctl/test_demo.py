"""The first thing that people see."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from skyctl.command_line import status

ROOT = Path(__file__).parents[2]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What the demo prints in a checkout, called from its environment."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).with_name("skyctl"))])
    monkeypatch.chdir(ROOT)
    assert status(["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_gang_is_seen_behind_its_switch_rank_by_rank(shown: str) -> None:
    assert [f"  n{n}  a.......  default/worker-{n}\n" in shown for n in range(4)] == [True] * 4
    assert all(f"default/worker-{n}  ->  q-train-{n}  ->  n{n}\n" in shown for n in range(4))


def test_the_other_job_says_why_it_waits_and_with_which_numbers(shown: str) -> None:
    (said,) = re.findall(
        r"default/big  Inqueue, 0 of 6 pods placed, stopped at AllocateZone\n(.*?)\n\n", shown, re.DOTALL
    )
    assert "TopologyZoneInsufficient" in said
    assert "4 of 6" in said


def test_every_command_that_it_names_works(shown: str, tmp_path: Path) -> None:
    commands = [line.strip() for line in shown.splitlines() if "skyctl simulate" in line]
    assert len(commands) >= 7
    for command in commands:
        into = command.replace("> demo.html", f"> {shlex.quote(str(tmp_path / 'demo.html'))}")
        done = subprocess.run(["/bin/sh", "-c", into], cwd=ROOT, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b""), command
    assert (tmp_path / "demo.html").read_text().startswith("<!doctype html>")


def test_it_tells_the_same_every_time_and_needs_no_checkout(
    shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status(["demo"]) == 0
    assert shown.startswith(capsys.readouterr().out.rstrip())


def test_its_objects_can_be_simulated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert status(["demo", "--manifests"]) == 0
    (tmp_path / "f.yaml").write_text(capsys.readouterr().out)
    assert status(["simulate", str(tmp_path / "f.yaml"), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["pods"]["default/worker-0"]["node"] == "n0"
