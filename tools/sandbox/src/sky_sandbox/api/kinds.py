"""What the server knows of a kind of object, and which kinds it serves."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from sky_sandbox.api.refusals import Refusal, not_found, unsupported
from sky_sandbox.api.requests import Target
from sky_shell.transport import Response


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column that `kubectl get` prints; a wide one with `-o wide` only. `path` is a JSONPath without braces."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of object.

    Attributes:
        fields: Field selectors beyond `metadata.name` and `metadata.namespace`.
        schema: Structural for a custom kind; of a core kind only the keys of its lists.
        custom: Whether a CustomResourceDefinition made it.
        counted: Whether `metadata.generation` counts changes: of a core kind those of its spec.
        stored_as: The resource as which it is kept; another kind's if both show the same objects.
        conditional: Whether a PUT must say which version it replaces.
        made_by_update: Whether a PUT makes an object that is not there.
        unwritable: What having some would take; empty if they can be made.
    """

    plural: str
    kind: str
    group: str = ""
    version: str = "v1"
    singular: str = ""
    namespaced: bool = False
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    schema: Mapping[str, Any] = {}
    custom: bool = False
    counted: bool = False
    stored_as: str = ""
    conditional: bool = False
    made_by_update: bool = False
    unwritable: str = ""

    @property
    def api_version(self) -> str:
        """As `apiVersion` says it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """The plural, with the group if there is one: what it is called in messages, and among all kinds."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def kept_as(self) -> str:
        """Where the storage has its objects."""
        return self.stored_as or self.resource

    @property
    def qualified(self) -> str:
        """The kind, with the group if there is one, as messages about validity name it."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def verbs(self) -> tuple[str, ...]:
        """What can be done with its objects."""
        reading = {"get", "list", "watch"}
        writing = {"create", "delete", "deletecollection", "patch", "update"}
        if self.kept_as == "namespaces":
            writing.remove("deletecollection")
        return tuple(sorted(reading if self.unwritable else reading | writing))

    def envelope(self) -> bytes:
        """How the JSON of one of its objects begins; what follows is the stored object without its first brace."""
        return b'{"apiVersion":"%s","kind":"%s",' % (self.api_version.encode(), self.kind.encode())


class Registry:
    """The kinds that the server serves, by resource."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        """With these kinds to begin with."""
        self._kinds = {kind.resource: kind for kind in kinds}

    def __iter__(self) -> Iterator[Kind]:
        """The kinds in the order in which they came."""
        return iter(list(self._kinds.values()))

    def __getitem__(self, resource: str) -> Kind:
        """The kind of this resource."""
        return self._kinds[resource]

    def put(self, kind: Kind) -> None:
        """Serve a kind, or serve it as it is now."""
        self._kinds[kind.resource] = kind

    def remove(self, resource: str) -> None:
        """Serve a kind no more."""
        self._kinds.pop(resource, None)

    def of_object(self, api_version: str, kind: str) -> Kind | None:
        """The kind that an object says it has."""
        return next((one for one in self if one.kind == kind and one.api_version == api_version), None)

    def versions(self) -> dict[tuple[str, str], list[Kind]]:
        """The kinds of each group and version."""
        found: dict[tuple[str, str], list[Kind]] = {}
        for kind in self:
            found.setdefault((kind.group, kind.version), []).append(kind)
        return found

    def at(self, target: Target) -> Kind:
        """The kind whose collection, object or part a target is.

        Raises:
            Refusal: There would be one in a cluster, and the sandbox has none; or the kind has no such part.
            Absent: No API of this group is there.
        """
        resource = f"{target.plural}.{target.group}" if target.group else target.plural
        kind = self._kinds.get(resource)
        if kind is None or kind.version != target.version:
            if _is_core(target.group):
                raise unsupported(f"serve {resource} in {target.version}")
            raise Absent
        if target.subresource and target.subresource not in kind.subresources:
            if kind.custom:
                raise not_found(resource, target.name)
            raise unsupported(f"serve {resource}/{target.subresource}")
        return kind


class Absent(Refusal):
    """Nothing is served at this path: a plain 404, as where a definition is missing."""

    def __init__(self) -> None:
        """The one that there is."""
        super().__init__(404, "NotFound", "404 page not found")

    def response(self) -> Response:
        """Plain text, as the API server has it for a path that it does not know."""
        return Response(404, b"404 page not found\n", {"content-type": "text/plain; charset=utf-8"})


def _is_core(group: str) -> bool:
    """Whether it is a group that every cluster has."""
    return "." not in group or group.endswith(".k8s.io")
