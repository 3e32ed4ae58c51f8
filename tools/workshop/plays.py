"""Plays: requests, one after the other, that may be put to any API server.

`$a.uid` in a path, a query or a body is the uid of the answer that was kept as `a`; so is every other field of its
metadata. `$ns` is the namespace in which the play is played.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import msgspec

from sky_shell.transport import APPLY_PATCH, JSON, MERGE_PATCH, STRATEGIC_PATCH

JSON_PATCH: Final = "application/json-patch+json"
KEPT: Final = "$"
"""A key of a body: the answer that was kept under this name, into which the rest of the body is merged."""

_PLACE: Final = re.compile(r"\$(\w+)\.(\w+)|\$ns\b")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One request.

    Attributes:
        gets: The status and the reason of the answer, wherever it is put: `409 Conflict`.
        elsewise: What the sandbox does otherwise here, if it does: a key of ELSEWISE.
        keep: The name under which the answer is kept.
        lines: A watch, of which so many lines are read, or all until it ends if there are fewer; None: no watch.
        until: What the answer must hold; until it does the request is put again.
    """

    method: str
    path: str
    query: Mapping[str, str] = {}
    body: object = None
    media: str = JSON
    gets: str = "200"
    elsewise: str = ""
    keep: str = ""
    lines: int | None = None
    until: Mapping[str, object] = {}


class Elsewise(NamedTuple):
    """What the sandbox does otherwise than an API server, and why.

    Attributes:
        why: The reason, for people.
        verdict: What it says instead; empty if it does the same.
        fields: Where its answer differs then: a form of the paths that differences name.
    """

    why: str
    verdict: str = ""
    fields: str = ""


UNSUPPORTED: Final = "501 NotImplemented"
ELSEWISE: Final[Mapping[str, Elsewise]] = {
    "garbage": Elsewise("it collects no garbage: a deletion that waits for that would wait for ever", UNSUPPORTED),
    "rule": Elsewise("it evaluates no CEL, and knows the rules of our own kinds by their text", UNSUPPORTED),
    "scale": Elsewise("nobody here scales anything, and custom kinds have no part but their status", UNSUPPORTED),
    "word": Elsewise("it judges by those words of schemas only that our own kinds use", UNSUPPORTED),
    "gated affinity": Elsewise("which changes narrow an affinity is long to tell, and nobody makes any", UNSUPPORTED),
    "protection": Elsewise(
        "nobody in it uses volumes, or takes the finalizers off again that protect those that are in use",
        fields=r"\.body\.metadata\.finalizers",
    ),
    "first fault": Elsewise(
        "of a definition that cannot be read it names what is wrong first", fields=r"\.body\.details\.causes\..*"
    ),
}  # fmt: skip
"""All that the sandbox is known to do otherwise. A play names it at the step where it shows, and fails where it does
not show there."""


class Play(Protocol):
    """Plays steps, and fails where an answer is another one than the step says."""

    def __call__(self, *steps: Step) -> None:
        """In this order."""


Kept: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Answers by the names under which they were kept."""


def get(path: str, gets: str = "200", *, keep: str = "", **query: object) -> Step:
    """Read an object or a list."""
    return Step(method="GET", path=path, query=_query(query), gets=gets, keep=keep)


def watch(path: str, gets: str = "200", *, lines: int = 1000, **query: object) -> Step:
    """Read so many lines of a watch, or until it ends, which it does after a second unless the query says otherwise."""
    said = _query({"watch": True, "timeoutSeconds": 1, **query})
    return Step(method="GET", path=path, query=said, gets=gets, lines=lines)


def post(path: str, body: object, gets: str = "201", *, keep: str = "", **query: object) -> Step:
    """Make an object."""
    return Step(method="POST", path=path, query=_query(query), body=body, gets=gets, keep=keep)


def put(path: str, body: object, gets: str = "200", *, keep: str = "", **query: object) -> Step:
    """Replace an object."""
    return Step(method="PUT", path=path, query=_query(query), body=body, gets=gets, keep=keep)


def delete(path: str, body: object = None, gets: str = "200", **query: object) -> Step:
    """Delete an object."""
    return Step(method="DELETE", path=path, query=_query(query), body=body, gets=gets)


def merge(path: str, body: object, gets: str = "200", *, keep: str = "", **query: object) -> Step:
    """Change an object by a merge patch."""
    return _patch(MERGE_PATCH, path, body, gets, keep, query)


def strategic(path: str, body: object, gets: str = "200", *, keep: str = "", **query: object) -> Step:
    """Change an object by a strategic merge patch."""
    return _patch(STRATEGIC_PATCH, path, body, gets, keep, query)


def json_patch(path: str, *operations: object, gets: str = "200", keep: str = "", **query: object) -> Step:
    """Change an object by a JSON patch."""
    return _patch(JSON_PATCH, path, operations, gets, keep, query)


def apply(path: str, body: object, gets: str = "200", *, by: str = "alice", keep: str = "", **query: object) -> Step:
    """Change or make an object by server-side apply."""
    return _patch(APPLY_PATCH, path, body, gets, keep, {"fieldManager": by, **query})


def elsewise(what: str, step: Step) -> Step:
    """A step that the sandbox answers otherwise than an API server."""
    return msgspec.structs.replace(step, elsewise=what)


def learned(step: Step, **holds: object) -> Step:
    """A step that is put until its answer holds this: a server's admission hears of what was written by a watch."""
    return msgspec.structs.replace(step, until=holds)


def again(name: str, **changes: object) -> dict[str, object]:
    """The object that was kept under a name, with changes merged into it."""
    return {KEPT: name, **changes}


def filled(step: Step, kept: Kept, namespace: str) -> Step:
    """The step with everything in its places."""

    def text(value: str) -> str:
        return _PLACE.sub(lambda found: str(kept[found[1]]["metadata"][found[2]]) if found[1] else namespace, value)

    return msgspec.structs.replace(
        step,
        path=text(step.path),
        query={name: text(value) for name, value in step.query.items()},
        body=_filled(step.body, kept, text),
    )


def _filled(value: object, kept: Kept, text: Callable[[str], str]) -> object:
    match value:
        case str():
            return text(value)
        case {"$": str() as name, **rest}:
            return _merged(kept[name], _filled(rest, kept, text))
        case Mapping():
            return {key: _filled(inner, kept, text) for key, inner in value.items()}
        case Sequence() if not isinstance(value, bytes):
            return [_filled(inner, kept, text) for inner in value]
        case _:
            return value


def _merged(old: object, new: object) -> object:
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    return {**old, **{key: _merged(old.get(key), inner) for key, inner in new.items()}}


def _patch(media: str, path: str, body: object, gets: str, keep: str, query: Mapping[str, object]) -> Step:
    return Step(method="PATCH", path=path, query=_query(query), body=body, media=media, gets=gets, keep=keep)


def _query(said: Mapping[str, object]) -> dict[str, str]:
    """As clients write it; a trailing underscore keeps a name from being a word of Python."""
    return {
        name.rstrip("_"): str(value).lower() if isinstance(value, bool) else str(value) for name, value in said.items()
    }
