"""The scheduler's configuration, as a simulation takes it."""

import msgspec

from sky_core.cycle import default_policy
from sky_core.policy import Policy
from sky_shell.reading.policy import policy_in
from skyctl.files import read


def configured(path: str | None) -> Policy:
    """The policy that this file asks for; None: the default one. A defect of ours shall not end the simulation.

    Raises:
        InputError: The file can't be read, or something in it is unknown, missing or wrong.
    """
    return msgspec.structs.replace(default_policy() if path is None else policy_in(read(path)), lenient=True)
