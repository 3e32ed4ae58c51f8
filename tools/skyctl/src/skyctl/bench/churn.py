"""Jobs that come and go on a cluster that is almost full, cycle upon cycle."""

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Final

from sky_core.model import SECOND
from skyctl.bench.clusters import MACHINE, gang, nodes, placed
from skyctl.bench.living import Living
from skyctl.bench.scale import Scale
from skyctl.bench.timing import uncollected
from skyctl.bench.workload import Sample

NODES: Final = 5_000
LOAD: Final = 0.95
SIZES: Final = (1, 1, 1, 2, 2, 4, 8, 16, 32)
"""Of the gangs, in machines."""
CYCLES: Final = 200
"""In which one gang each ends, or a few, and others come: a sample is the 99th percentile of their times."""


def churn(scale: Scale) -> Iterator[Sample]:
    """Samples of one cluster that goes on living."""
    crowd = _Crowd(scale)
    while True:
        with uncollected():
            took = sorted(crowd.turn() for _ in range(CYCLES))
        yield Sample(took[CYCLES * 99 // 100 - 1], points={"median, ms": took[CYCLES // 2], "longest, ms": took[-1]})


class _Crowd:
    """The gangs on a cluster, by name, with how many machines each has."""

    def __init__(self, scale: Scale) -> None:
        self._dice = Random(7)  # noqa: S311  a workload, no secret
        self._numbers = count()
        self._room = int(scale.hosts(NODES) * LOAD)
        self._sizes: dict[str, int] = {}
        self._living = Living(nodes(scale.hosts(NODES)))
        free = [f"node-{at}" for at in range(scale.hosts(NODES))]
        while (size := self._next_size()) is not None:
            name = self._enter(size)
            hosts, free = free[:size], free[size:]
            for each in placed(name, hosts):
                self._living.put(each)
        self._living.cycle()

    def turn(self) -> float:
        """Let a gang end, and others come in its place; the milliseconds of the cycle after that."""
        gone = self._dice.choice(list(self._sizes))
        for at in range(self._sizes.pop(gone)):
            self._living.remove("Pod", f"{gone}-{at}")
            self._living.remove("Quota", f"{gone}-{at}")
        self._living.remove("PodGroup", gone)
        while (size := self._next_size()) is not None:
            for each in gang(self._enter(size), size, MACHINE):
                self._living.put(each)
        self._living.wait(SECOND)
        self._living.cycle()
        return self._living.took

    def _next_size(self) -> int | None:
        """Of a gang for which there is room; None where the cluster is full enough."""
        left = self._room - sum(self._sizes.values())
        return min(self._dice.choice(SIZES), left) if left > 0 else None

    def _enter(self, size: int) -> str:
        name = f"job-{next(self._numbers)}"
        self._sizes[name] = size
        return name
