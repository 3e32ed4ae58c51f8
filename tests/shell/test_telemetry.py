"""Logs and traces, and what happens when nobody takes them."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from sky_shell.logs import start_logs
from sky_shell.tracing import SHUTDOWN_SECONDS, exemplar, tracing


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    root = logging.getLogger()
    before = root.handlers[:], root.level
    start_logs("INFO", stream)
    yield stream
    root.handlers[:], root.level = before
    structlog.reset_defaults()


def test_each_event_is_one_line_of_json(log: io.StringIO) -> None:
    structlog.get_logger("sky").info("Pod bound", pod="default/w")
    structlog.get_logger("sky").debug("Not told")
    event = json.loads(log.getvalue())
    assert event.pop("ts").endswith("Z")
    assert event == {"level": "info", "logger": "sky", "msg": "Pod bound", "pod": "default/w"}


def test_s16_what_others_named_draws_nothing_on_a_terminal(log: io.StringIO) -> None:
    structlog.get_logger("sky").info("Switch seen", switch="\x1b[2Jevil\nline")
    text = log.getvalue()
    assert text.count("\n") == 1
    assert "\x1b" not in text
    assert json.loads(text)["switch"] == "\x1b[2Jevil\nline"


def test_libraries_log_in_the_same_form(log: io.StringIO) -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("library").exception("It is %s", "bad")
    event = json.loads(log.getvalue())
    assert (event["level"], event["logger"], event["msg"]) == ("error", "library", "It is bad")
    assert event["exception"].endswith("ValueError: broken")


def test_f60_a_library_that_fails_all_the_time_says_so_once_a_minute(log: io.StringIO) -> None:
    for _ in range(50):
        logging.getLogger("opentelemetry.exporter").error("Failed to export batch")
        logging.getLogger("library").error("Told each time")
    names = [json.loads(line)["logger"] for line in log.getvalue().splitlines()]
    assert names.count("opentelemetry.exporter") == 1
    assert names.count("library") == 50


def test_an_event_names_the_trace_that_it_happened_in(log: io.StringIO) -> None:
    with TracerProvider(shutdown_on_exit=False).get_tracer("test").start_as_current_span("cycle") as span:
        structlog.get_logger("sky").info("Decided")
        told = exemplar()
    event = json.loads(log.getvalue())
    assert event["trace_id"] == trace.format_trace_id(span.get_span_context().trace_id)
    assert event["span_id"] == trace.format_span_id(span.get_span_context().span_id)
    assert told == {"trace_id": event["trace_id"]}
    assert exemplar() is None


async def test_without_an_address_nothing_is_sent() -> None:
    async with tracing("sky-test", "0.1", {}):
        assert not trace.get_tracer("test").start_span("cycle").is_recording()


def exported(answering: str) -> dict[str, float]:
    """What a process that ends one span tells of its collector, which answers like this."""
    program = f"""
import json, os, trio
from opentelemetry import trace
from sky_shell.testing.loopback import loopback
from sky_shell.tracing import tracing

taken = 0

async def collect(exchange):
    global taken
    taken += 1
    {answering}

async def main():
    async with loopback(collect) as address:
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = address
        async with tracing("sky-test", "0.1"):
            trace.get_tracer("test").start_span("cycle").end()
            began = trio.current_time()
        print(json.dumps({{"taken": taken, "seconds": trio.current_time() - began}}))

trio.run(main)
"""
    command = [sys.executable, "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    told: dict[str, float] = json.loads(run.stdout)
    return told


def test_what_is_still_to_be_sent_is_sent_before_the_process_ends() -> None:
    told = exported("await exchange.answer(200, b'')")
    assert told["taken"] == 1


@pytest.mark.parametrize("answering", ["await exchange.left()", "await exchange.answer(503)"])
def test_f60_a_collector_that_is_of_no_use_does_not_keep_the_process(answering: str) -> None:
    assert exported(answering)["seconds"] <= SHUTDOWN_SECONDS + 1
