"""What the reflectors tell, kept until a cycle takes it up: the world is never touched while a cycle looks at it."""

from typing import Final, NamedTuple

import msgspec
import trio

from sky_core.api.identity import Key
from sky_core.decisions import Decision
from sky_shell.objects import Identity, read_head
from sky_shell.resources import NODES, SEEN, Resource


class News(NamedTuple):
    """The latest of one object; `raw` None: it is gone. `is_echo`: told by nobody but the answer to a write of ours."""

    identity: Identity
    raw: bytes | None
    is_echo: bool = False


class Taken(NamedTuple):
    """What has happened since the last time."""

    news: dict[Key, News]
    answered: tuple[Decision, ...]


class Mirror:
    """A `sky_shell.objects.Sink`. Of each object only the latest is kept, so that no burst makes it grow.

    What an acknowledged write made of an object counts at once; what the watch says later of versions before that does
    not.

    Attributes:
        complete: Set once every kind has been listed.
        nodes: The names of the nodes that are there now.
    """

    def __init__(self) -> None:
        """Nothing has been told."""
        self.start_over()

    def start_over(self) -> None:
        """Forget everything."""
        self.complete = trio.Event()
        self.nodes: set[str] = set()
        self._news: dict[Key, News] = {}
        self._answered: list[Decision] = []
        self._unlisted = set(SEEN)

    def put(self, resource: Resource, identity: Identity, raw: bytes) -> None:
        """See `Sink.put`."""
        key = _key(resource, identity)
        if resource is NODES:
            self.nodes.add(identity.name)
        known = self._news.get(key)
        if known is None or known.raw is None or not identity.is_older_than(known.identity):
            self._news[key] = News(identity, raw)

    def remove(self, resource: Resource, identity: Identity) -> None:
        """See `Sink.remove`."""
        key = _key(resource, identity)
        if resource is NODES:
            self.nodes.discard(identity.name)
        known = self._news.get(key)
        if known is None or known.identity.uid == identity.uid:
            self._news[key] = News(identity, None)

    def synced(self, resource: Resource) -> None:
        """See `Sink.synced`."""
        self._unlisted.discard(resource)
        if not self._unlisted:
            self.complete.set()

    def acknowledged(self, resource: Resource, body: bytes) -> None:
        """A write of ours was answered with the object as it is by then. Answers of other kinds tell nothing."""
        if not body or _kind(body).kind != resource.kind:
            return
        identity = read_head(body).identity
        key = _key(resource, identity)
        known = self._news.get(key)
        if known is None:
            self._news[key] = News(identity, body, is_echo=True)
        elif known.raw is not None and known.identity.is_older_than(identity):
            self._news[key] = News(identity, body, known.is_echo)

    def answered(self, decision: Decision) -> None:
        """From the next cycle on a decision is not assumed any more."""
        self._answered.append(decision)

    def take(self) -> Taken:
        """What has come since this was last called."""
        taken = Taken(self._news, tuple(self._answered))
        self._news, self._answered = {}, []
        return taken


class _Kind(msgspec.Struct):
    """Of whatever a server answers with."""

    kind: str = ""


_kind: Final = msgspec.json.Decoder(_Kind).decode


def _key(resource: Resource, identity: Identity) -> Key:
    return Key(resource.kind, identity.namespace, identity.name)
