"""The client's side of writes: what it costs the process to send Bindings and take note of the answers."""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import trio
from kubernetes_asyncio.client import Configuration

from sky_scheduler import garbage
from sky_shell.bridge import bridge
from sky_shell.writer import Acknowledged, Writer
from sky_shell.writes import Write, bind
from skyctl.bench.scale import Scale
from skyctl.bench.workload import Sample

COUNT = 4_000


def writes(scale: Scale) -> Iterator[Sample]:
    """Writes for each second of this process's processor time, against a server that only answers."""
    count = scale.amount(COUNT)
    while True:
        bindings = [
            bind(
                "default", f"pod-{at}", uid=f"uid-{at}", node="node", annotations={"quota": f"quota-{at}"}, version="1"
            )
            for at in range(count)
        ]
        with _server() as address, _put_by():
            yield Sample(count / trio.run(_sent, address, bindings))


async def _sent(address: str, bindings: list[Write]) -> float:
    async with bridge(partial(_configuration, address)) as transport:
        writer = Writer(transport, lambda: True)
        begun = time.process_time()
        async with trio.open_nursery() as nursery:
            for binding in bindings:
                nursery.start_soon(_send, writer, binding)
        return time.process_time() - begun


async def _send(writer: Writer, binding: Write) -> None:
    result = await writer.perform(binding)
    if not isinstance(result, Acknowledged):
        raise RuntimeError(f"{binding.path}: {result}")


async def _configuration(address: str) -> Configuration:
    configuration = Configuration()
    configuration.host = address
    return configuration


@contextmanager
def _put_by() -> Iterator[None]:
    """No collection looks through what is there by now, and few through what is new: as in the process."""
    thresholds = gc.get_threshold()
    garbage.put_by()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, "-m", "skyctl.bench.answering"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603
        assert server.stdout is not None  # noqa: S101
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        server.terminate()
