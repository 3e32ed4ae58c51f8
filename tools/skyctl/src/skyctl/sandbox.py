"""`skyctl sandbox`: a cluster to try things on, until Ctrl-C."""

import secrets
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Final

import trio

from sky_core.model import SECOND, Duration, Instant
from sky_sandbox.api.refusals import Refusal
from sky_sandbox.api.server import Server
from sky_sandbox.hollow.orders import Habits
from sky_sandbox.keeping import keep, taken_up
from sky_sandbox.kubeconfig import kubeconfig as written
from sky_sandbox.sandbox import open_sandbox
from sky_sandbox.sockets import Door, listen, serve
from sky_shell.reading.places import InputError
from skyctl.beside import with_scheduler
from skyctl.faults import UsageError
from skyctl.furnishing import furnish, furnishing
from skyctl.staying import Work, at_hand, called, stay
from skyctl.terminal import answer

HABITS: Final = Habits(start_after=Duration(SECOND), stop_after=Duration(SECOND))
"""Of kubelets whom people watch."""

_EXAMPLE: Final = Path("examples/eight-nodes.yaml")
_PORT_MAX: Final = 65535


def sandbox(
    *,
    real: bool = False,
    scheduler: bool = False,
    kubeconfig: str = "sandbox.kubeconfig",
    port: int = 0,
    state: str | None = None,
) -> int:
    """Start a cluster, say how to use it, and stop it when told to; the exit status.

    Raises:
        UsageError: The command line makes no sense.
        InputError: A file, the port or the control plane can't be used.
    """
    if real and (port or state is not None):
        raise UsageError("--port and --state are for the cluster in memory, which --real is not")
    if not 0 <= port <= _PORT_MAX:
        raise UsageError(f"--port is {port} and must be at most {_PORT_MAX}")
    file = Path(kubeconfig).absolute()
    with tempfile.TemporaryDirectory(prefix="skyctl-") as folder:
        log = Path(folder, "scheduler.log") if scheduler else None
        use = partial(_used, file, log)
        if real:
            from skyctl.real import on_control_plane  # noqa: PLC0415  which a cluster in memory has no need of

            return on_control_plane(Path(folder), file, use)
        kept = None if state is None else Path(state)
        return stay(partial(_in_memory, _server(kept), port, file, kept, use))


async def _in_memory(server: Server, port: int, file: Path, kept: Path | None, use: Work, stop: trio.Event) -> int:
    now = Instant(time.time_ns())
    furnish(server, furnishing(), now)
    token = secrets.token_urlsafe(16)
    try:
        listeners, url = await listen(port)
    except OSError as error:
        what = f"port {port} can't be had: {error.strerror or error}"
        raise InputError(f"{what}. Name another, or none: then any that is free is taken") from None
    with at_hand(file, written(url, token)):
        async with open_sandbox(now, server=server, habits=HABITS) as opened, trio.open_nursery() as nursery:
            await nursery.start(serve, opened, listeners, Door(token))
            status = await use(stop)
            nursery.cancel_scope.cancel()
    if kept is not None:
        _keep(server, kept)
    return status


async def _used(file: Path, log: Path | None, stop: trio.Event) -> int:
    """Say how to use the cluster, and let it be used; with the scheduler on it, where that has a log."""
    answer(_usage(file, log))
    if log is not None:
        return await with_scheduler(file, log, stop)
    await stop.wait()
    return 0


def _usage(file: Path, log: Path | None) -> str:
    kubectl, skyctl = called("kubectl"), called("skyctl")
    example = (
        f"{kubectl} apply -f {_EXAMPLE}" if _EXAMPLE.exists() else f"{skyctl} demo --manifests | {kubectl} apply -f -"
    )
    decides = f"{called('sky-scheduler')} --bind 127.0.0.1:0" if log is None else f"tail -f {log}"
    lines = [
        "A cluster with Sky-Scheduler's kinds and the queue default, until Ctrl-C. In another terminal:",
        f"  export KUBECONFIG={file}",
        f"  {example}",
        f"  {decides}",
        f"  {kubectl} get quota --watch",
    ]
    return "\n".join(lines) + "\n"


def _server(state: Path | None) -> Server:
    try:
        return taken_up(state, Instant(time.time_ns()))
    except (OSError, ValueError, Refusal) as error:
        raise InputError(f"the state {state} can't be used: {error}") from None


def _keep(server: Server, state: Path) -> None:
    try:
        keep(server, state)
    except OSError as error:
        raise InputError(f"the state {state} can't be kept: {error.strerror or error}") from None
