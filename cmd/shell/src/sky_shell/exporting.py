"""What sends traces by OTLP over HTTP, in a thread of its own. It takes time to load."""

from collections.abc import Mapping
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

EXPORT_SECONDS: Final = 2.0


def provider_of(attributes: Mapping[str, str]) -> TracerProvider:
    """Sends the spans of a process with these attributes; what doesn't fit its queue is dropped."""
    provider = TracerProvider(resource=Resource.create(attributes), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=EXPORT_SECONDS)))
    return provider
