"""What is measured, by name: a world, how it is decided on, and what is to be reached."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from random import Random
from typing import Any, Final

import msgspec

from sky_core.cycle import default_policy, schedule
from sky_core.memory import Memory
from sky_core.model import SECOND, Instant
from sky_core.session import MakeSurvey
from sky_core.survey import Classes
from sky_core.world import World
from skyctl.bench.clusters import gang, nodes, world

Object = dict[str, Any]
NOW: Final = Instant(1_767_312_000 * SECOND)
SIZES: Final = (8, 16, 32, 64, 128, 256, 512, 1024)


class Workload(msgspec.Struct, frozen=True):
    """One row of the table. `prepare` makes a world; what is timed is a cycle on it, in milliseconds.

    `naive`: the oracle is run beside it, on a world as small as this one is.
    """

    about: str
    prepare: Callable[[], World]
    goal: float | None = None
    naive: bool = False


def decide(made: World, survey: MakeSurvey = Classes) -> int:
    """Run one cycle; how many decisions it came to."""
    outcome, _ = schedule(made, Memory(), _POLICY, NOW, survey=survey)
    return len(outcome.decisions)


def _gangs(
    count: int, size: int, *, of: int = 5_000, leaf: int = 32, cards: int = 1, rdma: bool = True
) -> Callable[[], World]:
    """So many gangs of one size on so many nodes."""

    def prepare() -> World:
        jobs = chain.from_iterable(gang(f"job-{i}", size, cards=cards, rdma=rdma, created=i) for i in range(count))
        return world(chain(nodes(of, leaf=leaf), jobs))

    return prepare


def _mixed(total: int, *, of: int, sizes: tuple[int, ...] = SIZES) -> Callable[[], World]:
    """Gangs of random sizes (seeded) that ask for so many cards together."""

    def jobs() -> Iterator[Object]:
        dice, left, at = Random(11), total, 0  # noqa: S311  a workload, no secret
        while left:
            size = min(dice.choice(sizes), left)
            yield from gang(f"job-{at}", size, created=at % 86_400)
            left, at = left - size, at + 1

    return lambda: world(chain(nodes(of), jobs()))


def _unique(count: int) -> Callable[[], World]:
    """Gangs of four, no two of one shape."""

    def jobs() -> Iterator[Object]:
        for i in range(count):
            for each in gang(f"job-{i}", 4, created=i):
                if each["kind"] == "Pod":
                    each["spec"] = {**each["spec"], "containers": [_with_cpu(each["spec"]["containers"][0], i + 1)]}
                yield each

    return lambda: world(chain(nodes(5_000), jobs()))


def _with_cpu(container: Object, milli: int) -> Object:
    requests = {**container["resources"]["requests"], "cpu": f"{milli}m"}
    return {**container, "resources": {"requests": requests}}


WORKLOADS: Final[Mapping[str, Workload]] = {
    "cycle-500": Workload(
        "500 nodes, 4,000 one-card tasks in gangs of 8 to 512", _mixed(4_000, of=500, sizes=SIZES[:-1]), 300.0
    ),
    "cycle-500-singles": Workload("500 nodes, 4,000 one-card tasks, each a job", _gangs(4_000, 1, of=500), 300.0),
    "empty": Workload("5,000 nodes and nothing to do", lambda: world(nodes(5_000)), 0.1),
    "gang-1024": Workload("5,000 nodes, one gang of 1,024 one-card tasks", _gangs(1, 1_024), 20.0),
    "quotas-5000": Workload(
        "5,000 nodes, 5,000 jobs of one eight-card quota", _gangs(5_000, 1, cards=8, rdma=False), 60.0
    ),
    "fill-40000": Workload("5,000 nodes, 40,000 cards in gangs of 8 to 1,024", _mixed(40_000, of=5_000)),
    "singles-10000": Workload("5,000 nodes, 10,000 one-card jobs", _gangs(10_000, 1)),
    "gangs-500x20": Workload("5,000 nodes, 500 gangs of 20", _gangs(500, 20)),
    "gangs-20x500": Workload("5,000 nodes, 20 gangs of 500", _gangs(20, 500)),
    "gang-10000": Workload("5,000 nodes, one gang of 10,000", _gangs(1, 10_000, rdma=False)),
    "gangs-750x4": Workload("5,000 nodes, 750 gangs of 4", _gangs(750, 4)),
    "gangs-1000x3": Workload("5,000 nodes, 1,000 gangs of 3", _gangs(1_000, 3)),
    "gangs-3x1000": Workload("5,000 nodes, 3 gangs of 1,000", _gangs(3, 1_000)),
    "zones-100": Workload(
        "1,000 nodes in 100 leaves of 10, one gang of 1,000", _gangs(1, 1_000, of=1_000, leaf=10, cards=8)
    ),
    "volcano-hypernode": Workload(
        "1,000 nodes in 100 leaves of 10, 100 gangs of 10", _gangs(100, 10, of=1_000, leaf=10, cards=8)
    ),
    "unique-1000": Workload("5,000 nodes, 1,000 gangs, each of a shape of its own", _unique(1_000)),
    "oracle-100": Workload("100 nodes, 400 one-card tasks in gangs of 8", _gangs(50, 8, of=100), naive=True),
}
_POLICY: Final = default_policy()
