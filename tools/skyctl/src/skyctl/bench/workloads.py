"""The workloads by name, in the order in which they are run."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

from skyctl.bench import client, listing
from skyctl.bench.churn import churn
from skyctl.bench.clusters import CPU, MACHINE, PLAIN_CARD, PLAIN_MACHINE, ZONED
from skyctl.bench.samples import after_a_change, against_naive, cold, discard, growth, warm
from skyctl.bench.scale import Scale
from skyctl.bench.timing import cycle_with_writes, hop_two
from skyctl.bench.workload import Workload, at_least, at_most
from skyctl.bench.worlds import SIZES, busy, crowded, gangs, idle, lent, mixed, unique

_HOP: Final = "hop quota to node alone, ranks packed: "

GOALS: Final[Mapping[str, Workload]] = {
    "empty": Workload("5,000 nodes and nothing to do", warm(idle()), at_most(0.1)),
    "gang-1024-warm": Workload(
        f"{_HOP}a gang of 1,024 cards whose shape has been seen", warm(gangs(1, 1_024), hop_two), at_most(0.5)
    ),
    "gang-1024-first": Workload(
        f"{_HOP}a gang of 1,024 cards at first sight", cold(gangs(1, 1_024), hop_two), at_most(2)
    ),
    "discard-1024": Workload("undo a gang of 1,024 with its claims", discard(gangs(1, 1_024)), at_most(1)),
    "cycle-gang-1024": Workload(
        "whole cycle: a gang of 1,024 one-card tasks whose shape has been seen", warm(gangs(1, 1_024)), at_most(20)
    ),
    "cycle-quotas-5000": Workload(
        "whole cycle and its writes: 5,000 eight-card quotas of gangs of 8 to 1,024 cards",
        warm(mixed(40_000, on=5_000, of=8), cycle_with_writes),
        at_most(60),
    ),
    "unique-1000": Workload("1,000 gangs, each of a shape of its own", cold(unique(1_000)), at_most(250)),
    "blocked-1000": Workload(
        "1,000 gangs that wait, and one node changes", after_a_change(crowded(1_000, 8, on=5_000)), at_most(0.5)
    ),
    "churn-p99": Workload("95 % full, gangs come and go: 99th percentile of 200 cycles", churn, at_most(1)),
    "decode-50000": Workload("first list of 50,000 pods, from bytes to typed objects", listing.decode, at_most(500)),
    "decode-50000-memory": Workload(
        "the same list, from bytes to rows: peak of a process", listing.memory, at_most(250), unit="MiB"
    ),
    "intake-50000": Workload("the same list, from bytes to rows", listing.take_in, at_most(1_500)),
    "client-writes": Workload(
        "Bindings that the client sends for each second of a core, to a server that only answers",
        client.writes,
        at_least(4_000),
        unit="writes/s",
    ),
    "naive": Workload(
        "500 nodes, 64 one-card tasks in gangs of 16: how many times longer the naive pipeline takes",
        against_naive(gangs(4, 16, on=500)),
        at_least(200),
        unit="times",
    ),
    "fill-40000": Workload(
        f"{_HOP}40,000 cards in gangs of 8 to 1,024", cold(mixed(40_000, on=5_000), hop_two), at_most(40)
    ),
    "singles-40000": Workload(f"{_HOP}40,000 gangs of one", cold(gangs(40_000, 1, PLAIN_CARD), hop_two), at_most(300)),
    "growth-fill": Workload(
        "exponent of filling 625 to 40,000 nodes with gangs of whole nodes",
        growth(mixed(40_000, on=5_000, of=8), hop_two, lambda s, f: Scale(s.nodes * f, s.work * f), 5_000),
        at_most(1.25),
        unit="slope",
    ),
    "growth-nodes": Workload(
        "exponent of placing 4,096 cards in gangs of whole nodes on 625 to 40,000 nodes",
        growth(mixed(4_096, on=5_000, of=8), hop_two, lambda s, f: Scale(s.nodes * f, s.work), 5_000),
        at_most(0.7),
        unit="slope",
    ),
}
"""The table of goals."""


def _perf(count: int, size: int) -> Workload:
    """scheduler_perf: 5,000 nodes in 50 racks."""
    work = gangs(count, size, CPU, leaf=100, kinds=1, notes=ZONED if size > 1 else None)
    return Workload(f"5,000 nodes in 50 racks, {count:,} gangs of {size:,}", cold(work))


def _pods(count: int, size: int) -> Workload:
    return Workload(f"5,000 nodes, {count:,} gangs of {size:,}", cold(gangs(count, size, PLAIN_CARD)))


SHAPES: Final[Mapping[str, Workload]] = {
    "busy": Workload("5,000 nodes full of whole-node tasks, and nothing to do", warm(busy())),
    "cycle-gang-1024-first": Workload(
        "whole cycle, the first of a process: a gang of 1,024 one-card tasks", cold(gangs(1, 1_024))
    ),
    "cycle-jobs-5000": Workload(
        "whole cycle and its writes: 5,000 jobs of one eight-card quota",
        warm(gangs(5_000, 1, PLAIN_MACHINE), cycle_with_writes),
    ),
    "cycle-500": Workload(
        "500 nodes, 4,000 one-card tasks in gangs of 8 to 512",
        cold(mixed(4_000, on=500, sizes=SIZES[:-1])),
        at_most(300),
    ),
    "kai-singles": Workload("500 nodes, 4,000 one-card jobs", cold(gangs(4_000, 1, PLAIN_CARD, on=500))),
    "kai-gang-512": Workload(
        "500 nodes, one job of 512 one-card pods", cold(gangs(1, 512, PLAIN_CARD, on=500, kinds=1))
    ),
    "kai-gang-512-zones": Workload(
        "the same, zones preferred", cold(gangs(1, 512, PLAIN_CARD, on=500, kinds=1, notes=ZONED))
    ),
    "kai-unschedulable": Workload(
        "500 full nodes: until a job of 10 whole nodes is told so", cold(crowded(1, 10, on=500))
    ),
    "kai-reclaim-250": Workload(
        "500 nodes full of spot cards, a gang of 250 whole nodes takes them", cold(lent(250, on=500))
    ),
    "kai-reclaim-500": Workload(
        "500 nodes full of spot cards, a gang of 500 whole nodes takes them", cold(lent(500, on=500))
    ),
    "kai-reclaim-1000": Workload(
        "1,000 nodes full of spot cards, a gang of 500 whole nodes takes half of them; KAI needs 38,224 ms",
        cold(lent(500, on=1_000)),
        at_most(191),
    ),
    "zones-100": Workload(
        "1,000 nodes in 100 leaves of 10, one gang of 1,000", cold(gangs(1, 1_000, MACHINE, on=1_000, leaf=10, kinds=1))
    ),
    "volcano-hypernode": Workload(
        "1,000 nodes in 100 leaves of 10, 100 gangs of 10; Volcano needs 2,850 ms",
        cold(gangs(100, 10, MACHINE, on=1_000, leaf=10, kinds=1)),
        at_most(28.5),
    ),
    "racks-640": Workload(
        "640 nodes in 10 racks, 15,000 one-card workloads", cold(gangs(15_000, 1, on=640, leaf=64, kinds=1))
    ),
    "pods-500x20": _pods(500, 20),
    "pods-20x500": _pods(20, 500),
    "pods-1x10000": _pods(1, 10_000),
    "pods-10000x1": _pods(10_000, 1),
    "perf-750x4": _perf(750, 4),
    "perf-1500x4": _perf(1_500, 4),
    "perf-2250x4": _perf(2_250, 4),
    "perf-1000x3": _perf(1_000, 3),
    "perf-2000x3": _perf(2_000, 3),
    "perf-3000x3": _perf(3_000, 3),
    "perf-3x1000": _perf(3, 1_000),
    "perf-6x1000": _perf(6, 1_000),
    "perf-9x1000": _perf(9, 1_000),
    "perf-10x5000": _perf(10, 5_000),
    "perf-50000x1": _perf(50_000, 1),
}
"""Shapes that others publish figures for."""

WORKLOADS: Final[Mapping[str, Workload]] = {**GOALS, **SHAPES}


def chosen(patterns: tuple[str, ...]) -> list[str] | str:
    """The names that match any of the patterns, in the order of the table; the first pattern that matches none."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in WORKLOADS):
            return pattern
    return [name for name in WORKLOADS if not patterns or any(fnmatchcase(name, one) for one in patterns)]
