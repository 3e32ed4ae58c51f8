"""Where a rehearsal takes place: an API server, and who else is there."""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import msgspec

from rehearsal.refusal import RefusedError
from sky_core.api.identity import Key
from sky_core.model import Duration, Instant
from sky_core.settings import Settings
from sky_core.simulation.objects import Object, conditions, part, text
from sky_core.simulation.timeline import FailNextBind
from sky_scheduler.station import RunSync
from sky_shell.resources import SEEN
from sky_shell.transport import JSON, MERGE_PATCH, Transport

RESOURCES: Final = {resource.kind: resource for resource in SEEN}
KINDS: Final = tuple(RESOURCES)
"""In the order in which objects are put: pods last, and before them all that they name."""
NOT_READY: Final = "node.kubernetes.io/not-ready"
CORDONED: Final = "node.kubernetes.io/unschedulable"


class Grounds(Protocol):
    """An API server with the parts of a cluster.

    Attributes:
        transport: The director's way to it.
        scheduling: The scheduler's.
        namespace: Where the scheduler's Lease is.
        period: Of the scheduler's cycles, whatever the configuration says; None: that.
        waits: Whether what happens later happens at its time; else as soon as all is at rest.
        now, run_sync: The scheduler's time of day, and its thread.
    """

    transport: Transport
    scheduling: Transport
    namespace: str
    period: Duration | None
    waits: bool
    now: Callable[[], Instant]
    run_sync: RunSync

    async def apply(self, raw: Object) -> None:
        """Create an object, or replace the one of its kind and name.

        Raises:
            RefusedError: The server does not take it.
        """

    async def fail_next_bind(self, order: FailNextBind) -> None:
        """Answer a pod's next Binding so.

        Raises:
            RefusedError: That can't be done here.
        """

    async def repair(self, settings: Settings) -> None:
        """Play the parts of quota-fixer and reservation-gc, where somebody does."""


async def ask(transport: Transport, method: str, path: str, body: object = None) -> Object | None:
    """What the server answers; None: there is no such thing.

    Raises:
        RefusedError: It says anything else than that all is well.
    """
    sent = None if body is None else msgspec.json.encode(body)
    kind = MERGE_PATCH if method == "PATCH" else JSON
    response = await transport.request(method, path, body=sent, content_type=kind)
    answer: dict[str, Any] = msgspec.json.decode(response.body or b"{}")
    if response.status == 404:
        return None
    if response.status >= 400:
        raise RefusedError(f"{method} {path}: {answer.get('message', response.status)}")
    return answer


def path(key: Key, subresource: str = "") -> str:
    """Where an object is, or a part of it."""
    return RESOURCES[key.kind].path(key.namespace, key.name, subresource)


async def listed(transport: Transport) -> dict[Key, Object]:
    """All objects of the kinds that a world is made of."""
    found: dict[Key, Object] = {}
    for kind, resource in RESOURCES.items():
        answer = await ask(transport, "GET", resource.collection()) or {}
        for item in answer["items"]:
            metadata = item["metadata"]
            key = Key(kind, metadata.get("namespace", ""), metadata["name"])
            found[key] = {"apiVersion": resource.api_version, **item, "kind": kind}
    return found


def settles(objects: Mapping[Key, Object]) -> bool:
    """Whether the cluster is about to do something: to start or to clear away a pod, to taint a node or free it."""
    return any(_UNSETTLED[key.kind](raw, objects) for key, raw in objects.items() if key.kind in _UNSETTLED)


def _pod(raw: Object, objects: Mapping[Key, Object]) -> bool:
    node = text(part(raw, "spec"), "nodeName")
    if Key("Node", "", node) not in objects:
        return False
    return bool(part(raw, "metadata").get("deletionTimestamp")) or text(part(raw, "status"), "phase") == "Pending"


def _node(raw: Object, _: Mapping[Key, Object]) -> bool:
    taints = {one.get("key") for one in part(raw, "spec").get("taints") or ()}
    ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions(raw))
    cordoned = bool(part(raw, "spec").get("unschedulable"))
    return (NOT_READY in taints) == ready or (CORDONED in taints) != cordoned


_UNSETTLED: Final[Mapping[str, Callable[[Object, Mapping[Key, Object]], bool]]] = {"Pod": _pod, "Node": _node}
