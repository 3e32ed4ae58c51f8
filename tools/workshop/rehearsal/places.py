"""The two places where a rehearsal can be: each opens its grounds and plays there."""

from pathlib import Path

import trio
from trio.testing import MockClock

from rehearsal.memory import open_memory
from rehearsal.plane import open_plane
from rehearsal.play import Play
from rehearsal.refusal import RefusedError
from sky_core.model import Instant
from sky_core.simulation.report import Report
from sky_scheduler.configuration import Configured
from skyctl.manifests import Manifests


def in_memory(start: Instant, given: Manifests, configured: Configured, cycles: int) -> Report | RefusedError:
    """Play it in simulated time, for so many cycles at most; what came of it, or why that can't be."""

    async def run() -> Report | RefusedError:
        async with open_memory(start, configured.policy.settings.period) as grounds:
            return await Play(grounds, configured, cycles).run(given.objects, given.events)

    return trio.run(run, clock=MockClock(autojump_threshold=0))


def on_plane(
    administrator: Path, scheduler: Path, given: Manifests, configured: Configured, cycles: int
) -> Report | RefusedError:
    """Play it on the control plane of these kubeconfigs, for so many cycles at most; what came of it, or why not."""

    async def run() -> Report | RefusedError:
        async with open_plane(administrator, scheduler) as grounds:
            return await Play(grounds, configured, cycles).run(given.objects, given.events)

    return trio.run(run)
