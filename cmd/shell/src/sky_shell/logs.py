"""Logs as JSON, one event a line, with the trace that it happened in."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO

import structlog
from opentelemetry import trace

SPARING_SECONDS: Final = 60.0
_CHATTY: Final = ("opentelemetry", "urllib3", "aiohttp", "asyncio")
"""Libraries that log each failure of a kind; one a minute tells as much."""


def start_logs(level: str = "INFO", stream: TextIO = sys.stderr) -> None:
    """Write what this process and its libraries log, from this level on, to a stream.

    Control characters in what others named are escaped: a log can't be made to draw on a terminal.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
        _in_trace,
    ]
    render: list[structlog.typing.Processor] = [
        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
        structlog.processors.format_exc_info,
        structlog.processors.EventRenamer("msg"),
        structlog.processors.JSONRenderer(),
    ]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(structlog.stdlib.ProcessorFormatter(processors=render, foreign_pre_chain=shared))
    handler.addFilter(Sparing())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )


class Sparing(logging.Filter):
    """Lets a chatty library say the same once a minute."""

    def __init__(self) -> None:
        """Nothing has been said."""
        super().__init__()
        self._said: dict[tuple[str, int], float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether this is to be logged."""
        if not record.name.startswith(_CHATTY):
            return True
        which = (record.name, record.levelno)
        if record.created - self._said.get(which, float("-inf")) < SPARING_SECONDS:
            return False
        self._said[which] = record.created
        return True


def _in_trace(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
        event["span_id"] = trace.format_span_id(context.span_id)
    return event
