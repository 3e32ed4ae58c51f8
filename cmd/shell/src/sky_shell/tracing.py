"""Traces: where they go, and how metrics point at them."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Mapping
from os import environ
from typing import Final

import trio
from opentelemetry import trace

SHUTDOWN_SECONDS: Final = 2.0
"""What a stopping process gives the collector, which may be gone, for the last spans."""

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PLACES: Final = {"POD_NAME": "k8s.pod.name", "POD_NAMESPACE": "k8s.namespace.name", "NODE_NAME": "k8s.node.name"}


def exemplar(span: trace.Span | None = None) -> dict[str, str] | None:
    """What ties a measurement to this span's trace, or to the present one; None where none is kept."""
    context = (span or trace.get_current_span()).get_span_context()
    return {"trace_id": trace.format_trace_id(context.trace_id)} if context.trace_flags.sampled else None


@contextlib.asynccontextmanager
async def tracing(service: str, version: str, settings: Mapping[str, str] = environ) -> AsyncIterator[None]:
    """Send traces to where OpenTelemetry's environment variables say; nowhere if they don't.

    Leaving waits a moment for what is still to be sent, and then no more.
    """
    if not any(settings.get(name) for name in _ENDPOINTS):
        yield
        return
    # Only here: who sends no traces need not load what sends them.
    from sky_shell.exporting import provider_of  # noqa: PLC0415

    attributes = {"service.name": service, "service.version": version, "service.instance.id": str(uuid.uuid4())}
    attributes |= {attribute: settings[name] for name, attribute in _PLACES.items() if settings.get(name)}
    provider = provider_of(attributes)
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        with trio.move_on_after(SHUTDOWN_SECONDS, shield=True):
            await trio.to_thread.run_sync(provider.shutdown, abandon_on_cancel=True)
