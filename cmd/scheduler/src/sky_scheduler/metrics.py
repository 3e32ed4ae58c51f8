"""What the scheduler tells Prometheus. Label values are from closed sets or bounded; no object's name is ever one."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client import Counter as Total
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from sky_core import status
from sky_core.model import SECOND, Instant, Job, JobId, Node
from sky_core.reasons import Verdict
from sky_core.settings import Settings
from sky_core.topology import homes
from sky_core.world import World
from sky_scheduler.stopwatch import Stopwatch

VALUES_MAX: Final = 200
OTHER: Final = "__other__"
CYCLE_BUCKETS: Final = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
PLUGIN_BUCKETS: Final = (0.00001, 0.0001, 0.001, 0.01, 0.1, 1.0, 10.0)
WAIT_BUCKETS: Final = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)
ZONE_BUCKETS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 32)


class Bounded:
    """Texts that people choose, as label values: the first so many as they are, others together."""

    def __init__(self) -> None:
        """None has been seen."""
        self._seen: dict[str, None] = {}

    def __call__(self, text: str) -> str:
        """The label value."""
        if text not in self._seen:
            if len(self._seen) >= VALUES_MAX:
                return OTHER
            self._seen[text] = None
        return text


class Stock(msgspec.Struct, frozen=True):
    """How much there is of what, by labels, as of one cycle."""

    jobs: Mapping[tuple[str, str, str], int] = {}
    quotas: Mapping[tuple[str, str, str], int] = {}
    nodes: Mapping[tuple[str, str], int] = {}
    reservations: Mapping[str, int] = {}


class SchedulerMetrics:
    """The metrics that the scheduler owns."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """In this registry."""
        self._queue, self._spec = Bounded(), Bounded()
        self._stock: Stock | None = None
        self._cycles = Histogram(
            "sky_cycle_duration_seconds",
            "A cycle, from objects to decisions.",
            buckets=CYCLE_BUCKETS,
            registry=registry,
        )
        self._actions = Histogram(
            "sky_action_duration_seconds", "An action.", ["action"], buckets=CYCLE_BUCKETS, registry=registry
        )
        self._plugins = Histogram(
            "sky_plugin_duration_seconds",
            "A plugin at one function point, all its calls in a cycle together; some cycles are measured.",
            ["plugin", "point"],
            buckets=PLUGIN_BUCKETS,
            registry=registry,
        )
        self.decisions = Total(
            "sky_decisions", "Decisions, by what became of them.", ["kind", "result"], registry=registry
        )
        self.evictions = Total("sky_evictions", "Evictions.", ["reason", "result"], registry=registry)
        self._waits = Histogram(
            "sky_job_wait_seconds",
            "From when a job was submitted to when it was bound.",
            ["queue"],
            buckets=WAIT_BUCKETS,
            registry=registry,
        )
        self._zones = Histogram(
            "sky_job_zones", "Zones of a zone job when it starts.", buckets=ZONE_BUCKETS, registry=registry
        )
        self._rank_breaks = Total(
            "sky_rank_breaks", "Neighbours in rank against the order of nodes.", registry=registry
        )
        self.violations = Total("sky_invariant_violations", "Defects of ours.", ["invariant"], registry=registry)
        registry.register(_Stocked(lambda: self._stock))

    def measured(self, watch: Stopwatch) -> None:
        """A cycle has been measured."""
        self._cycles.observe(watch.seconds)
        for lap in watch.laps:
            self._actions.labels(lap.action).observe(lap.seconds)
        for (plugin, point), seconds in watch.plugins.items():
            self._plugins.labels(plugin, point).observe(seconds)

    def count(self, world: World, settings: Settings, verdicts: Mapping[JobId, Verdict], now: Instant) -> None:
        """Take stock."""
        self._stock = Stock(
            jobs=self._jobs(world, verdicts),
            quotas=Counter(
                (
                    self._queue(quota.spec.queue),
                    self._spec(status.quota_spec(world, quota, settings)),
                    "QuotaBound" if quota.node is not None else "QuotaEmpty",
                )
                for quota in world.quotas.values()
            ),
            nodes=Counter(
                (self._spec(node.spec), _state(world, node)) for node in world.nodes.values() if node.zone is not None
            ),
            reservations=Counter(
                "live" if kept.expires > now else "expired"
                for quota in world.quotas.values()
                for kept in quota.reservations
            ),
        )

    def start(self, world: World, job: Job, now: Instant) -> None:
        """A job starts: its tasks have their places in this world."""
        self._waits.labels(self._queue(job.queue)).observe(max(now - job.created, 0) / SECOND)
        if job.topology.on:
            self._zones.observe(len(status.zones(world, job)))
            places = [world.nodes[node].order for _, node in homes(world, job, zoned=True)]
            self._rank_breaks.inc(sum(lower > higher for lower, higher in pairwise(places)))

    def _jobs(self, world: World, verdicts: Mapping[JobId, Verdict]) -> Mapping[tuple[str, str, str], int]:
        waiting = ((world.jobs[id_], verdict) for id_, verdict in verdicts.items() if verdict.findings)
        return Counter(
            (self._queue(job.queue), verdict.rung.value, verdict.findings[0].code.value) for job, verdict in waiting
        )


def _state(world: World, node: Node) -> str:
    """How much of a node's cards is promised or used outside quotas."""
    if not node.ready or node.unschedulable:
        return "unusable"
    book = world.books[node.name]
    cards, left = book.allocatable.extended(), book.quota_idle.extended()
    if cards == left:
        return "free"
    return "partial" if any(amount > 0 for amount in left.units.values()) else "full"


class _Stocked(Collector):
    """Reads off the latest stock when somebody asks; only a leader has one."""

    def __init__(self, stock: Callable[[], Stock | None]) -> None:
        self._stock = stock

    def collect(self) -> Iterable[Metric]:
        stock = self._stock()
        if stock is None:
            return
        for name, about, labels, counts in (
            ("sky_pending_jobs", "Jobs that did not fully start.", ("queue", "rung", "code"), stock.jobs),
            ("sky_quotas", "Quotas.", ("queue", "spec", "phase"), stock.quotas),
            ("sky_zone_nodes", "Nodes in zones, by how much of their cards is left.", ("spec", "state"), stock.nodes),
        ):
            family = GaugeMetricFamily(name, about, labels=labels)
            for values, count in counts.items():
                family.add_metric(values, count)
            yield family
        kept = GaugeMetricFamily("sky_reservations", "Places kept for lost tasks.", labels=("state",))
        for state, count in stock.reservations.items():
            kept.add_metric((state,), count)
        yield kept
