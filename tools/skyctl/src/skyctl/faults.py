"""How a command ends that doesn't do what it was asked to."""

from typing import Final

BROKEN: Final = 3
"""The exit status that means a defect of ours."""


class UsageError(Exception):
    """The command line makes no sense: what is wrong with it. Ends the command with status 2."""
