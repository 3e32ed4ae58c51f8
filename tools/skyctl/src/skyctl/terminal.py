"""What people see beside the answer: one line at a time, on standard error."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_UNPRINTABLE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)


def plain(text: str) -> str:
    """Text of unknown origin, safe on a terminal and on one line.

    What could move a cursor, hide, or turn a line around is escaped, as Python writes it.
    """
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


def tell(message: str) -> None:
    """Say one thing on standard error, unless the caller closed it."""
    if sys.stderr is not None:
        print(f"skyctl: {plain(message)}", file=sys.stderr)


def answer(text: str) -> None:
    """Print what was asked for: as UTF-8 wherever it goes, but for a terminal that reads something else."""
    if sys.stdout is None:  # closed by the caller
        return
    encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode(encoding, "backslashreplace"))
    sys.stdout.buffer.flush()


def discard() -> None:
    """Let what could not be written go: else Python tries once more at its end, and complains."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line that says what is going on, for as long as it is; nothing where nobody sits at a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console  # noqa: PLC0415  rich takes a while to import
    from rich.text import Text  # noqa: PLC0415

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(plain(text)))
