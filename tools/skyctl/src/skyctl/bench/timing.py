"""How a cycle is timed: processor time of this process, in milliseconds, with the garbage collector out of the way."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sky_core.actions import ACTIONS, Action
from sky_core.api.encode import quota_status
from sky_core.cycle import Outcome, default_policy, schedule
from sky_core.decisions import BindTask, WriteQuota
from sky_core.memory import Memory
from sky_core.model import SECOND, Instant
from sky_core.plugins import topology
from sky_core.policy import Enabled, Policy, compile_policy
from sky_core.session import Session
from sky_core.settings import Settings
from sky_core.testing.naive import schedule_naively
from sky_core.world import World
from sky_shell.resources import QUOTAS
from sky_shell.writes import bind, put_status
from skyctl.bench import lens

Timed = Callable[[World], float]
"""Decides on a world, which stays as it is, and says how long that took."""

NOW: Final = Instant(1_767_312_000 * SECOND)
"""The time of every first cycle: later than whatever the objects say."""
SPREAD: Final = default_policy()
HOP_TWO: Final = frozenset({"allocateZone", "allocateQuota"})


class Stopwatch:
    """Adds up the milliseconds of what it is put around."""

    def __init__(self) -> None:
        """Nothing has been timed."""
        self.total = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time the block."""
        with lens.looking():
            begun = time.process_time()
            try:
                yield
            finally:
                self.total += (time.process_time() - begun) * 1000

    def around(self, action: Action) -> Action:
        """The action, timed."""

        def timed(session: Session) -> None:
            with self.running():
                action(session)

        return timed


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected in the block, as in the process's own cycles: whose turn that falls into is chance."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def cycle(world: World) -> float:
    """A whole cycle by the default policy."""
    watch = Stopwatch()
    with uncollected(), watch.running():
        decided(world)
    return watch.total


def cycle_with_writes(world: World) -> float:
    """The same, and the bodies of all that is to be written of it."""
    watch = Stopwatch()
    with uncollected(), watch.running():
        for each in decided(world).decisions:
            match each:
                case WriteQuota():
                    status = quota_status(each, world.quotas[each.quota], NOW)
                    put_status(QUOTAS, "", each.quota, uid=each.uid, version="1", status=status)
                case BindTask():
                    task = world.tasks[each.task]
                    bind(task.namespace, task.name, uid=task.id, node=each.node, annotations={}, version="1")
    return watch.total


def hop_two(world: World) -> float:
    """Of a cycle whose ranks are packed, the actions that take quotas to nodes."""
    watch = Stopwatch()
    actions = {name: watch.around(action) if name in HOP_TWO else action for name, action in ACTIONS.items()}
    with uncollected():
        schedule(world, Memory(), PACK, NOW, actions=actions)
    return watch.total


def decided(world: World) -> Outcome:
    """What the core decides."""
    return schedule(world, Memory(), SPREAD, NOW)[0]


def decided_naively(world: World) -> Outcome:
    """What the naive pipeline decides, which asks every plugin about every quota and node."""
    return schedule_naively(world, Memory(), SPREAD, NOW)[0]


def _packing() -> Policy:
    """The default policy, but that each node of a zone is filled before the next."""
    packed = Enabled(topology.PLUGIN, topology.Arguments(ranks="pack"))
    plugins = [packed if each.plugin is topology.PLUGIN else each for each in SPREAD.plugins]
    return compile_policy(Settings(), plugins, {})


PACK: Final = _packing()
