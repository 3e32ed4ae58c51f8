"""The bytes of what people name on the command line: files, folders, standard input."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from sky_shell.reading.places import File, InputError

DASH: Final = "-"
STDIN: Final = "\0standard input"
"""What a dash stands for: no file has a NUL in its name."""
SUFFIXES: Final = (".json", ".yaml", ".yml")
BYTES_MAX: Final = 256 << 20
"""What one file may hold. A hundred thousand pods, as `kubectl get -o yaml` prints them, are less."""


def files(paths: Iterable[str]) -> Iterator[File]:
    """The files that are meant, one after the other; a folder stands for its own manifests, in the order of names.

    Raises:
        InputError: One can't be read, is too large, is not UTF-8 text, or a folder has no manifest.
    """
    for path in paths:
        if _is_folder(Path(path)):
            yield from (read(str(inner)) for inner in _manifests(Path(path)))
        else:
            yield read(path)


def read(path: str) -> File:
    """One file, or standard input.

    Raises:
        InputError: It can't be read, is too large, or is not UTF-8 text.
    """
    if path == STDIN:
        return File("standard input", _text("standard input", _standard_input()))
    try:
        with Path(path).open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(f"{path} can't be read: {_why(error)}. Check the path and its permissions") from None
    return File(path, _text(path, content))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # reading it will say why
        return False


def _manifests(folder: Path) -> list[Path]:
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"the folder {folder!s} can't be read: {_why(error)}") from None
    found = [path for path in inside if path.suffix in SUFFIXES and not _is_folder(path)]
    if not found:
        suffixes = ", ".join(f"*{suffix}" for suffix in SUFFIXES)
        what = f"the folder {folder!s} has no {suffixes}; folders inside of it are not searched, name them"
        raise InputError(what)
    return found


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise InputError("standard input is closed; name a file, or pipe manifests into the command")
    try:
        return sys.stdin.buffer.read(BYTES_MAX + 1)
    except OSError as error:
        raise InputError(f"standard input can't be read: {_why(error)}") from None


def _text(name: str, content: bytes) -> str:
    if len(content) > BYTES_MAX:
        raise InputError(f"{name} has more than {BYTES_MAX >> 20} MiB; split it into several files")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"{name}, line {line}: byte {content[error.start]:#04x} is not UTF-8; manifests are UTF-8 text"
        raise InputError(what) from None


def _why(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
