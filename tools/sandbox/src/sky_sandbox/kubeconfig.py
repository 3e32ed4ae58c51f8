"""The kubeconfig by which clients find the sandbox."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

NAME: Final = "sandbox"
"""Of its context, its cluster and its user."""


def kubeconfig(url: str, token: str) -> bytes:
    """A kubeconfig for a sandbox at this address."""
    return pointing({"server": f"{url}/{token}"}, {})


def pointing(cluster: Mapping[str, str], user: Mapping[str, str]) -> bytes:
    """A kubeconfig for this cluster and user, as JSON, which is YAML too."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    }
    return msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n"


def write_kubeconfig(path: Path, content: bytes) -> None:
    """Write one to a file that only its owner can read.

    Raises:
        FileExistsError: The file is there, and is not what a sandbox wrote.
        OSError: It cannot be written.
    """
    if path.exists() and not _is_ours(path):
        raise FileExistsError(f"{path} is there, and no kubeconfig of a sandbox: it is left alone; name another file")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)


@contextmanager
def lent(path: Path, content: bytes) -> Iterator[None]:
    """Such a file for as long as the context is open; another sandbox's, by the end, is left.

    Raises:
        OSError: As above.
    """
    write_kubeconfig(path, content)
    try:
        yield
    finally:
        if path.exists() and path.read_bytes() == content:
            path.unlink()


class _Named(msgspec.Struct, rename="kebab"):
    current_context: str


def _is_ours(path: Path) -> bool:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Named).current_context == NAME
    except ValueError:
        return False
