"""The kubeconfig by which clients find the sandbox."""

from pathlib import Path

import msgspec

NAME = "sandbox"


def kubeconfig(url: str, token: str) -> bytes:
    """A kubeconfig for this address, as JSON, which is YAML too."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {"server": f"{url}/{token}"}}],
        "users": [{"name": NAME, "user": {}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    }
    return msgspec.json.format(msgspec.json.encode(config), indent=2) + b"\n"


def write_kubeconfig(path: Path, url: str, token: str) -> None:
    """Write it to a file that only its owner can read.

    Raises:
        OSError: It cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(kubeconfig(url, token))
