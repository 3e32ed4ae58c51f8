"""A sandbox's state in a file, from one run to the next."""

import secrets
from pathlib import Path

from sky_core.model import Instant
from sky_sandbox.api.server import Server
from sky_sandbox.state import new_server, restored, saved


def taken_up(path: Path | None, now: Instant) -> Server:
    """The server whose state is in this file; that of a new cluster, if there is none.

    Raises:
        NotADirectoryError: It could not be kept there.
        OSError: It can't be read.
        ValueError: It is no state.
        Refusal: It has objects that the sandbox does not serve.
    """
    if path is not None and not path.parent.is_dir():
        raise NotADirectoryError(f"there is no folder {path.parent}")
    if path is not None and path.exists():
        return restored(path.read_bytes())
    return new_server(now, secrets.token_hex(8))


def keep(server: Server, path: Path) -> None:
    """Keep a server's state in this file, whole or not at all.

    Raises:
        OSError: It can't be written.
    """
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_bytes(saved(server))
    fresh.replace(path)
