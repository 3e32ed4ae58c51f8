"""The command line: simulate's, and which control plane it is to be played on."""

import sys
from collections.abc import Sequence
from pathlib import Path

import trio
from cyclopts import App
from trio.testing import MockClock

from rehearsal.grounds import RefusedError
from rehearsal.memory import in_memory
from rehearsal.play import played
from sky_core.model import Instant
from sky_core.simulation.report import Report
from sky_core.simulation.run import latest
from sky_scheduler.configuration import Configured
from sky_shell.reading.places import InputError
from skyctl.command_line import called, guarded
from skyctl.faults import UsageError
from skyctl.files import read
from skyctl.manifests import Manifests, load
from skyctl.simulate import Asked, beginning, shown


def main() -> None:
    """Run the command line of this process, and end it."""
    sys.exit(status(sys.argv[1:]))


def status(words: Sequence[str]) -> int:
    """The exit status of a command line, as of `skyctl simulate`."""
    return guarded(_run, words)


def _run(words: Sequence[str]) -> int:
    app = App(name="rehearse", help_flags=[], version_flags=[])
    app.default(rehearse)
    return called(app, words)


def rehearse(
    *paths: str,
    config: str | None = None,
    cycles: int = 100,
    now: str | None = None,
    output: Asked = "table",
    administrator: Path | None = None,
    scheduler: Path | None = None,
) -> int:
    """Play what is in these files, and print what came of it; the exit status.

    With the kubeconfigs of its administrator and of the scheduler it is played on a control plane, else in memory.

    Raises:
        UsageError: The command line makes no sense.
        InputError: A file can't be used, or the control plane does not take what is in it.
    """
    start = beginning(paths, cycles, now)
    if (administrator is None) != (scheduler is None):
        raise UsageError("--administrator and --scheduler go together")
    configured = Configured.by(read(config)) if config is not None else Configured.by_default()
    given = load(paths)
    if administrator is not None and scheduler is not None:
        report = trio.run(_on_plane, administrator, scheduler, given, configured, cycles)
    else:
        start = latest(given.objects) if start is None else start
        report = trio.run(_in_memory, start, given, configured, cycles, clock=MockClock(autojump_threshold=0))
    if isinstance(report, RefusedError):
        raise InputError(str(report))
    return shown(report, configured.policy.settings, given.skipped, output)


async def _in_memory(start: Instant, given: Manifests, configured: Configured, cycles: int) -> Report | RefusedError:
    async with in_memory(start, configured.policy.settings.period) as grounds:
        return await played(grounds, given.objects, given.events, configured, cycles)


async def _on_plane(
    administrator: Path, scheduler: Path, given: Manifests, configured: Configured, cycles: int
) -> Report | RefusedError:
    from rehearsal.plane import on_plane  # noqa: PLC0415  it takes a second to import

    async with on_plane(administrator, scheduler) as grounds:
        return await played(grounds, given.objects, given.events, configured, cycles)
