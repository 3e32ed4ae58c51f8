"""The scheduler's process at work on a cluster in memory, without a second process or a socket between them."""

import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from random import SystemRandom
from typing import Any, Final

import msgspec
import trio
from prometheus_client import CollectorRegistry

from sky_core.model import Instant
from sky_core.simulation.objects import Object
from sky_sandbox.sandbox import PROMPT, Sandbox, open_sandbox
from sky_sandbox.state import new_server
from sky_sandbox.transport import SandboxTransport
from sky_scheduler.configuration import Configured
from sky_scheduler.desk import Desk
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.process import Process
from sky_scheduler.station import RunSync, Surroundings
from sky_shell.lease import Candidate, LostError, unique_identity
from sky_shell.resources import SEEN, Resource
from skyctl.furnishing import NAMESPACE, furnish, furnishing

_THREAD: Final[RunSync] = trio.to_thread.run_sync


@asynccontextmanager
async def played(given: Iterable[Object]) -> AsyncIterator[Sandbox]:
    """A new cluster in memory with these objects, and the scheduler on it, for as long as the context is open."""
    now = Instant(time.time_ns())
    server = new_server(now)
    furnish(server, (*furnishing(), *given), now)
    async with open_sandbox(now, server=server, habits=PROMPT) as sandbox, trio.open_nursery() as nursery:
        stop = trio.Event()
        nursery.start_soon(decide, sandbox, stop)
        yield sandbox
        stop.set()


async def decide(sandbox: Sandbox, stop: trio.Event, run_sync: RunSync = _THREAD) -> None:
    """Run the scheduler's process until it is to stop; after one that has lost its Lease another, as a kubelet."""
    while not stop.is_set():
        metrics = SchedulerMetrics(CollectorRegistry())
        process = Process(
            SandboxTransport(sandbox),
            Desk(Configured.by_default(), metrics, None),
            Candidate(unique_identity()),
            NAMESPACE,
            Surroundings(now=sandbox.clock.now, random=SystemRandom(), run_sync=run_sync),
            metrics,
        )
        try:
            await process.run(stop)
        except* LostError:
            pass  # as after Ctrl-Z: what it knew may be outdated


async def objects(sandbox: Sandbox, kinds: Iterable[Resource] = SEEN) -> list[Object]:
    """What is in the cluster, of the kinds that a world is made of or of others, as clients see it."""
    found: list[Object] = []
    for resource in kinds:
        response = await SandboxTransport(sandbox).request("GET", resource.collection())
        listed: dict[str, Any] = msgspec.json.decode(response.body)
        found += ({**item, "apiVersion": resource.api_version, "kind": resource.kind} for item in listed["items"])
    return found
