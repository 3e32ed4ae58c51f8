"""The process: it watches always, and decides while it leads."""

from functools import partial
from typing import Final

import trio

from sky_scheduler import garbage
from sky_scheduler.desk import Desk
from sky_scheduler.events import Announcements
from sky_scheduler.leading import Leading, open_epoch
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.station import Station, Surroundings
from sky_shell.health import Health
from sky_shell.lease import Candidate, Election, Leadership
from sky_shell.metrics import ShellMetrics
from sky_shell.transport import Transport

PULSE_SECONDS: Final = 5.0
LEASE: Final = "sky-scheduler"


class Process:
    """A scheduler among others that wait to lead.

    Attributes:
        station: Where the cluster is watched, and cycles are run.
        election: Whether it leads.
    """

    def __init__(
        self,
        transport: Transport,
        desk: Desk,
        candidate: Candidate,
        namespace: str,
        surroundings: Surroundings,
        metrics: SchedulerMetrics,
    ) -> None:
        """`namespace` is that of the Lease."""
        self.station = Station(transport, desk, surroundings)
        self.election = Election(transport, namespace, LEASE, candidate, surroundings.random)
        self._transport = transport
        self._identity = candidate.identity
        self._metrics = metrics

    def show(self, health: Health, metrics: ShellMetrics) -> None:
        """Say from now on whether it is of use, whether it leads and how its watches are."""
        health.needs("caches", self.station.watching.fault)
        health.needs("lease", lambda: self.election.fault)
        metrics.watch(self.station.watching.reflectors)
        metrics.elect(self.election)

    async def run(self, stop: trio.Event) -> None:
        """Watch, and lead once that is possible, until the process stops.

        Raises:
            LostError: The lead was lost. What was known by then may be outdated, so the process is to begin anew.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(garbage.withhold, self.station.watching.is_complete)
            nursery.start_soon(self.station.watching.run)
            nursery.start_soon(self._keep_up)
            nursery.start_soon(self._leave, stop, nursery.cancel_scope)
            await self.election.lead(partial(self._lead, stop))
            nursery.cancel_scope.cancel()

    async def _keep_up(self) -> None:
        """While another leads: know all that it takes to go on from there."""
        station = self.station
        while not self.election.leads:
            if station.wanted is not station.desk.configured:
                await station.take_up(station.wanted)
            await station.catch_up()
            station.rest()
            await trio.sleep(station.period)

    async def _leave(self, stop: trio.Event, scope: trio.CancelScope) -> None:
        """Who does not lead has nothing to finish."""
        await stop.wait()
        if not self.election.leads:
            scope.cancel()

    async def _lead(self, stop: trio.Event, leadership: Leadership) -> None:
        epoch = await open_epoch(self.station, leadership, stop)
        if epoch is not None:
            announcements = Announcements(self._identity, epoch)
            leading = Leading(self.station, self._transport, leadership, announcements, self._metrics)
            await leading.run(stop)
