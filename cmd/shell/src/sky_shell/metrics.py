"""What every process tells Prometheus. Label values come from closed sets: no object's name is ever one."""

import platform
from collections.abc import Iterable, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram, Info
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from sky_shell.lease import Election
from sky_shell.pages import Answer, Request
from sky_shell.reflector import Reflector

REQUEST_BUCKETS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class ShellMetrics:
    """The metrics that the shell owns, in a registry that the process adds its own to."""

    def __init__(self, registry: CollectorRegistry, version: str) -> None:
        """`version` is the process's."""
        self._registry = registry
        Info("sky_build", "What runs here.", registry=registry).info(
            {"version": version, "python": platform.python_version()}
        )
        self.requests = Histogram(
            "sky_api_request_duration_seconds",
            "From asking the API server to its whole answer; of a watch, to its beginning.",
            ["verb", "kind", "code"],
            buckets=REQUEST_BUCKETS,
            registry=registry,
        )
        self.config_reload_success = Gauge(
            "sky_config_reload_success",
            "Whether the configuration file, as it is now, is in use.",
            registry=registry,
        )

    def watch(self, reflectors: Sequence[Reflector]) -> None:
        """Tell of these watches from now on."""
        self._registry.register(_Watches(reflectors))

    def elect(self, election: Election) -> None:
        """Tell from now on whether this process leads."""
        leader = Gauge("sky_leader", "Whether this process leads.", registry=self._registry)
        leader.set_function(lambda: float(election.leads))


class _Watches(Collector):
    """Reads off the reflectors when somebody asks."""

    def __init__(self, reflectors: Sequence[Reflector]) -> None:
        self._reflectors = reflectors

    def collect(self) -> Iterable[Metric]:
        restarts = CounterMetricFamily(
            "sky_watch_restarts", "Lists and watches begun again.", labels=["kind", "reason"]
        )
        skipped = CounterMetricFamily(
            "sky_watch_skipped_events", "Events of a watch that were passed over.", labels=["kind", "reason"]
        )
        age = GaugeMetricFamily(
            "sky_cache_age_seconds", "Since the API server last gave a sign of life on this watch.", labels=["kind"]
        )
        for reflector in self._reflectors:
            kind = reflector.resource.kind
            for ending, count in reflector.restarts.items():
                restarts.add_metric([kind, ending.value], count)
            for why, count in reflector.skipped.items():
                skipped.add_metric([kind, why.value], count)
            age.add_metric([kind], reflector.age)
        return (restarts, skipped, age)


def metrics_page(registry: CollectorRegistry, request: Request) -> Answer:
    """Everything in the registry; as OpenMetrics, with exemplars, for who accepts that."""
    encode, content_type = choose_encoder(request.accept)
    return Answer(200, encode(registry), content_type)
