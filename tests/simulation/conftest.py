"""A sandbox with our kinds and the queue `default`, in simulated time, and a stage before it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio
import yaml
from trio.testing import MockClock

from sky_core.api.instants import instant
from sky_core.testing.objects import queue
from sky_sandbox.sandbox import Sandbox, open_sandbox
from sky_sandbox.state import load, new_server
from sky_sandbox.transport import SandboxTransport
from sky_scheduler.testing.stage import Stage, at_once

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
START = instant("2026-01-01T00:00:00Z")


def definitions() -> list[dict[str, Any]]:
    found = [yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(CRDS.glob("*.yaml"))]
    return [one for one in found if one["kind"] == "CustomResourceDefinition"]


@pytest.fixture
async def sandbox(autojump_clock: MockClock) -> AsyncIterator[Sandbox]:
    server = new_server(START)
    load(server, definitions(), START)
    async with open_sandbox(START, server=server) as opened:
        yield opened


@pytest.fixture
async def stage(sandbox: Sandbox, nursery: trio.Nursery) -> Stage:
    made = Stage(SandboxTransport(sandbox), nursery, sandbox.clock.now, at_once)
    await made.apply(queue("default"))
    return made
