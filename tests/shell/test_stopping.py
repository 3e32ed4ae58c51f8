"""How processes end: real ones, by real signals, with every warning an error."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

PRELUDE = """
    import sys
    import structlog
    import trio
    from sky_shell.stopping import until_signal

    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

    def say(what):
        print(what, flush=True)
"""
LIMIT = 30


@contextmanager
def process(source: str, *, ready: str) -> Iterator[subprocess.Popen[str]]:
    """A Python that runs this, and has said that it is ready."""
    program = textwrap.dedent(PRELUDE) + textwrap.dedent(source)
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            said = running.stdout.readline().strip()
            assert said == ready, running.communicate(timeout=LIMIT)[1]
            yield running
        finally:
            running.kill()


@pytest.mark.parametrize("number", [15, 2])
def test_f55_the_first_signal_lets_the_work_end(number: int) -> None:
    source = """
        async def work(stop):
            say("ready")
            await stop.wait()
            say("drained")

        trio.run(until_signal, work)
    """
    with process(source, ready="ready") as running:
        running.send_signal(number)
        out, _ = running.communicate(timeout=LIMIT)
    assert (out, running.returncode) == ("drained\n", 0)


def test_f55_work_that_does_not_end_is_cancelled_after_its_grace() -> None:
    source = """
        async def work(stop):
            try:
                say("ready")
                await trio.sleep_forever()
            finally:
                say("cancelled")

        trio.run(until_signal, work, 0.1)
    """
    with process(source, ready="ready") as running:
        running.send_signal(15)
        out, _ = running.communicate(timeout=LIMIT)
    assert (out, running.returncode) == ("cancelled\n", 0)


def test_f55_the_second_signal_ends_the_process_at_once() -> None:
    source = """
        async def work(stop):
            with trio.CancelScope(shield=True):
                say("ready")
                await stop.wait()
                say("stopping")
                await trio.sleep_forever()

        trio.run(until_signal, work)
    """
    with process(source, ready="ready") as running:
        running.send_signal(15)
        assert running.stdout is not None
        while "stopping" not in running.stdout.readline():
            pass
        running.send_signal(15)
        running.wait(timeout=LIMIT)
    assert running.returncode == 128 + 15


def test_f55_a_watch_and_hanging_requests_leave_nothing_behind() -> None:
    source = """
        import trio.testing
        from kubernetes_asyncio.client import Configuration
        from sky_shell.bridge import bridge
        from sky_shell.testing.loopback import loopback

        asked = 0

        async def hang(exchange):
            global asked
            if "watch" in exchange.path:
                await exchange.begin()
                await exchange.say(b"{}\\n")
            asked += 1
            await exchange.left()

        async def load():
            configuration = Configuration()
            configuration.host = address
            return configuration

        async def watch(transport):
            async with transport.stream("/api/v1/pods", query={"watch": "true"}) as lines:
                while await lines.next_lines():
                    pass

        async def work(stop):
            global address
            async with loopback(hang) as address, bridge(load) as transport, trio.open_nursery() as nursery:
                nursery.start_soon(watch, transport)
                for _ in range(20):
                    nursery.start_soon(transport.request, "GET", "/api/v1/nodes")
                while asked < 21:
                    await trio.testing.wait_all_tasks_blocked(0.01)
                say("ready")
                await stop.wait()
                nursery.cancel_scope.cancel()

        trio.run(until_signal, work)
    """
    with process(source, ready="ready") as running:
        running.send_signal(15)
        _, err = running.communicate(timeout=LIMIT)
    assert running.returncode == 0, err
    said = [line for line in err.splitlines() if "Stopping" not in line]
    assert [line for line in said if not line.startswith("Executing ")] == []  # that is asyncio, of a busy machine
