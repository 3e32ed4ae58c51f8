"""What a flight recorder wrote down at work is recomputed byte for byte, and by another configuration."""

import gzip
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from sky_core.testing.objects import GPU, SPOT, group, node, pod, quota
from sky_sandbox.faults import Fault
from sky_sandbox.sandbox import Sandbox
from sky_scheduler.configuration import Configured
from sky_scheduler.recorder import Recorder
from sky_scheduler.testing.stage import Stage
from sky_shell.reading.places import File
from skyctl.command_line import status

Object = dict[str, Any]
ALL = {GPU: "8"}
HEAD = "apiVersion: config.scheduling.infini-ai.com/v1alpha1\nkind: SchedulerConfiguration\n"


async def work(stage: Stage, sandbox: Sandbox, recorder: Recorder, text: str = "") -> None:
    """A gang starts, a write conflicts, spot pods make room, what ends gives back, a back-off grows."""
    configured = Configured.by(File("c", HEAD + text)) if text else Configured.by_default()
    player = stage.scheduler(recorder=recorder, configured=configured)
    room = {"cpu": "64", "pods": "110", GPU: "8", SPOT: "8"}
    machines = [node(f"n{i}", room, notes={"spot-pools": '{"exclusive": 8}'}) for i in range(2)]
    await stage.apply(*machines, *(quota(f"q{i}", ALL) for i in range(3)))
    await stage.apply(*(pod(f"s{i}", {SPOT: "1"}, notes={"spot-pool": "exclusive"}) for i in range(8)))
    await stage.until_running(*(f"s{i}" for i in range(8)))
    sandbox.faults.add(Fault(resource="quotas.scheduling.infini-ai.com/status", status=409))
    await stage.apply(group("w", 2), *(pod(f"w-{i}", {GPU: "6"}, group="w") for i in range(2)))
    await stage.apply(group("late", 3), *(pod(f"late-{i}", ALL, group="late") for i in range(3)))
    await stage.until_running("w-0", "w-1")
    await stage.delete("Pod", "w-0")
    await trio.sleep(40)
    await player.stop()
    assert player.error is None


def files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.iterdir())


async def test_every_recorded_cycle_comes_out_as_it_did(
    tmp_path: Path, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    await work(stage, sandbox, Recorder(tmp_path))
    (file,) = files(tmp_path)
    assert status(["replay", file]) == 0
    said = capfdbinary.readouterr().out.decode().splitlines()[-1]
    cycles = int(said.partition(": ")[2].partition(" ")[0])
    assert cycles > 40
    assert said == f"{file}: {cycles} cycles, none otherwise"


async def test_files_are_bounded_and_each_is_read_alone(
    tmp_path: Path, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    await work(
        stage,
        sandbox,
        Recorder(tmp_path, bytes_max=8 << 10, files_max=3),
        "period: 500ms",
    )
    written = files(tmp_path)
    assert len(written) == 3
    assert all(Path(file).stat().st_size < 32 << 10 for file in written)
    assert [status(["replay", file]) for file in written] == [0, 0, 0]
    alone = capfdbinary.readouterr().out.splitlines()[-3:]
    assert status(["replay", str(tmp_path)]) == 0
    assert capfdbinary.readouterr().out.splitlines() == alone


async def test_another_configuration_shows_what_it_would_have_changed(
    tmp_path: Path, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    await work(stage, sandbox, Recorder(tmp_path / "flights"))
    (file,) = files(tmp_path / "flights")
    other = tmp_path / "other.yaml"
    other.write_text(HEAD + "schedulerName: another")
    assert status(["replay", file, "--config", str(other)]) == 0
    said = capfdbinary.readouterr().out.decode()
    assert "  - pod default/w-1 to n" in said
    assert "none otherwise" not in said


async def test_a_file_that_a_crash_cut_off_is_good_up_to_there(
    tmp_path: Path, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    await work(stage, sandbox, Recorder(tmp_path))
    (file,) = files(tmp_path)
    Path(file).write_bytes(Path(file).read_bytes()[:-10])
    assert status(["replay", file]) == 0
    said = capfdbinary.readouterr()
    assert "was cut off after line" in said.err.decode()
    assert "none otherwise" in said.out.decode()


async def test_a_cycle_that_was_recorded_otherwise_is_a_defect(
    tmp_path: Path, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    await work(stage, sandbox, Recorder(tmp_path))
    (file,) = files(tmp_path)
    lines = gzip.decompress(Path(file).read_bytes()).replace(b'"node":"n1"', b'"node":"n0"')
    Path(file).write_bytes(gzip.compress(lines))
    assert status(["replay", file]) == 3
    assert "  + pod default/" in capfdbinary.readouterr().out.decode()


@pytest.mark.parametrize("content", [b"", b"no gzip", gzip.compress(b"{}\n"), gzip.compress(b"[\n")])
def test_what_is_no_file_of_the_recorder_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "flight.jsonl.gz"
    file.write_bytes(content)
    assert status(["replay", str(file)]) == 1
    assert status(["replay", str(tmp_path)]) == 1
    assert status(["replay", str(tmp_path / "none")]) == 1
    assert status(["replay"]) == 2


def test_a_folder_without_recordings_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert status(["replay", str(tmp_path)]) == 1
    assert f"the folder {tmp_path} has no file of the flight recorder" in capfd.readouterr().err


async def test_a_disk_that_fails_ends_the_recording_and_nothing_else(
    tmp_path: Path, stage: Stage, sandbox: Sandbox, autojump_clock: MockClock
) -> None:
    folder = tmp_path / "folder"
    folder.write_text("is a file")
    await work(stage, sandbox, Recorder(folder))
