"""Priority classes: what a name in a pod or a PodGroup is worth."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from sky_core.api import identity
from sky_core.api.decoding import decoded
from sky_core.api.wire import core


class Priority(msgspec.Struct, frozen=True, gc=False):
    """A number, and whether who has it may have others evicted."""

    value: int
    preempts: bool = True


BUILT_IN: Final[Mapping[str, Priority]] = {
    "system-cluster-critical": Priority(2_000_000_000),
    "system-node-critical": Priority(2_000_001_000),
}
"""The classes that every cluster has."""


def read(raw: Mapping[str, Any]) -> Priority:
    """A PriorityClass.

    Raises:
        Invalid: It is malformed.
    """
    written = decoded(raw, core.PriorityClass)
    identity.name("metadata.name", written.metadata.name)
    return Priority(written.value, written.preemption_policy != "Never")
