"""The ways of sampling a cycle: each takes what there is to decide and gives a `workload.Samples`."""

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from sky_core.decisions import WriteQuota
from sky_core.model import SECOND
from sky_core.statement import Statement
from skyctl.bench import clusters
from skyctl.bench.living import Living
from skyctl.bench.scale import Scale
from skyctl.bench.timing import NOW, Stopwatch, Timed, cycle, decided, decided_naively, uncollected
from skyctl.bench.workload import Sample, Samples
from skyctl.bench.worlds import Objects, world

FACTORS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)
"""Of the scale, for growth: of 5,000 nodes, 625 to 40,000."""


def cold(objects: Objects, timed: Timed = cycle) -> Samples:
    """On a fresh world each time."""
    make = world(objects)

    def samples(scale: Scale) -> Iterator[Sample]:
        while True:
            yield Sample(timed(make(scale)))

    return samples


def warm(objects: Objects, timed: Timed = cycle) -> Samples:
    """On one world over and over: what may be kept of a shape has been by the first time, which does not count."""
    make = world(objects)

    def samples(scale: Scale) -> Iterator[Sample]:
        made = make(scale)
        timed(made)
        while True:
            yield Sample(timed(made))

    return samples


def discard(objects: Objects) -> Samples:
    """Of jobs that have claimed their quotas and have got their nodes, all of it: undoing that."""
    make = world(objects)

    def samples(scale: Scale) -> Iterator[Sample]:
        made = make(scale)
        writes = [each for each in decided(made).decisions if isinstance(each, WriteQuota)]
        while True:
            watch = Stopwatch()
            with uncollected(), Statement(made, NOW) as trial:
                point = trial.savepoint()
                claims = [claim for write in writes for claim in write.claims]
                trial.claim_run([made.tasks[c.task] for c in claims], claims, [write.quota for write in writes], 1)
                for node, alike in groupby(writes, key=lambda write: write.node):
                    names = [write.quota for write in alike]
                    if node is not None:
                        trial.bind_quotas({node: names}, made.quotas[names[0]].footprint)
                with watch.running():
                    trial.rollback(point)
            yield Sample(watch.total)

    return samples


def after_a_change(objects: Objects) -> Samples:
    """On a cluster where everything that can be decided has been: one node changes, and a second has gone by."""

    def samples(scale: Scale) -> Iterator[Sample]:
        living = Living(objects(scale))
        living.cycle()
        turn = 0
        while True:
            turn += 1
            living.put(clusters.node(0, zone="leaf-0", labels={"turn": str(turn)}))
            living.wait(SECOND)
            with uncollected():
                living.cycle()
            yield Sample(living.took)

    return samples


def against_naive(objects: Objects) -> Samples:
    """How many times longer the naive pipeline takes, which has to decide the same."""
    make = world(objects)

    def samples(scale: Scale) -> Iterator[Sample]:
        while True:
            ours, theirs, found = Stopwatch(), Stopwatch(), make(scale)
            with uncollected(), ours.running():
                outcome = decided(found)
            with uncollected(), theirs.running():
                expected = decided_naively(found)
            if outcome != expected:
                raise AssertionError("the core and the naive pipeline decide differently")
            points = {"core, ms": ours.total, "naive, ms": theirs.total}
            yield Sample(theirs.total / ours.total, points=points)

    return samples


def growth(objects: Objects, timed: Timed, scaled: Callable[[Scale, float], Scale], nodes: int) -> Samples:
    """The exponent with which the time grows: the slope of its logarithm over that of the factor.

    `scaled` says what grows with the factor; `nodes` is how many there are at factor 1.
    """
    make = world(objects)

    def samples(scale: Scale) -> Iterator[Sample]:
        while True:
            took = []
            for factor in FACTORS:
                took.append(timed(make(scaled(scale, factor))))
            points = {f"{scaled(scale, f).hosts(nodes)} nodes, ms": t for f, t in zip(FACTORS, took, strict=True)}
            yield Sample(_slope(FACTORS, took), points=points)

    return samples


def _slope(factors: Sequence[float], took: Sequence[float]) -> float:
    logs = [math.log(time) for time in took]
    return statistics.linear_regression([math.log(factor) for factor in factors], logs).slope
