"""The API server: a request and an instant in, a response or a watch out."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from sky_core.model import Duration, Instant
from sky_sandbox.api import reading, subresources
from sky_sandbox.api.bodies import delete_options
from sky_sandbox.api.deletion import Deleter
from sky_sandbox.api.identities import Identities
from sky_sandbox.api.kinds import Absent, Kind, Registry
from sky_sandbox.api.metadata import timestamp
from sky_sandbox.api.refusals import Refusal
from sky_sandbox.api.requests import Request, Target, options, target
from sky_sandbox.api.selection import selection
from sky_sandbox.api.storage import Change, Key, Storage, Stored
from sky_sandbox.api.watching import Watch
from sky_sandbox.api.writing import Done, Writer
from sky_sandbox.objects import definitions
from sky_sandbox.objects.catalogue import CORE
from sky_sandbox.views import discovery, openapi
from sky_sandbox.views.forms import form
from sky_shell.transport import JSON, Response


class Server:
    """A cluster's API in memory, with nobody in the cluster: no node comes up and no pod runs by itself."""

    def __init__(self, seed: str = "sandbox") -> None:
        """With the core kinds and nothing of them. What it names, it names by `seed`."""
        self.storage = Storage()
        self.registry = Registry(CORE)
        self.identities = Identities(seed)
        self.writer = Writer(self.storage, self.registry, self.identities)
        self.deleter = Deleter(self.writer)
        self.watches: dict[Watch, None] = {}
        self.storage.listen(definitions.RESOURCE, self._define)

    def handle(self, request: Request, now: Instant, *, behind: Duration = reading.UP_TO_DATE) -> Response | Watch:
        """Answer a request. `behind` is how old the cache is that answers lists which may be old."""
        try:
            return self._answer(request, now, behind)
        except Refusal as refusal:
            return refusal.response()

    def _answer(self, request: Request, now: Instant, behind: Duration) -> Response | Watch:
        if (described := self._described(request)) is not None:
            return described
        where = target(request.path)
        if where is None:
            raise Absent
        kind = self.registry.at(where)
        _ = request.timeout  # refused here where it is malformed; kept by whoever delivers the answer
        if request.method == "GET":
            if where.name:
                return reading.get(self.storage, kind, where, request, now)
            if request.flag("watch"):
                return self._watch(kind, where, request, now)
            return reading.listed(self.storage, kind, where, request, now, behind=behind)
        if (write := _WRITES.get((request.method, bool(where.name)))) is None:
            raise _not_allowed()
        if where.subresource not in {"", "status"} and request.method != "POST":
            raise _not_allowed()
        return write(self, kind, where, request, now)

    def _watch(self, kind: Kind, where: Target, request: Request, now: Instant) -> Watch:
        for one in [one for one in self.watches if one.ended]:
            del self.watches[one]
        watch = reading.watch(self.storage, kind, where, request, now)
        self.watches[watch] = None
        return watch

    def _described(self, request: Request) -> Response | None:
        """What is asked of the API itself; None if it is asked of objects."""
        versions = self.registry.versions()
        match request.path.strip("/").split("/"):
            case ["livez" | "readyz" | "healthz", *_]:
                return Response(200, b"ok", {"content-type": "text/plain; charset=utf-8"})
            case ["version"]:
                found: Any = discovery.version()
            case ["api"]:
                found = discovery.core_versions()
            case ["apis"]:
                found = discovery.group_list(self.registry)
            case ["apis", group] if version := next((v for g, v in versions if g == group), None):
                found = discovery.group(group, version)
            case ["api", version] if ("", version) in versions:
                found = discovery.resource_list(versions["", version])
            case ["apis", group, version] if (group, version) in versions:
                found = discovery.resource_list(versions[group, version])
            case ["openapi", "v2"] if openapi.V2_ASKED in request.accept:
                return Response(200, openapi.V2, {"content-type": openapi.V2_MEDIA})
            case ["openapi", "v3"]:
                found = openapi.index(self.registry)
            case ["openapi", "v3", "api", version] if ("", version) in versions:
                found = openapi.document(versions["", version])
            case ["openapi", "v3", "apis", group, version] if (group, version) in versions:
                found = openapi.document(versions[group, version])
            case _:
                return None
        return Response(200, msgspec.json.encode(found), {"content-type": JSON})

    def _create(self, kind: Kind, where: Target, request: Request, now: Instant) -> Response:
        done = self.writer.create(kind, where.namespace, request.json_object(), options(request), now)
        return _done(kind, request, done, now)

    def _create_part(self, kind: Kind, where: Target, request: Request, now: Instant) -> Response:
        key, body, wanted = (where.namespace, where.name), request.json_object(), options(request)
        match where.subresource:
            case "binding":
                subresources.bind(self.writer, kind, key, body, now, trial=wanted.dry_run)
            case "eviction":
                subresources.evict(self.writer, self.deleter, kind, key, body, now, trial=wanted.dry_run)
            case _:
                raise _not_allowed()
        return _success(201)

    def _update(self, kind: Kind, where: Target, request: Request, now: Instant) -> Response:
        key = (where.namespace, where.name)
        done = self.writer.update(
            kind, key, request.json_object(), options(request), now, subresource=where.subresource
        )
        return _done(kind, request, done, now)

    def _patch(self, kind: Kind, where: Target, request: Request, now: Instant) -> Response:
        key, media = (where.namespace, where.name), request.content_type.split(";")[0].strip()
        done = self.writer.patch(kind, key, request.json(), media, options(request), now, subresource=where.subresource)
        return _done(kind, request, done, now)

    def _delete(self, kind: Kind, where: Target, request: Request, now: Instant) -> Response:
        key = (where.namespace, where.name)
        stored, gone = self.deleter.delete(kind, key, delete_options(request), now)
        if gone and kind.plural not in _SHOWN_WHEN_GONE:
            return _success(200, kind, stored)
        return _done(kind, request, Done(stored=stored), now)

    def _delete_all(self, kind: Kind, where: Target, request: Request, now: Instant) -> Response:
        if "deletecollection" not in kind.verbs:
            raise _not_allowed()
        listed = reading.listed(self.storage, kind, where, request, now)
        wanted = delete_options(request)
        chosen = selection(kind, request)
        for stored in self.storage.objects(kind.kept_as, where.namespace):
            if chosen.takes(stored.object):
                self.deleter.delete(kind, _key(stored), wanted, now)
        return listed

    def _define(self, change: Change) -> None:
        """Serve what a definition defines, as it is now; and end the watches that saw it otherwise."""
        resource = change.key[1]
        if change.type == "DELETED":
            self.registry.remove(resource)
        else:
            kind = definitions.kind_of(change.now.object)
            self.registry.put(kind)
        if change.type == "ADDED":
            raw = definitions.established(change.now.object, timestamp(change.at))
            self.storage.put(change.resource, change.key, raw, change.at)
        elif change.before is not None and change.before.object["spec"] != change.now.object["spec"]:
            self.storage.table(resource).end_watches()
        if change.type == "DELETED":
            self.storage.table(resource).end_watches()


_SHOWN_WHEN_GONE: Final = frozenset({"pods", "persistentvolumes", "persistentvolumeclaims"})
"""Of these kinds a deletion is answered with what went; of others with what was done."""

_Write = Callable[[Server, Kind, Target, Request, Instant], Response]
_WRITES: Final[Mapping[tuple[str, bool], _Write]] = {
    ("POST", False): Server._create,
    ("POST", True): Server._create_part,
    ("PUT", True): Server._update,
    ("PATCH", True): Server._patch,
    ("DELETE", True): Server._delete,
    ("DELETE", False): Server._delete_all,
}
"""By the method, and by whether the path names an object."""


def _not_allowed() -> Refusal:
    return Refusal(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def _key(stored: Stored) -> Key:
    metadata = stored.object["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _done(kind: Kind, request: Request, done: Done, now: Instant) -> Response:
    shown = form(kind, request)
    headers = {"content-type": shown.content_type}
    if done.warnings:
        headers["warning"] = ", ".join(f'299 - "{_quoted(text)}"' for text in done.warnings)
    return Response(201 if done.created else 200, shown.one(done.stored, now), headers)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _success(status: int, kind: Kind | None = None, stored: Stored | None = None) -> Response:
    found: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    if kind is not None and stored is not None:
        metadata = stored.object["metadata"]
        about = {"name": metadata["name"], "kind": kind.plural, "uid": metadata["uid"]}
        found["details"] = {**about, "group": kind.group} if kind.group else about
    else:
        found["code"] = status
    return Response(status, msgspec.json.encode(found), {"content-type": JSON})
