"""HTTP, served by hypercorn on trio until the process stops."""

import logging
from typing import Final

import trio
from hypercorn.config import Config
from hypercorn.trio import serve as hypercorn

from sky_shell.pages import Application

GRACE_SECONDS: Final = 5.0
"""For requests under way when the process stops, out of the 10 s that it has."""
HEAD_BYTES_MAX: Final = 16 << 10


async def serve(
    application: Application,
    bind: str,
    stop: trio.Event,
    *,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `stop`; what is under way then has a grace. The addresses bound are the task's status.

    Args:
        application: An ASGI application.
        bind: Address and port, `127.0.0.1:8080`; port 0 is any that is free.
        stop: When the process stops.
        task_status: For `nursery.start`.
    """
    config = Config()
    config.bind = [bind]
    config.graceful_timeout = GRACE_SECONDS
    config.h11_max_incomplete_size = HEAD_BYTES_MAX
    config.include_server_header = False
    config.errorlog = logging.getLogger("hypercorn.error")
    await hypercorn(application, config, shutdown_trigger=stop.wait, task_status=task_status)
