"""`skyctl simulate`: the core on objects in files, with no cluster."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Final, Literal, TypeAlias

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

Output: TypeAlias = Literal["table", "json", "html"]
Asked: TypeAlias = Annotated[Output, Parameter(name=["--output", "-o"])]


def simulate(
    *paths: str,
    config: str | None = None,
    cycles: int = 100,
    now: str | None = None,
    output: Asked = "table",
) -> int:
    """Simulate what is in these files, and print what came of it; the exit status.

    Raises:
        UsageError: The command line makes no sense.
        InputError: A file can't be used.
    """
    start = beginning(paths, cycles, now)
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
    return shown(report, policy.settings, given.skipped, output)


def beginning(paths: Sequence[str], cycles: int, now: str | None) -> Instant | None:
    """When the first cycle runs; None: that depends on the objects.

    Raises:
        UsageError: The command line makes no sense.
    """
    if not paths:
        raise UsageError("simulate needs at least one file or folder, or - for standard input")
    if cycles < 1:
        raise UsageError(f"--cycles is {cycles} and must be at least 1")
    return None if now is None else _instant(now)


def shown(report: Report, settings: Settings, skipped: Sequence[str], output: Output) -> int:
    """Print what came of it; the exit status. `skipped`: what of the input is told to have been left out."""
    for line in (*skipped, *report.skipped):
        tell(line)
    answer(_FORMATS[output](report, settings))
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
