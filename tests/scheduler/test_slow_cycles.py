"""What whoever probes a scheduler over HTTP hears when a cycle never ends."""

import threading
from functools import partial
from random import Random

import pytest
import trio
from prometheus_client import CollectorRegistry
from trio.testing import MockClock, wait_all_tasks_blocked

from sky_core.model import Instant
from sky_scheduler.configuration import Configured
from sky_scheduler.desk import Desk
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.process import PULSE_SECONDS
from sky_scheduler.station import SLOW_SECONDS, Station, Surroundings
from sky_scheduler.testing.running import ask
from sky_shell.health import Health
from sky_shell.http import serve
from sky_shell.pages import pages
from sky_shell.testing.script import Script


async def test_f57_a_cycle_that_never_ends_is_told_over_http_while_the_loop_goes_on(
    mock_clock: MockClock, nursery: trio.Nursery, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(Configured.by_default(), SchedulerMetrics(CollectorRegistry()))
    station = Station(Script(), desk, Surroundings(now=lambda: Instant(0), random=Random(1)))
    health, stop, ends = Health(), trio.Event(), threading.Event()
    (address,) = await nursery.start(serve, pages({"/livez": health.livez}), "127.0.0.1:0", stop)
    nursery.start_soon(health.tick)
    nursery.start_soon(station.beat, health.pulse("cycles", PULSE_SECONDS))

    async def probed() -> tuple[int, str]:
        await wait_all_tasks_blocked(0.01)
        return await trio.to_thread.run_sync(partial(ask, f"{address}/livez"))

    nursery.start_soon(station.do, ends.wait)
    try:
        assert await probed() == (200, "loop: ok\ncycles: ok\n")
        mock_clock.jump(SLOW_SECONDS + PULSE_SECONDS + 1)
        assert await probed() == (503, "loop: ok\ncycles: not seen for 36 s\n")
    finally:
        ends.set()
    assert "threading.py" in capfd.readouterr().err  # where the cycle stands
    await wait_all_tasks_blocked(0.01)
    mock_clock.jump(2)
    assert (await probed())[0] == 200
    nursery.cancel_scope.cancel()
