"""Writes as values: what is sent, and how the live object shows whether it was done.

Every write carries a precondition, so it can be sent again when no answer came: it is done once or not at all.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from sky_shell.resources import EVENTS, PODS, Resource
from sky_shell.transport import JSON, MERGE_PATCH, STRATEGIC_PATCH

Live = Mapping[str, Any]


class Refusal(StrEnum):
    """Why a write was not done and won't be."""

    CONFLICT = "conflict"
    """The object was written since it was read."""
    REPLACED = "replaced"
    """Another object has the name."""
    GONE = "gone"
    """There is no such object."""
    ASSIGNED = "assigned"
    """The pod has another node."""
    TERMINATING = "terminating"
    """The pod is being deleted."""
    GATED = "gated"
    """The pod has scheduling gates."""
    BUDGET = "budget"
    """A PodDisruptionBudget does not allow the eviction, or can't tell yet."""
    FORBIDDEN = "forbidden"
    """By RBAC or an admission policy: a former leader's writes end here."""
    INVALID = "invalid"
    THROTTLED = "throttled"
    """The server asked to wait for longer than a write waits."""
    OTHER = "other"


class Effect(StrEnum):
    """What a live object shows of a write that is no refusal."""

    DONE = "done"
    OPEN = "open"
    """Not done, but it still may be: its preconditions hold."""


Judge = Callable[[Live | None], Effect | Refusal]
"""What the live object shows, None for none."""


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A request that changes something.

    Of writes that wait for a slot those of the lowest `rank` are sent first.

    `live` is the path of the object that `judge` looks at. Without one it isn't looked at: what is only told needs no
    right to be read, and is told again.
    """

    method: str
    path: str
    body: bytes
    content_type: str = JSON
    live: str = ""
    judge: Judge = lambda live: Refusal.GONE if live is None else Effect.OPEN
    rank: int = 1


def put_status(
    resource: Resource, namespace: str, name: str, *, uid: str, version: str, status: Mapping[str, Any]
) -> Write:
    """Write the status whole, if the object still has this version. Metadata and spec stay as they are."""

    def judge(live: Live | None) -> Effect | Refusal:
        if live is None:
            return Refusal.GONE
        metadata = live["metadata"]
        if metadata["uid"] != uid:
            return Refusal.REPLACED
        if live.get("status", {}) == _as_read(status):
            return Effect.DONE
        return Effect.OPEN if metadata["resourceVersion"] == version else Refusal.CONFLICT

    metadata = _without_blanks(namespace=namespace, name=name, uid=uid, resourceVersion=version)
    content = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, "status": status}
    return Write(
        method="PUT",
        path=resource.path(namespace, name, "status"),
        body=_json(content),
        live=resource.path(namespace, name),
        judge=judge,
    )


def bind(namespace: str, name: str, *, uid: str, node: str, annotations: Mapping[str, str], version: str = "") -> Write:
    """Bind the pod to the node, with these annotations in the same step; `version` "": whatever its version is."""

    def judge(live: Live | None) -> Effect | Refusal:
        if live is None:
            return Refusal.GONE
        metadata, spec = live["metadata"], live.get("spec", {})
        if metadata["uid"] != uid:
            return Refusal.REPLACED
        if assigned := spec.get("nodeName"):
            return Effect.DONE if assigned == node else Refusal.ASSIGNED
        if metadata.get("deletionTimestamp"):
            return Refusal.TERMINATING
        if spec.get("schedulingGates"):
            return Refusal.GATED
        return Refusal.CONFLICT if version and metadata["resourceVersion"] != version else Effect.OPEN

    metadata = _without_blanks(namespace=namespace, name=name, uid=uid, resourceVersion=version)
    content = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {**metadata, "annotations": annotations},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return Write(
        method="POST",
        path=PODS.path(namespace, name, "binding"),
        body=_json(content),
        live=PODS.path(namespace, name),
        judge=judge,
        rank=0,  # a gang whose quotas are written starts before others' are
    )


def evict(namespace: str, name: str, *, uid: str) -> Write:
    """Evict this pod, and no other of its name."""

    def judge(live: Live | None) -> Effect | Refusal:
        gone = live is None or live["metadata"]["uid"] != uid or "deletionTimestamp" in live["metadata"]
        return Effect.DONE if gone else Effect.OPEN

    content = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": namespace, "name": name},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }
    return Write(
        method="POST",
        path=PODS.path(namespace, name, "eviction"),
        body=_json(content),
        live=PODS.path(namespace, name),
        judge=judge,
    )


def pod_condition(namespace: str, name: str, *, uid: str, condition: Mapping[str, Any]) -> Write:
    """Write one condition of a pod and leave the others alone."""

    def judge(live: Live | None) -> Effect | Refusal:
        if live is None:
            return Refusal.GONE
        if live["metadata"]["uid"] != uid:
            return Refusal.REPLACED
        return Effect.DONE if condition in live.get("status", {}).get("conditions", ()) else Effect.OPEN

    return Write(
        method="PATCH",
        path=PODS.path(namespace, name, "status"),
        body=_json({"metadata": {"uid": uid}, "status": {"conditions": [condition]}}),
        content_type=STRATEGIC_PATCH,
        live=PODS.path(namespace, name),
        judge=judge,
    )


def merge_status(resource: Resource, namespace: str, name: str, *, version: str, status: Mapping[str, Any]) -> Write:
    """Write these fields of a status, if the object still has this version; None removes a field.

    A mapping within is merged as well: what it had and `status` does not name stays.
    """
    return Write(
        method="PATCH",
        path=resource.path(namespace, name, "status"),
        body=_json({"metadata": {"resourceVersion": version}, "status": status}),
        content_type=MERGE_PATCH,
    )


def create_event(namespace: str, name: str, content: Mapping[str, Any]) -> Write:
    """Create this event, an `events.k8s.io/v1` Event of a name that nobody else gives."""
    metadata = {"namespace": namespace, "name": name}
    return Write(
        method="POST",
        path=EVENTS.collection(namespace),
        body=_json({"apiVersion": EVENTS.api_version, "kind": EVENTS.kind, "metadata": metadata, **content}),
    )


_json: Final = msgspec.json.encode


def _as_read(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as it comes back: with lists for tuples, and texts for what is written as text."""
    read: dict[str, Any] = msgspec.json.decode(_json(value))
    return read


def _without_blanks(**fields: str) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}
