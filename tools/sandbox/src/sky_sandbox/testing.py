"""For tests: requests played at a server one by one, and objects with no more in them than a test says."""

from collections.abc import Mapping
from typing import Any

import msgspec

from sky_core.api.instants import instant
from sky_core.model import Duration, Instant
from sky_sandbox.api.requests import Request
from sky_sandbox.api.server import Server
from sky_sandbox.api.watching import Watch
from sky_sandbox.state import new_server
from sky_shell.transport import JSON

START = instant("2026-01-01T00:00:00Z")
PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


class Reply(msgspec.Struct, frozen=True):
    """What a server answered; `body` is its object, or what it wrote otherwise as `text`."""

    status: int
    body: dict[str, Any]
    headers: Mapping[str, str]
    text: str

    @property
    def reason(self) -> str:
        """The reason of a refusal."""
        return str(self.body.get("reason", ""))

    @property
    def version(self) -> str:
        """The resourceVersion of an object or a list."""
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def names(self) -> list[str]:
        """The names of a list's items."""
        return [item["metadata"]["name"] for item in self.body["items"]]


class Caller:
    """Plays requests at a server; `now` is the instant at which it does."""

    def __init__(self, server: Server | None = None) -> None:
        """At this server; None: at that of a new cluster."""
        self.now = START
        self.server = server or new_server(START)

    def pass_time(self, by: Duration) -> None:
        """Let time go by."""
        self.now = Instant(self.now + by)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        media: str = JSON,
        accept: str = JSON,
        query: Mapping[str, object] = {},
    ) -> Reply:
        """Play one request that has one answer."""
        answer = self.server.handle(_request(method, path, body, media, accept, query), self.now)
        assert not isinstance(answer, Watch), f"{path} is a watch"  # noqa: S101 - a test is wrong, not the code
        is_json = answer.headers["content-type"].startswith(JSON)
        decoded = msgspec.json.decode(answer.body) if is_json else {}
        return Reply(answer.status, decoded, answer.headers, answer.body.decode())

    def get(self, path: str, *, accept: str = JSON, **query: object) -> Reply:
        """Read an object or a list."""
        return self.ask("GET", path, accept=accept, query=query)

    def post(self, path: str, body: object, **query: object) -> Reply:
        """Make an object."""
        return self.ask("POST", path, body, query=query)

    def put(self, path: str, body: object, **query: object) -> Reply:
        """Replace an object."""
        return self.ask("PUT", path, body, query=query)

    def patch(self, path: str, body: object, media: str, **query: object) -> Reply:
        """Change an object."""
        return self.ask("PATCH", path, body, media=media, query=query)

    def delete(self, path: str, body: object = None, **query: object) -> Reply:
        """Delete an object."""
        return self.ask("DELETE", path, body, query=query)

    def watch(self, path: str, *, accept: str = JSON, **query: object) -> Watch:
        """Begin a watch."""
        request = _request("GET", path, None, JSON, accept, {"watch": True, **query})
        answer = self.server.handle(request, self.now)
        assert isinstance(answer, Watch), answer  # noqa: S101
        return answer

    def lines(self, watch: Watch) -> list[dict[str, Any]]:
        """What a watch tells now."""
        return [msgspec.json.decode(line) for line in watch.take(self.now)]

    def told(self, watch: Watch) -> list[tuple[str, str]]:
        """The types of what a watch tells now, and the names."""
        return [(line["type"], line["object"]["metadata"].get("name", "")) for line in self.lines(watch)]


def named(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    """An object that has its name, and what else is said."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **more}


def pod(name: str, *, node: str = "", annotations: Mapping[str, str] = {}, **requests: str) -> dict[str, Any]:
    """A pod; `requests` by resource, with `gpu` for nvidia.com/gpu."""
    asked = {"nvidia.com/gpu" if resource == "gpu" else resource: amount for resource, amount in requests.items()}
    limits = {resource: amount for resource, amount in asked.items() if "/" in resource}
    container = {"name": "main", "image": "image", "resources": {"requests": asked, "limits": limits}}
    spec = {"containers": [container], **({"nodeName": node} if node else {})}
    raw = named("v1", "Pod", name, spec=spec)
    raw["metadata"] |= {"labels": {"app": name}, "annotations": dict(annotations)}
    return raw


def node(name: str, **allocatable: str) -> dict[str, Any]:
    """A node; `allocatable` by resource, with `gpu` for nvidia.com/gpu, and room for 110 pods."""
    room = {"nvidia.com/gpu" if resource == "gpu" else resource: amount for resource, amount in allocatable.items()}
    return named("v1", "Node", name, status={"allocatable": {"pods": "110", **room}})


def binding(pod: str, node: str, **metadata: object) -> dict[str, Any]:
    """A Binding of a pod to a node."""
    raw = named("v1", "Binding", pod, target={"kind": "Node", "name": node})
    raw["metadata"] |= metadata
    return raw


def _request(method: str, path: str, body: object, media: str, accept: str, query: Mapping[str, object]) -> Request:
    said = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
    encoded = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
    return Request(method=method, path=path, query=said, accept=accept, content_type=media, body=encoded)
