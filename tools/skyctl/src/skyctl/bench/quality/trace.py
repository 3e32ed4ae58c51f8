"""Jobs as they come: made up after the statistics of a cluster for large models, or read from published traces."""

import csv
import gzip
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from sky_shell.reading.places import InputError

DAY: Final = 86_400.0
SIZES: Final = {
    1: 0.52, 2: 0.05, 4: 0.06, 8: 0.16, 16: 0.06, 32: 0.05, 64: 0.04, 128: 0.03, 256: 0.02, 512: 0.007, 1024: 0.003
}  # fmt: skip
"""How many jobs of Kalos ask for how many cards, as a share: median 1, mean 27, largest 1,024 (AcmeTrace)."""
MEDIAN: Final = 124.0
MEAN: Final = 1_260.0
"""Seconds that its jobs run."""


class Job(msgspec.Struct, frozen=True):
    """One job: it comes at `at`, and once placed lasts so long (seconds)."""

    at: float
    lasts: float
    cards: int


def kalos(count: int, *, cards: int, load: float, seed: int) -> Iterator[Job]:
    """Jobs like those of Kalos, of which so many come that a cluster of `cards` cards has `load` to do."""
    dice = Random(seed)  # noqa: S311  a workload, no secret
    sizes, shares = list(SIZES), list(SIZES.values())
    mean = sum(size * share for size, share in SIZES.items()) / sum(shares)
    sigma, at = math.sqrt(2 * math.log(MEAN / MEDIAN)), 0.0
    for _ in range(count):
        at += dice.expovariate(load * cards / (mean * MEAN))
        lasts = min(dice.lognormvariate(math.log(MEDIAN), sigma), DAY)
        yield Job(at, lasts, dice.choices(sizes, shares)[0])


def philly(path: Path, count: int) -> list[Job]:
    """The first jobs of Philly's trace: a CSV file, compressed or not, with timestamp, duration and num_gpus.

    Raises:
        InputError: It is none.
    """
    jobs = []
    for line, row in enumerate(rows(path), 2):
        try:
            at = datetime.fromisoformat(row["timestamp"]).timestamp()  # of no time zone: only differences count
            jobs.append(Job(at, float(row["duration"]), int(row["num_gpus"])))
        except (KeyError, TypeError, ValueError) as error:
            raise wrong(path, line, error) from None
    if not jobs:
        raise InputError(f"{path}: no job in it")
    jobs.sort(key=lambda job: job.at)
    return [Job(job.at - jobs[0].at, job.lasts, job.cards) for job in jobs[:count]]


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file, compressed or not, by the names in its head.

    Raises:
        InputError: There is no such file.
    """
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
            yield from csv.DictReader(file)
    except (OSError, UnicodeDecodeError, EOFError, csv.Error) as error:
        raise InputError(f"{path} can't be read: {error}") from None


def wrong(path: Path, line: int, error: Exception) -> InputError:
    """The error that says which line is no line of the trace."""
    return InputError(f"{path}, line {line}: not what this trace has: {error!r}")
