"""A file that is read again when it changes; what can't be used changes nothing."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, NoReturn, TypeVar

import structlog
import trio

from sky_shell.reading.places import File, InputError

INTERVAL: Final = 5.0
BYTES_MAX: Final = 1 << 20

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class ConfigurationFile(Generic[T]):
    """What a file says, for as long as it can be read.

    A mounted ConfigMap changes by a symlink that is swapped, so the file is opened anew each time, and read whole.

    Attributes:
        fault: Why the file as it is now is not in use; None if it is.
    """

    def __init__(self, path: Path, read: Callable[[File], T]) -> None:
        """`read` turns the file into what it means, or raises `InputError`."""
        self.fault: str | None = None
        self._path = path
        self._read = read
        self._digest = b""

    async def load(self) -> T:
        """What the file says now.

        Raises:
            InputError: It can't be read or used.
        """
        content = await trio.to_thread.run_sync(self._content)
        self._digest = hashlib.sha256(content).digest()
        try:
            return self._read(File(str(self._path), content.decode()))
        except UnicodeDecodeError as error:
            raise InputError(f"{self._path}: byte {error.start} is no UTF-8") from None

    async def watch(self, changed: Callable[[T], None]) -> NoReturn:
        """Look every few seconds."""
        while True:
            await trio.sleep(INTERVAL)
            await self.look(changed)

    async def look(self, changed: Callable[[T], None]) -> None:
        """Tell what the file says if that has changed since it was last in use, and can be used."""
        used = self._digest
        try:
            value = await self.load()
        except InputError as error:
            if self.fault != str(error):
                _log.error("Configuration not taken up", error=str(error))
            self.fault, self._digest = str(error), used
            return
        if self._digest != used:
            changed(value)
            _log.info("Configuration taken up", path=str(self._path))
        self.fault = None

    def _content(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                content = file.read(BYTES_MAX + 1)
        except OSError as error:
            raise InputError(f"{self._path} can't be read: {error.strerror or error}") from None
        if len(content) > BYTES_MAX:
            raise InputError(f"{self._path} has more than {BYTES_MAX >> 20} MiB")
        return content
