"""What the scheduler decides by, and the text that says so."""

import msgspec

from sky_core.cycle import default_policy
from sky_core.policy import Policy
from sky_core.settings import Settings
from sky_shell.reading.places import File
from sky_shell.reading.policy import policy_in


class Configured(msgspec.Struct, frozen=True):
    """A policy, and the text of the file that it was made from; empty: none, everything has its default.

    A defect of ours fails a job's attempt under it, and no cycle.
    """

    text: str
    policy: Policy

    @classmethod
    def by(cls, file: File) -> "Configured":
        """As this file says.

        Raises:
            InputError: Something in it is unknown, missing or wrong; nothing of it is used then.
        """
        return cls(file.text, msgspec.structs.replace(policy_in(file), lenient=True))

    @classmethod
    def by_default(cls) -> "Configured":
        """Without a file."""
        return cls("", msgspec.structs.replace(default_policy(), lenient=True))

    @property
    def reading(self) -> Settings:
        """What decides how objects are read; where it differs, all are to be read anew."""
        default = Settings()
        return msgspec.structs.replace(self.policy.settings, period=default.period, actions=default.actions)
