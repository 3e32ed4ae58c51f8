"""The command: what it may be told, and how it ends."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from os import environ
from pathlib import Path
from random import SystemRandom
from time import time_ns

import msgspec
import structlog
import trio
from prometheus_client import CollectorRegistry

from sky_core.model import Instant
from sky_scheduler.configuration import Configured
from sky_scheduler.desk import Desk
from sky_scheduler.metrics import SchedulerMetrics
from sky_scheduler.process import PULSE_SECONDS, Process
from sky_scheduler.recorder import Recorder
from sky_scheduler.station import Surroundings
from sky_shell.access import AccessError, found
from sky_shell.bridge import bridge
from sky_shell.configuration import ConfigurationFile
from sky_shell.health import Health
from sky_shell.http import serve
from sky_shell.lease import Candidate, LostError, unique_identity
from sky_shell.metrics import ShellMetrics, metrics_page
from sky_shell.observed import Observed
from sky_shell.pages import pages
from sky_shell.reading.places import InputError
from sky_shell.stopping import until_signal
from sky_shell.telemetry import telemetry

NAME = "sky-scheduler"

_log = structlog.get_logger(__name__)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says."""

    config: Path | None
    kubeconfig: str | None
    namespace: str
    bind: str
    record: Path | None
    log_level: str


def main() -> None:
    """Run the scheduler, and end the process."""
    sys.exit(status(sys.argv[1:]))


def status(words: Sequence[str]) -> int:
    """The exit status: 0 stopped when told to, 1 can't go on, 2 wrong usage."""
    return trio.run(_status, options(words))


def options(words: Sequence[str]) -> Options:
    """What these words say; wrong ones end the process."""
    parser = argparse.ArgumentParser(prog=NAME, description="Schedules pods by quota, node and RDMA zone.")
    say = parser.add_argument
    say("--config", type=Path, metavar="FILE", help="a SchedulerConfiguration; changes are taken up")
    say("--kubeconfig", metavar="FILE", help="how to reach the API server (in a pod: as its ServiceAccount)")
    say("--namespace", default=environ.get("POD_NAMESPACE", "sky-system"), help="where the Lease is")
    say("--bind", default="0.0.0.0:8080", metavar="ADDRESS:PORT", help="for /metrics, /livez and /readyz")
    say("--record", type=Path, metavar="FOLDER", help="write down every cycle there, for skyctl replay")
    say("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    say("--version", action="version", version=f"{NAME} {version(NAME)}")
    return Options(**vars(parser.parse_args(words)))


async def _status(options: Options) -> int:
    stopped: list[str] = []
    async with telemetry(NAME, version(NAME), options.log_level):
        try:
            await until_signal(partial(_run, options))
        except* (AccessError, InputError, LostError, OSError) as errors:
            stopped = [str(error) for error in _leaves(errors)]
            _log.error("Stopped", errors=stopped)
    return 1 if stopped else 0


async def _run(options: Options, stop: trio.Event) -> None:
    file = ConfigurationFile(options.config, Configured.by) if options.config is not None else None
    configured = await file.load() if file is not None else Configured.by_default()
    recorder = Recorder(options.record) if options.record is not None else None
    registry, health = CollectorRegistry(), Health()
    shown, metrics = ShellMetrics(registry, version(NAME)), SchedulerMetrics(registry)
    surroundings = Surroundings(now=lambda: Instant(time_ns()), random=SystemRandom())
    async with bridge(found(options.kubeconfig), f"{NAME}/{version(NAME)}") as transport:
        process = Process(
            Observed(transport, shown.requests),
            Desk(configured, metrics, recorder),
            Candidate(unique_identity()),
            options.namespace,
            surroundings,
            metrics,
        )
        process.show(health, shown)
        application = pages(
            {"/livez": health.livez, "/readyz": health.readyz, "/metrics": partial(metrics_page, registry)}
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(serve, application, options.bind, stop)
            nursery.start_soon(health.tick)
            nursery.start_soon(process.station.beat, health.pulse("cycles", PULSE_SECONDS))
            if file is not None:
                shown.config_reload_success.set_function(lambda: float(file.fault is None))
                nursery.start_soon(file.watch, process.station.want)
            await process.run(stop)
            nursery.cancel_scope.cancel()


def _leaves(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    found: list[BaseException] = []
    for error in group.exceptions:
        found += _leaves(error) if isinstance(error, BaseExceptionGroup) else [error]
    return found
