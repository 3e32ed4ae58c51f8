"""What a process starts first and stops last: logs and traces."""

import contextlib
from collections.abc import AsyncIterator

from sky_shell.logs import start_logs
from sky_shell.tracing import tracing


@contextlib.asynccontextmanager
async def telemetry(service: str, version: str, level: str = "INFO") -> AsyncIterator[None]:
    """Log as JSON, and send traces if the environment says where to."""
    start_logs(level)
    async with tracing(service, version):
        yield
