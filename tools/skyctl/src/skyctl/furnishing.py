"""What a new cluster gets before the scheduler is of use on it: our kinds, a queue, and a namespace for its Lease."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from sky_core.api.kinds import GROUP
from sky_core.model import Instant
from sky_core.simulation.objects import Object, part, text
from sky_sandbox.api.requests import Request
from sky_sandbox.api.server import Server
from sky_sandbox.api.watching import Watch
from sky_shell.resources import NAMESPACES, QUEUES, SEEN, Resource

NAMESPACE: Final = "sky-system"
"""Where `sky-scheduler` has its Lease unless it is told otherwise."""

_DEFINITIONS: Final = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition")
_RESOURCES: Final = {resource.kind: resource for resource in (*SEEN, _DEFINITIONS)}
_DONE: Final = frozenset({201, 409})
"""That it was created, or was there."""


def furnishing() -> Iterator[Object]:
    """The objects, in an order in which they can be created."""
    definitions: list[dict[str, Any]] = msgspec.json.decode(Path(__file__).with_name("crds.json").read_bytes())
    yield from definitions
    yield {"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": {"name": NAMESPACE}}
    yield {"apiVersion": f"{GROUP}/v1alpha1", "kind": QUEUES.kind, "metadata": {"name": "default"}, "spec": {}}


def place(raw: Object) -> str:
    """The path to post an object to, which is of a kind that a world is made of, or a definition."""
    resource = _RESOURCES[text(raw, "kind")]
    return resource.collection((text(part(raw, "metadata"), "namespace") or "default") if resource.namespaced else "")


def is_there(status: int) -> bool:
    """Whether an object exists whose creation was answered so."""
    return status in _DONE


def furnish(server: Server, objects: Iterable[Object], now: Instant) -> None:
    """Create objects at a sandbox's server; what is there already stays as it is.

    Raises:
        RuntimeError: It refuses one.
    """
    for raw in objects:
        answer = server.handle(Request(method="POST", path=place(raw), body=msgspec.json.encode(raw)), now)
        if isinstance(answer, Watch) or not is_there(answer.status):
            raise RuntimeError(f"the sandbox refuses {text(raw, 'kind')}: {answer}")
