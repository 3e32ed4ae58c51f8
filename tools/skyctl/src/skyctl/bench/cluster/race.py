"""One contender binds the pods that wait, and somebody else looks at the clock."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import trio

from sky_shell.objects import Identity
from sky_shell.reflector import Reflector
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


class _Placed(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Object(msgspec.Struct, frozen=True):
    spec: _Placed = _Placed()
    status: _Placed = _Placed()

    @property
    def node(self) -> str:
        """Of a pod, or of a Quota."""
        return self.spec.node_name or self.status.node_name


_read: Final = msgspec.json.Decoder(_Object).decode


class Clock:
    """Watches what becomes of a heat's objects: a `sky_shell.objects.Sink`.

    Attributes:
        began, ended: See `Finish`, in trio's time; None: not yet.
    """

    def __init__(self, heat: Heat) -> None:
        """Nothing has happened yet."""
        self.began: float | None = None
        self.ended: float | None = None
        self._heat = heat
        self._bound: set[str] = set()

    def put(self, resource: Resource, identity: Identity, raw: bytes) -> None:
        """See `Sink.put`."""
        if not identity.name.startswith(self._heat.name) or not _read(raw).node:
            return
        now = trio.current_time()
        if self.began is None:
            self.began = now
        if resource is PODS:
            self._bound.add(identity.name)
            if self.ended is None and len(self._bound) == self._heat.pods:
                self.ended = now

    def remove(self, resource: Resource, identity: Identity) -> None:
        """See `Sink.remove`."""

    def synced(self, resource: Resource) -> None:
        """See `Sink.synced`."""


async def race(stand: Stand, contender: Contender, heat: Heat, folder: Path) -> Finish:
    """Run a heat, and clear it away."""
    await stand.create(heat.objects(contender.scheduler))
    clock = Clock(heat)
    async with trio.open_nursery() as nursery:
        for resource in (PODS, QUOTAS):
            watch = Reflector(stand.transport, resource, clock, Random(heat.name))  # noqa: S311  when it is renewed
            nursery.start_soon(watch.run)
            await watch.synced.wait()
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
