"""What a new cluster has, and a sandbox's state as JSON: saved and loaded, and set up past validation."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sky_core.model import Instant
from sky_core.simulation.objects import Object, part, text
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.metadata import timestamp
from sky_sandbox.api.refusals import unsupported
from sky_sandbox.api.requests import Options
from sky_sandbox.api.server import Server
from sky_sandbox.api.storage import Key
from sky_sandbox.objects import definitions

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


class State(msgspec.Struct, frozen=True, kw_only=True):
    """All that a sandbox must know to go on. Objects are as clients see them, definitions first."""

    seed: str
    made: int
    version: int
    objects: tuple[Mapping[str, Any], ...]


def new_server(now: Instant, seed: str = "sandbox") -> Server:
    """A server with the namespaces and priority classes that every cluster has."""
    server = Server(seed)
    for name in NAMESPACES:
        server.writer.create(server.registry["namespaces"], "", _named("v1", "Namespace", name), Options(), now)
    classes = server.registry["priorityclasses.scheduling.k8s.io"]
    for name, value in PRIORITIES.items():
        raw = {**_named("scheduling.k8s.io/v1", "PriorityClass", name), "value": value}
        server.writer.create(classes, "", raw, Options(), now)
    return server


def saved(server: Server) -> bytes:
    """The state of a server."""
    kinds = [kind for kind in server.registry if not kind.stored_as]
    kinds.sort(key=lambda kind: kind.resource != definitions.RESOURCE)
    objects = tuple(
        {"apiVersion": kind.api_version, "kind": kind.kind, **stored.object}
        for kind in kinds
        for stored in server.storage.objects(kind.resource)
    )
    made = server.identities
    state = State(seed=made.seed, made=made.made, version=server.storage.version, objects=objects)
    return msgspec.json.encode(state)


def restored(saved_state: bytes) -> Server:
    """The server whose state was saved. Watches from before have to list anew.

    Raises:
        ValueError: It is no state.
        Refusal: It has objects that the sandbox does not serve.
    """
    state = msgspec.json.decode(saved_state, type=State)
    server = Server(state.seed)
    for raw in state.objects:
        kind, key, bare = _taken_apart(server, raw)
        server.storage.restore(kind.kept_as, key, bare)
        if kind.resource == definitions.RESOURCE:
            server.registry.put(definitions.kind_of(bare))
    server.identities.made = state.made
    server.storage.go_on_from(state.version)
    return server


def load(server: Server, objects: Iterable[Mapping[str, Any]], now: Instant) -> None:
    """Put objects in as they are, past validation and defaults; what has no uid or no time of creation gets one.

    Raises:
        Refusal: The sandbox does not serve one of them.
    """
    for raw in objects:
        kind, key, bare = _taken_apart(server, raw)
        metadata = dict(bare["metadata"])
        metadata["uid"] = text(metadata, "uid") or server.identities.uid()
        metadata["creationTimestamp"] = text(metadata, "creationTimestamp") or timestamp(now)
        server.storage.put(kind.kept_as, key, {**bare, "metadata": metadata}, now)


def _taken_apart(server: Server, raw: Object) -> tuple[Kind, Key, dict[str, Any]]:
    """An object's kind and key, and what the storage keeps of it."""
    kind = server.registry.of_object(str(raw.get("apiVersion")), str(raw.get("kind")))
    if kind is None:
        raise unsupported(f"serve {raw.get('kind')} of {raw.get('apiVersion')}")
    metadata = dict(part(raw, "metadata"))
    if kind.namespaced:
        metadata["namespace"] = text(metadata, "namespace") or "default"
    bare = {name: value for name, value in raw.items() if name not in {"apiVersion", "kind"}}
    key = (text(metadata, "namespace"), text(metadata, "name"))
    return kind, key, {**bare, "metadata": metadata}


def _named(api_version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
