"""Reads: an object, a list in pages, a watch."""

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from sky_core.model import SECOND, Duration, Instant
from sky_sandbox.api.kinds import Kind
from sky_sandbox.api.refusals import Cause, Refusal, bad_request, defect, expired, invalid, not_found
from sky_sandbox.api.requests import Request, Target
from sky_sandbox.api.selection import selection
from sky_sandbox.api.storage import Key, Storage, Stored
from sky_sandbox.api.watching import LONGEST, Plan, Watch
from sky_sandbox.views.forms import form
from sky_shell.transport import Response

UP_TO_DATE: Final = Duration(0)


class _Page(NamedTuple):
    """Where a list goes on: of which version it is, and after which key."""

    version: int
    after: Key


def get(storage: Storage, kind: Kind, target: Target, request: Request, now: Instant) -> Response:
    """One object.

    Raises:
        Refusal: It is not there, or not yet known as it was at the version that is asked for.
    """
    shown = form(kind, request)
    _check_reached(request.number("resourceVersion"), storage.version)
    stored = storage.find(kind.kept_as, (target.namespace, target.name))
    if stored is None:
        raise not_found(kind.resource, target.name)
    return Response(200, shown.one(stored, now), {"content-type": shown.content_type})


def listed(
    storage: Storage, kind: Kind, target: Target, request: Request, now: Instant, *, behind: Duration = UP_TO_DATE
) -> Response:
    """A list, or a page of one. `behind` is how old the server's cache is, which answers where that is good enough.

    Raises:
        Refusal: What is asked for is not known any more, or not yet.
    """
    shown = form(kind, request)
    chosen = selection(kind, request)
    page = _page(request.query.get("continue", ""))
    version = page.version if page else _version(storage, kind, request, now, behind)
    found = [
        (key, stored)
        for key, stored in _as_of(storage, kind, version)
        if (not target.namespace or key[0] == target.namespace)
        and (page is None or key > page.after)
        and chosen.takes(stored.object)
    ]
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    limit = 0 if request.query.get("resourceVersion") == "0" else request.number("limit")
    if limit and len(found) > limit:
        metadata |= {
            "continue": _token(_Page(version, found[limit - 1][0])),
            "remainingItemCount": len(found) - limit,
        }
        found = found[:limit]
    body = shown.many([stored for _, stored in found], metadata, now)
    return Response(200, body, {"content-type": shown.content_type})


def watch(storage: Storage, kind: Kind, target: Target, request: Request, now: Instant) -> Watch:
    """A watch: from a version on; or, without one, of everything, what is there first."""
    text, initial = request.query.get("resourceVersion") or "0", request.flag("sendInitialEvents")
    _check_options(_WATCH_RULES, request)
    if not text.isdigit():
        raise defect(f'resourceVersion: Invalid value: "{text}"')
    version = int(text)
    chosen = selection(kind, request)
    there: Sequence[Stored] = ()
    if not version or initial:
        there = [one for one in storage.objects(kind.kept_as, target.namespace) if chosen.takes(one.object)]
    seconds = request.number("timeoutSeconds")
    plan = Plan(
        resource=kind.kept_as,
        namespace=target.namespace,
        selection=chosen,
        form=form(kind, request),
        start=storage.version if not version or initial else version,
        bookmarks=request.flag("allowWatchBookmarks"),
        initial=tuple(there),
        announce=initial and request.flag("allowWatchBookmarks"),
        lasting=Duration(seconds * SECOND) if seconds else LONGEST,
    )
    return Watch(storage, plan, now)


_Rule = Callable[[str, Mapping[str, str]], object]
_Rules = Sequence[tuple[str, str, _Rule]]
"""A field of the query, the type of cause, and when it is wrong, by resourceVersionMatch and the query (apimachinery,
ValidateListOptions)."""

_MATCH: Final = "resourceVersionMatch"
_INITIAL: Final = "sendInitialEvents"
_LIST_RULES: Final[_Rules] = (
    (_MATCH, "FieldValueForbidden", lambda match, query: match and not query.get("resourceVersion")),
    (_MATCH, "FieldValueForbidden", lambda match, query: match and query.get("continue")),
    (_MATCH, "FieldValueForbidden", lambda match, query: match == "Exact" and query.get("resourceVersion") == "0"),
    (_MATCH, "FieldValueNotSupported", lambda match, _: match not in {"", "Exact", "NotOlderThan"}),
    (_INITIAL, "FieldValueForbidden", lambda _, query: _INITIAL in query),
)
_WATCH_RULES: Final[_Rules] = (
    (_MATCH, "FieldValueForbidden", lambda match, query: _INITIAL in query and match != "NotOlderThan"),
    (_MATCH, "FieldValueForbidden", lambda match, query: match and _INITIAL not in query),
    (_MATCH, "FieldValueNotSupported", lambda match, _: match not in {"", "NotOlderThan"}),
)


def _check_options(rules: _Rules, request: Request) -> None:
    match = request.query.get(_MATCH, "")
    causes = [
        Cause(field, f"{match!r} is not possible here", kind)
        for field, kind, wrong in rules
        if wrong(match, request.query)
    ]
    if causes:
        raise invalid("ListOptions.meta.k8s.io", "", causes)


def _version(storage: Storage, kind: Kind, request: Request, now: Instant, behind: Duration) -> int:
    """The version that a list shows."""
    text, match = request.query.get("resourceVersion", ""), request.query.get("resourceVersionMatch", "")
    wanted = request.number("resourceVersion")
    _check_options(_LIST_RULES, request)
    cached = storage.version
    if not text:
        storage.told = cached
    if behind and text:
        cached = storage.table(kind.kept_as).version_at(Instant(now - behind))
    _check_reached(wanted, cached)
    return wanted if match == "Exact" else cached


def _check_reached(wanted: int, current: int) -> None:
    if wanted > current:
        message = f"Too large resource version: {wanted}, current: {current}"
        causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
        raise Refusal(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})


def _as_of(storage: Storage, kind: Kind, version: int) -> list[tuple[Key, Stored]]:
    table = storage.table(kind.kept_as)
    if version == storage.version:
        return sorted(table.objects.items(), key=lambda item: item[0])
    if version < table.floor:
        raise expired("The provided continue parameter is too old to display a consistent list result.")
    return sorted(table.as_of(version).items(), key=lambda item: item[0])


def _token(page: _Page) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(page)).decode().rstrip("=")


def _page(token: str) -> _Page | None:
    if not token:
        return None
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(token + "==="), type=_Page)
    except (ValueError, msgspec.MsgspecError):
        raise bad_request("continue key is not valid") from None
