"""As much of an object as it takes to keep track of it."""

from typing import Final, Protocol

import msgspec

from sky_shell.resources import Resource


class Identity(msgspec.Struct, frozen=True, gc=False):
    """An object as of one of its versions. Another object may have had its name, but never its uid."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    version: str = msgspec.field(default="", name="resourceVersion")

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return (self.namespace, self.name)

    def is_older_than(self, other: "Identity") -> bool:
        """Whether both are the same object, and this the earlier version."""
        return self.uid == other.uid and self.precedes(other)

    def precedes(self, other: "Identity") -> bool:
        """Whether this is the earlier version, be it of an object that had the name before: versions count upwards.

        KEP-5504 says that they do, within a kind. Of others nothing is known.
        """
        if not (self.version.isdecimal() and other.version.isdecimal()):
            return False
        return int(self.version) < int(other.version)


class Sink(Protocol):
    """Whoever wants to know what is there. Calls come from one task, and none of them may block for long."""

    def put(self, resource: Resource, identity: Identity, raw: bytes) -> None:
        """An object has come or changed. In a list of core kinds `raw` lacks apiVersion and kind."""

    def remove(self, resource: Resource, identity: Identity) -> None:
        """An object has gone."""

    def synced(self, resource: Resource) -> None:
        """What was put and not removed is what is there: a whole list has been told."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """An object but for its content."""

    identity: Identity = msgspec.field(name="metadata")
    kind: str = ""


class ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    """Of a list: its version, and where its next part begins."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class Page(msgspec.Struct, frozen=True):
    """A part of a list."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class Event(msgspec.Struct, frozen=True):
    """A line of a watch."""

    type: str
    object: msgspec.Raw


read_head: Final = msgspec.json.Decoder(Head).decode
read_page: Final = msgspec.json.Decoder(Page).decode
read_event: Final = msgspec.json.Decoder(Event).decode
