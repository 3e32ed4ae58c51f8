"""What goes wrong with what people bring along. Messages quote their text as it is: whoever shows it makes it safe."""

from typing import Final, NamedTuple

BROKEN: Final = 3
"""The exit status that means a defect of ours."""


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
    """An input can't be used: where it is, what is wrong, what to do. Ends the command with status 1."""


class UsageError(Exception):
    """The command line makes no sense: what is wrong with it. Ends the command with status 2."""
