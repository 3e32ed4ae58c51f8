"""`skyctl simulate`."""

from typing import Annotated, Literal

from cyclopts import Parameter

from skyctl.faults import UsageError
from skyctl.manifests import load
from skyctl.terminal import tell


def simulate(
    *paths: str,
    config: str | None = None,
    cycles: int = 100,
    now: str | None = None,
    output: Annotated[Literal["table", "json", "html"], Parameter(name=["--output", "-o"])] = "table",
) -> int:
    """Run the core on the objects in these files; the exit status."""
    if not paths:
        raise UsageError("simulate needs at least one file or folder, or - for standard input")
    if cycles < 1:
        raise UsageError(f"--cycles is {cycles} and must be at least 1")
    given = load(paths)
    for line in given.skipped:
        tell(line)
    print(len(given.objects), config, now, output)
    return 0
