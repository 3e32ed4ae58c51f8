"""One trace for each cycle that decided something: its actions, and the jobs that it decided on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from opentelemetry import trace

from sky_core.model import JobId
from sky_scheduler.stopwatch import Lap

JOBS_MAX: Final = 4096
"""So many jobs' last spans are known, for links from their next."""

_tracer = trace.get_tracer(__name__)


class Traces:
    """Spans; where no collector is configured they cost next to nothing."""

    def __init__(self) -> None:
        """No job has been in a trace."""
        self._last: dict[JobId, trace.Link] = {}

    @contextmanager
    def cycle(self, laps: tuple[Lap, ...]) -> Iterator[None]:
        """The root, which began with the first action and ends when all that was decided is answered."""
        began = laps[0].began if laps else None
        with _tracer.start_as_current_span("cycle", start_time=began):
            for lap in laps:
                _tracer.start_span(f"action {lap.action}", start_time=lap.began).end(lap.ended)
            yield

    @contextmanager
    def job(self, job: JobId) -> Iterator[None]:
        """What is done for a job in this cycle, linked to what was done for it last."""
        namespace, _, name = job.partition("/")
        last = self._last.pop(job, None)
        with _tracer.start_as_current_span(
            "job",
            attributes={"k8s.namespace.name": namespace, "sky.job.name": name},
            links=[last] if last is not None else [],
        ) as span:
            if span.is_recording():
                self._last[job] = trace.Link(span.get_span_context())
                if len(self._last) > JOBS_MAX:
                    del self._last[next(iter(self._last))]
            yield
