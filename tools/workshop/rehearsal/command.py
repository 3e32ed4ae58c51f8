"""The command line: simulate's, and which control plane it is to be played on."""

import sys
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App

from rehearsal.refusal import RefusedError
from sky_core.simulation.run import latest
from sky_scheduler.configuration import Configured
from sky_shell.reading.places import InputError
from skyctl.command_line import called, guarded
from skyctl.faults import UsageError
from skyctl.files import read
from skyctl.manifests import load
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
    from rehearsal.places import in_memory, on_plane  # noqa: PLC0415  all that takes long to import

    if administrator is not None and scheduler is not None:
        report = on_plane(administrator, scheduler, given, configured, cycles)
    else:
        report = in_memory(latest(given.objects) if start is None else start, given, configured, cycles)
    if isinstance(report, RefusedError):
        raise InputError(str(report))
    return shown(report, configured.policy.settings, given.skipped, output)
