"""The plugins, by name: one module each, and nothing else knows them all."""

from collections.abc import Mapping
from typing import Final

from sky_core.plugin import Plugin
from sky_core.plugins import (
    backoff,
    binpack,
    conformance,
    drf,
    gang,
    jobqueue,
    nodeorder,
    predicates,
    priority,
    quotaaffinity,
    quotapredicates,
    rescheduling,
    reservation,
    specpool,
    storage,
    sylas,
    topology,
)

PLUGINS: Final[Mapping[str, Plugin]] = {
    "jobqueue": jobqueue.PLUGIN,
    "priority": priority.PLUGIN,
    "gang": gang.PLUGIN,
    "conformance": conformance.PLUGIN,
    "drf": drf.PLUGIN,
    "backoff": backoff.PLUGIN,
    "reservation": reservation.PLUGIN,
    "quotapredicates": quotapredicates.PLUGIN,
    "quotaaffinity": quotaaffinity.PLUGIN,
    "predicates": predicates.PLUGIN,
    "storage": storage.PLUGIN,
    "topology": topology.PLUGIN,
    "sylas": sylas.PLUGIN,
    "binpack": binpack.PLUGIN,
    "nodeorder": nodeorder.PLUGIN,
    "specpool": specpool.PLUGIN,
    "rescheduling": rescheduling.PLUGIN,
}

DEFAULT: Final = tuple(name for name in PLUGINS if name != "rescheduling")
"""What is enabled where the configuration names no plugins, in tier order."""
