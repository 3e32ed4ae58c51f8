"""`sky-sandbox`: a cluster in memory, until it is told to stop."""

import argparse
import secrets
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import trio

from sky_core.api.instants import duration
from sky_core.model import Instant
from sky_sandbox.api.refusals import Refusal
from sky_sandbox.api.server import Server
from sky_sandbox.hollow.orders import Habits
from sky_sandbox.keeping import keep, taken_up
from sky_sandbox.kubeconfig import kubeconfig, lent
from sky_sandbox.sandbox import open_sandbox
from sky_sandbox.sockets import Door, listen, serve


def main() -> None:
    """Run the command line of this process, and end it."""
    sys.exit(status(sys.argv[1:]))


def status(words: Sequence[str]) -> int:
    """The exit status of a command line: 0 it ran, 1 a file or the port could not be used, 2 wrong usage."""
    said = _parser().parse_args(words)
    try:
        server = taken_up(said.state, Instant(time.time_ns()))
        trio.run(_run, said, server)
    except (OSError, ValueError, Refusal) as error:
        print(f"sky-sandbox: {error}", file=sys.stderr)
        return 1
    return 0


async def _run(said: argparse.Namespace, server: Server) -> None:
    habits = Habits(start_after=duration(said.start_after), stop_after=duration(said.stop_after))
    token = secrets.token_urlsafe(16)
    listeners, url = await listen(said.port)
    with (
        lent(said.kubeconfig, kubeconfig(url, token)),
        trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals,
    ):
        async with (
            open_sandbox(Instant(time.time_ns()), server=server, habits=habits) as sandbox,
            trio.open_nursery() as nursery,
        ):
            await nursery.start(serve, sandbox, listeners, Door(token))
            print(f"{url}\nexport KUBECONFIG={said.kubeconfig.resolve()}", flush=True)
            await anext(aiter(signals))
            nursery.cancel_scope.cancel()
    if said.state is not None:
        keep(server, said.state)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("sky-sandbox", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on loopback; any that is free unless it is given")
    parser.add_argument(
        "--kubeconfig", type=Path, default=Path("sandbox.kubeconfig"), help="is there for clients meanwhile"
    )
    parser.add_argument("--state", type=Path, help="is loaded at the start if it is there, and saved at the end")
    parser.add_argument("--start-after", default="1s", help="how long a pod takes to start")
    parser.add_argument("--stop-after", default="1s", help="how long a pod takes to stop")
    return parser
