"""Where something is written, and what is wrong there.

Messages quote text as it is: whoever shows them makes it safe.
"""

from typing import NamedTuple


class Place(NamedTuple):
    """Where something is written. Documents, lines and columns count from 1, items of a list from 0."""

    file: str
    document: int | None = None
    line: int | None = None
    column: int | None = None
    item: int | None = None

    def __str__(self) -> str:
        """For people: `train.yaml, document 2, line 5`."""
        counted = zip(("document", "line", "column"), self[1:4], strict=True)
        parts = [self.file, *(f"{name} {at}" for name, at in counted if at is not None)]
        if self.item is not None:
            parts.append(f"items[{self.item}]")
        return ", ".join(parts)

    def wrong(self, what: str) -> "InputError":
        """The error that says what is wrong here."""
        return InputError(f"{self}: {what}")


class InputError(Exception):
    """An input can't be used: where it is, what is wrong, what to do."""


class File(NamedTuple):
    """A file as text. `name` is as it was given, for messages."""

    name: str
    text: str
