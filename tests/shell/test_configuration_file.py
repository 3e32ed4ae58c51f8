"""A configuration file that changes while a process runs."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from sky_core.model import SECOND
from sky_shell.configuration import BYTES_MAX, ConfigurationFile
from sky_shell.reading.places import File, InputError
from sky_shell.reading.policy import policy_in


def doubled(file: File) -> int:
    text = file.text
    if not text.strip().isdigit():
        raise InputError(f"line 1: {text.strip()!r} is no number")
    return 2 * int(text)


class Watched:
    """A file, what it was taken for, and what was wrong with it."""

    def __init__(self, path: Path) -> None:
        self.file = ConfigurationFile(path, doubled)
        self.taken: list[int] = []

    async def look(self) -> None:
        await self.file.look(self.taken.append)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "config.yaml").write_text("1")
    return tmp_path / "config.yaml"


async def test_a_file_is_read_when_the_process_starts(path: Path) -> None:
    assert await ConfigurationFile(path, doubled).load() == 2


async def test_f58_a_file_that_cannot_be_used_stops_the_start(path: Path) -> None:
    path.write_text("one")
    with pytest.raises(InputError, match="line 1: 'one' is no number"):
        await ConfigurationFile(path, doubled).load()
    path.unlink()
    with pytest.raises(InputError, match="No such file"):
        await ConfigurationFile(path, doubled).load()


async def test_f58_what_has_changed_is_taken_up_and_nothing_else(path: Path) -> None:
    watched = Watched(path)
    await watched.file.load()
    await watched.look()
    assert watched.taken == []
    path.write_text("2")
    await watched.look()
    assert watched.taken == [4]
    await watched.look()
    assert watched.taken == [4]


@pytest.mark.parametrize("content", [b"two", b"\xff", b"1" * (BYTES_MAX + 1)])
async def test_f58_what_cannot_be_used_changes_nothing(path: Path, content: bytes) -> None:
    watched = Watched(path)
    await watched.file.load()
    path.write_bytes(content)
    with capture_logs() as logs:
        await watched.look()
        await watched.look()
    assert watched.taken == []
    assert watched.file.fault is not None
    assert [log["event"] for log in logs] == ["Configuration not taken up"]
    path.write_text("3")
    await watched.look()
    assert watched.taken == [6]
    assert watched.file.fault is None


async def test_f58_a_file_that_is_put_back_as_it_was_is_no_fault_any_more(
    path: Path,
) -> None:
    watched = Watched(path)
    await watched.file.load()
    path.write_text("two")
    await watched.look()
    path.write_text("1")
    await watched.look()
    assert watched.file.fault is None
    assert watched.taken == []


async def test_f58_a_config_map_that_is_swapped_by_its_link_is_seen(tmp_path: Path) -> None:
    for name, content in (("first", "1"), ("second", "2")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(content)
    (tmp_path / "..data").symlink_to("first")
    (tmp_path / "config.yaml").symlink_to("..data/config.yaml")
    watched = Watched(tmp_path / "config.yaml")
    assert await watched.file.load() == 2
    (tmp_path / "..new").symlink_to("second")
    (tmp_path / "..new").rename(tmp_path / "..data")
    await watched.look()
    assert watched.taken == [4]


async def test_f58_the_place_of_what_is_refused_is_named(path: Path) -> None:
    kind = "apiVersion: config.scheduling.infini-ai.com/v1alpha1\nkind: SchedulerConfiguration\n"
    file = ConfigurationFile(path, policy_in)
    path.write_text(f"{kind}period: 2s\n")
    assert (await file.load()).settings.period == 2 * SECOND
    for wrong, place in (
        ("periods: 2s", "line 3, column 1"),
        ("plugins:\n- name: none", "line 4, column 3"),
        ("expressions:\n  qn.order: sum(", "line 4"),
        ("period: 1s\nperiod: 2s", "line 4"),
    ):
        path.write_text(f"{kind}{wrong}\n")
        with pytest.raises(InputError, match=f"config.yaml, .*{place}"):
            await file.load()
