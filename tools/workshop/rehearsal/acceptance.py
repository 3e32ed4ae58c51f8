"""The acceptance cases, run on a rehearsal: in this process, since a case takes less time than its command to start."""

import importlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from rehearsal.command import status

FOLDER: Final = Path(__file__).parents[4] / "shared" / "cases"
PROGRAM: Final = Path(__file__).parents[1] / "rehearse.py"
_SEED: Final = "PYTHONHASHSEED"


class InProcess:
    """Stands in for `subprocess` where the cases run the command.

    Only who asks for another hash seed than ours gets a process.
    """

    CompletedProcess = subprocess.CompletedProcess

    def __init__(self, command: Sequence[str]) -> None:
        """The words that stand for the command itself."""
        self._command = command

    def run(self, words: Sequence[str], *, env: Mapping[str, str], **how: Any) -> subprocess.CompletedProcess[str]:
        """What the command says to the words after it."""
        if env.get(_SEED) != os.environ.get(_SEED):
            return subprocess.run(words, env=env, check=False, **how)
        said, told = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with redirect_stdout(said), redirect_stderr(told):
            done = status(words[_program(words) + 1 :])
        said.flush()
        assert isinstance(said.buffer, io.BytesIO)  # noqa: S101
        return subprocess.CompletedProcess(words, done, said.buffer.getvalue().decode(), told.getvalue())


def names() -> list[str]:
    """Of all cases; none where they are not at hand."""
    if not FOLDER.exists():
        return []
    with _modules() as (_, cases):
        return [case.__name__ for case in cases.CASES]


@contextmanager
def cases(*options: str) -> Iterator[Mapping[str, Callable[[], None]]]:
    """The cases by name, each a function that raises where it fails; the options come before all that a case says."""
    with _modules() as (kit, found):
        command = [sys.executable, str(PROGRAM), *options]
        kit.__dict__.update(COMMAND=command, subprocess=InProcess(command))
        yield {case.__name__: case for case in found.CASES}


@contextmanager
def _modules() -> Iterator[tuple[ModuleType, ModuleType]]:
    """The modules `kit` and `cases`, of which nothing is left afterwards, in their folder neither."""
    wrote, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("kit"), importlib.import_module("cases")
    finally:
        sys.path.remove(str(FOLDER))
        sys.dont_write_bytecode = wrote
        for name in ("kit", "cases"):
            sys.modules.pop(name, None)


def _program(words: Sequence[str]) -> int:
    return words.index(str(PROGRAM))
