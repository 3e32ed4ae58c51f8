"""The scheduler's process on a cluster in memory, for as long as somebody looks."""

import msgspec
import trio
from trio.testing import MockClock

from sky_core.api.instants import instant
from sky_sandbox.faults import Fault
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.state import new_server
from sky_sandbox.transport import SandboxTransport
from sky_scheduler.testing.stage import at_once
from sky_shell.resources import LEASES
from skyctl.furnishing import NAMESPACE, furnish, furnishing
from skyctl.play import decide

START = instant("2026-01-01T00:00:00Z")


async def leader(sandbox: Sandbox) -> str:
    answer = await SandboxTransport(sandbox).request("GET", LEASES.path(NAMESPACE, "sky-scheduler"))
    return str(msgspec.json.decode(answer.body).get("spec", {}).get("holderIdentity") or "")


async def test_who_loses_the_lease_is_followed_by_another_and_both_end_when_told_to(autojump_clock: MockClock) -> None:
    server = new_server(START)
    furnish(server, furnishing(), START)
    async with open_sandbox(START, server=server) as sandbox, trio.open_nursery() as nursery:
        stop = trio.Event()
        nursery.start_soon(decide, sandbox, stop, at_once)
        await trio.sleep(5)
        first = await leader(sandbox)
        sandbox.faults.add(Fault(resource="leases.coordination.k8s.io", times=None, status=500))
        await trio.sleep(15)
        sandbox.faults.clear()
        await trio.sleep(60)
        second = await leader(sandbox)
        assert "" not in {first, second}
        assert first != second
        stop.set()
    assert await leader(sandbox) == ""
