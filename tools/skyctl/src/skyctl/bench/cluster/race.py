"""One contender binds the pods that wait, and somebody else looks at the clock."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import trio

from sky_shell.resources import POD_GROUPS, PODS, QUOTAS, Resource
from skyctl.bench.cluster.contenders import Contender, Runner, Taken
from skyctl.bench.cluster.objects import CARDS, Object, gang, pods
from skyctl.bench.cluster.stand import Stand

PATIENCE: Final = 600.0
"""Seconds in which a contender must be done."""


class Heat(msgspec.Struct, frozen=True):
    """What is to be bound: so many gangs of eight pods, with so many quotas each.

    `name` begins all their names. No two heats of a stand have the same: KWOK deletes pods by name, and may come late.
    """

    name: str
    gangs: int
    quotas: int

    @property
    def pods(self) -> int:
        """How many there are."""
        return self.gangs * CARDS

    def objects(self, scheduler: str) -> Iterator[tuple[Resource, Object]]:
        """Gang by gang, so that who is created first can be bound first."""
        for index in range(self.gangs):
            name = f"{self.name}{index:05d}"
            yield from gang(name, self.quotas)
            yield from pods(name, scheduler)


class Finish(msgspec.Struct, frozen=True):
    """How a race ended. Seconds are counted from when the process was started.

    `began`: when its first write was seen, to a Quota or a pod; `ended`: when the last pod was seen on a node.
    """

    pods: int
    began: float
    ended: float
    taken: Taken

    @property
    def rate(self) -> float:
        """Pods a second, from the first write to the last."""
        return self.pods / (self.ended - self.began)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: _Object = _Object()


_read: Final = msgspec.json.Decoder(_Event).decode


class Clock:
    """Watches what becomes of a heat's objects.

    Attributes:
        began, ended: See `Finish`, in trio's time; None: not yet.
    """

    def __init__(self, heat: Heat) -> None:
        """Nothing has happened yet."""
        self.began: float | None = None
        self.ended: float | None = None
        self._heat = heat
        self._bound: set[str] = set()

    async def watch(
        self, stand: Stand, resource: Resource, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Look at the objects of this kind; nothing is missed from when this has started."""
        query = {"watch": "true", "resourceVersion": await stand.version(resource)}
        async with stand.transport.stream(resource.collection(), query=query) as lines:
            task_status.started()
            while got := await lines.next_lines():
                for line in got:
                    self._see(resource, _read(line))
        raise RuntimeError(f"the watch over {resource} ended")

    def _see(self, resource: Resource, event: _Event) -> None:
        name, is_bound = event.object.metadata.name, resource is not PODS or event.object.spec.node_name
        if event.type != "MODIFIED" or not is_bound or not name.startswith(self._heat.name):
            return
        now = trio.current_time()
        if self.began is None:
            self.began = now
        if resource is PODS:
            self._bound.add(name)
            if self.ended is None and len(self._bound) == self._heat.pods:
                self.ended = now


async def race(stand: Stand, contender: Contender, heat: Heat, folder: Path) -> Finish:
    """Run a heat, and clear it away."""
    await stand.create(heat.objects(contender.scheduler))
    clock = Clock(heat)
    async with trio.open_nursery() as nursery:
        for resource in (PODS, QUOTAS):
            await nursery.start(clock.watch, stand, resource)
        started = trio.current_time()
        runner = contender.start(stand.plane, folder)
        try:
            began, ended = await _times(clock, runner)
            taken = runner.taken()
        finally:
            runner.stop()
        nursery.cancel_scope.cancel()
    await stand.clear(heat.name, PODS, POD_GROUPS, QUOTAS)
    return Finish(pods=heat.pods, began=began - started, ended=ended - started, taken=taken)


async def _times(clock: Clock, runner: Runner) -> tuple[float, float]:
    with trio.fail_after(PATIENCE):
        while clock.began is None or clock.ended is None:
            await trio.sleep(0.1)
            runner.check()
        return clock.began, clock.ended
