"""The flight recorder: files from which every cycle can be recomputed (`sky_core.logbook`), so many and no larger.

A file is gzipped JSON, one page a line: `zcat` shows it, `skyctl replay` recomputes it. It begins with how things
stood, so each can be read alone. One that a crash cut off is good up to its last whole line.
"""

import gzip
from pathlib import Path
from typing import Final

import structlog

from sky_core.api.identity import Key
from sky_core.course import Changes, Course, Told
from sky_core.cycle import Outcome
from sky_core.logbook import Page, encoder, entry, opened
from sky_core.model import Instant

BYTES_MAX: Final = 64 << 20
"""After which a file is followed by the next."""
FILES_MAX: Final = 8
SUFFIX: Final = ".jsonl.gz"

_log = structlog.get_logger(__name__)


class Recorder:
    """Writes down cycle after cycle. A disk that fails ends the recording and nothing else."""

    def __init__(self, folder: Path, *, bytes_max: int = BYTES_MAX, files_max: int = FILES_MAX) -> None:
        """`folder` is made where it is missing."""
        self._folder = folder
        self._bytes_max = bytes_max
        self._files_max = files_max
        self._told: dict[Key, Told] = {}
        self._path: Path | None = None
        self._epoch = 0
        self._number = 0
        self._size = 0

    def learn(self, changes: Changes) -> None:
        """Keep the objects as they are: the next file begins with them."""
        for key in changes.gone:
            self._told.pop(key, None)
        for told in changes.objects:
            self._told[told.key] = told

    def forget(self) -> None:
        """Nothing is known any more, and nothing is written until a file is opened again."""
        self._told.clear()
        self._path = None

    def open(self, epoch: int, course: Course, configuration: str) -> None:
        """Begin a file, between two cycles; epochs only grow, so names in their order are files in order of time."""
        self._epoch = epoch
        self._open(course, configuration)

    def write(self, course: Course, configuration: str, changes: Changes, now: Instant, outcome: Outcome) -> None:
        """Write down a cycle; what it decided is assumed by now."""
        self.learn(changes)
        if self._path is None:
            return
        self._append(entry(changes, now, outcome))
        if self._size > self._bytes_max:
            self._open(course, configuration)

    def _open(self, course: Course, configuration: str) -> None:
        self._number += 1
        self._path = self._folder / f"flight-{self._epoch:010d}-{self._number:06d}{SUFFIX}"
        self._size = 0
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            files = sorted(self._folder.glob(f"flight-*{SUFFIX}"))
            for old in files[: max(len(files) + 1 - self._files_max, 0)]:
                old.unlink()
        except OSError as error:
            self._give_up(error)
        self._append(opened(course, configuration, self._told.values()))

    def _append(self, page: Page) -> None:
        if self._path is None:
            return
        packed = gzip.compress(encoder.encode(page) + b"\n", compresslevel=1, mtime=0)
        try:
            with self._path.open("ab") as file:
                file.write(packed)
        except OSError as error:
            self._give_up(error)
        self._size += len(packed)

    def _give_up(self, error: OSError) -> None:
        _log.error("Flight recorder stopped", path=str(self._path), error=str(error))
        self._path = None
