"""What a simulation comes to, the scheduler's process comes to: every example, played by both, ends in the same way."""

import io
import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from rehearsal.command import status as rehearse
from skyctl.command_line import status as skyctl

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
NOW = "2026-01-01T00:00:00Z"


def said(command: Callable[[Sequence[str]], int], *words: str) -> dict[str, Any]:
    """What a command says of the end, but for when that was, and for numbers of reasons: only codes are told anew."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with redirect_stdout(output):
        assert command([*words, "--now", NOW, "-o", "json"]) == 0
    output.seek(0)
    found: dict[str, Any] = json.loads(output.read())
    del found["cycles"]
    for job in found["jobs"].values():
        job["reasons"] = [reason["code"] for reason in job["reasons"] if reason["code"] != "BackingOff"]
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_ends_in_the_same_way(example: Path) -> None:
    assert said(rehearse, str(example)) == said(skyctl, "simulate", str(example))
