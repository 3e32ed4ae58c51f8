"""`skyctl simulate`: the core on objects in files, with no cluster."""

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Final, Literal

import msgspec
from cyclopts import Parameter

from sky_core.api.instants import instant
from sky_core.model import Instant
from sky_core.settings import Settings
from sky_core.simulation.report import Report
from sky_core.simulation.run import run
from skyctl.configuration import configured
from skyctl.faults import BROKEN, UsageError
from skyctl.manifests import load
from skyctl.terminal import answer, progress, tell


def simulate(
    *paths: str,
    config: str | None = None,
    cycles: int = 100,
    now: str | None = None,
    output: Annotated[Literal["table", "json", "html"], Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Simulate what is in these files, and print what came of it; the exit status.

    Raises:
        UsageError: The command line makes no sense.
        InputError: A file can't be used.
    """
    if not paths:
        raise UsageError("simulate needs at least one file or folder, or - for standard input")
    if cycles < 1:
        raise UsageError(f"--cycles is {cycles} and must be at least 1")
    start = None if now is None else _instant(now)
    policy = configured(config)
    with progress() as say:
        say("reading")
        given = load(paths)
        report = run(
            given.objects,
            given.events,
            policy,
            policy.settings,
            now=start,
            cycles=cycles,
            on_cycle=lambda number: say(f"cycle {number}"),
        )
    for line in (*given.skipped, *report.skipped):
        tell(line)
    answer(_FORMATS[output](report, policy.settings))
    return ended(report)


def ended(report: Report) -> int:
    """The exit status of a simulation, after telling which invariants it broke."""
    for violation in report.violations:
        tell(f"a defect of ours, please report it with these objects: {violation}")
    return BROKEN if report.violations else 0


def _instant(text: str) -> Instant:
    try:
        return instant(text)
    except ValueError as error:
        raise UsageError(f"--now: {error}") from None


def _json(report: Report, _: Settings) -> str:
    text = json.dumps(report.contract, sort_keys=True)
    return msgspec.json.format(text, indent=2) + "\n"


def _table(report: Report, settings: Settings) -> str:
    from skyctl.staging import staged  # noqa: PLC0415  programs, who ask for JSON, need none of this
    from skyctl.table import table  # noqa: PLC0415

    return table(staged(report, settings))


def _html(report: Report, settings: Settings) -> str:
    from skyctl.page import page  # noqa: PLC0415
    from skyctl.staging import staged  # noqa: PLC0415

    return page(staged(report, settings))


_FORMATS: Final[Mapping[str, Callable[[Report, Settings], str]]] = {"table": _table, "json": _json, "html": _html}
