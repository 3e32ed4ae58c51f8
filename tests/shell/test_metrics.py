"""What a process tells Prometheus, and how its requests show in traces."""

from random import Random

import pytest
import trio
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry
from trio.testing import MockClock

from sky_core.api.identity import NAMESPACED
from sky_core.api.kinds import KINDS
from sky_shell import observed
from sky_shell.lease import Candidate, Election
from sky_shell.metrics import ShellMetrics
from sky_shell.observed import Observed
from sky_shell.reflector import Reflector
from sky_shell.resources import EVENTS, LEASES, PODS, QUOTAS, SEEN, Resource, Target, target
from sky_shell.testing.script import Script
from sky_shell.transport import Transport, TransportError


class Nowhere:
    """A sink that forgets."""

    def put(self, *_: object) -> None: ...

    def remove(self, *_: object) -> None: ...

    def synced(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    ("path", "to"),
    [
        ("/api/v1/pods", Target("Pod", is_one=False)),
        ("/api/v1/namespaces/a/pods", Target("Pod", is_one=False)),
        ("/api/v1/namespaces/a/pods/b", Target("Pod", is_one=True)),
        ("/api/v1/namespaces/a/pods/b/binding", Target("Pod/binding", is_one=True)),
        ("/api/v1/namespaces/a", Target("Namespace", is_one=True)),
        ("/apis/scheduling.infini-ai.com/v1alpha1/quotas/q/status", Target("Quota/status", is_one=True)),
        ("/apis/elsewhere/v1/quotas/q", Target("other", is_one=True)),
        ("/version", Target("other", is_one=True)),
    ],
)
def test_a_path_is_told_by_its_kind_and_never_by_a_name(path: str, to: Target) -> None:
    assert target(path) == to


@pytest.mark.parametrize("resource", [*SEEN, LEASES, EVENTS], ids=str)
def test_every_kind_knows_its_own_paths(resource: Resource) -> None:
    namespace = "default" if resource.namespaced else ""
    assert target(resource.collection(namespace)) == Target(resource.kind, is_one=False)
    assert target(resource.path(namespace, "a/b")) == Target(resource.kind, is_one=True)


def test_the_kinds_that_a_world_is_made_of_are_those_that_the_core_reads() -> None:
    assert {resource.kind: resource.group for resource in SEEN} == {kind: row.group for kind, row in KINDS.items()}
    assert {resource.kind for resource in SEEN if resource.namespaced} == NAMESPACED


async def test_requests_are_timed_by_verb_kind_and_code(nursery: trio.Nursery, autojump_clock: MockClock) -> None:
    registry = CollectorRegistry()
    server = Script()
    transport: Transport = Observed(server, ShellMetrics(registry, "0.1").requests)

    async def ask() -> None:
        await transport.request("GET", PODS.collection())
        with pytest.raises(TransportError):
            await transport.request("PUT", QUOTAS.path("", "q", "status"), body=b"{}")
        async with transport.stream(PODS.collection(), query={}):
            await trio.sleep_forever()

    nursery.start_soon(ask)
    asked = await server.asked()
    await trio.sleep(3)
    asked.answer(200)
    (await server.asked("PUT")).drop()
    (await server.watched()).accept()
    await trio.testing.wait_all_tasks_blocked()

    def counted(verb: str, kind: str, code: str) -> tuple[float | None, float | None]:
        labels = {"verb": verb, "kind": kind, "code": code}
        name = "sky_api_request_duration_seconds"
        return registry.get_sample_value(f"{name}_count", labels), registry.get_sample_value(f"{name}_sum", labels)

    assert counted("list", "Pod", "200") == (1, 3)
    assert counted("update", "Quota/status", "none") == (1, 0)
    assert counted("watch", "Pod", "200") == (1, 0)
    nursery.cancel_scope.cancel()


async def test_requests_of_a_trace_are_spans_in_it_and_others_make_none(
    nursery: trio.Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    monkeypatch.setattr(observed, "_tracer", tracer)
    registry = CollectorRegistry()
    server = Script()
    transport: Transport = Observed(server, ShellMetrics(registry, "0.1").requests)

    async def answer() -> None:
        for status in (200, 201):
            (await server.asked("PUT")).answer(status)

    nursery.start_soon(answer)
    path = QUOTAS.path("", "q", "status")
    await transport.request("PUT", path, body=b"{}")
    with tracer.start_as_current_span("cycle") as cycle:
        await transport.request("PUT", path, body=b"{}")
    spans: tuple[ReadableSpan, ...] = exporter.get_finished_spans()
    assert [span.name for span in spans] == ["update Quota/status", "cycle"]
    assert spans[0].parent is not None
    assert spans[0].parent.span_id == cycle.get_span_context().span_id
    assert spans[0].attributes is not None
    assert spans[0].attributes["http.response.status_code"] == 201


async def test_watches_tell_how_often_they_were_begun_again_and_how_old_they_are(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    registry = CollectorRegistry()
    metrics = ShellMetrics(registry, "0.1")
    server = Script()
    reflector = Reflector(server, PODS, Nowhere(), Random(1))
    metrics.watch([reflector])
    nursery.start_soon(reflector.run)
    (await server.asked()).drop()
    asked = await server.asked()
    asked.answer(200, {"metadata": {"resourceVersion": "1"}, "items": []})
    await server.watched()
    await trio.sleep(10)
    restarts = {"kind": "Pod", "reason": "broken"}
    assert registry.get_sample_value("sky_watch_restarts_total", restarts) == 1
    assert registry.get_sample_value("sky_cache_age_seconds", {"kind": "Pod"}) == 10
    nursery.cancel_scope.cancel()


async def test_what_runs_and_whether_it_leads_is_told() -> None:
    registry = CollectorRegistry()
    metrics = ShellMetrics(registry, "1.2.3")
    election = Election(Script(), "sky", "sky-scheduler", Candidate("a"), Random(1))
    metrics.elect(election)
    assert registry.get_sample_value("sky_leader") == 0
    election.leads = True
    assert registry.get_sample_value("sky_leader") == 1
    (build,) = (metric for metric in registry.collect() if metric.name == "sky_build")
    assert build.samples[0].labels["version"] == "1.2.3"
