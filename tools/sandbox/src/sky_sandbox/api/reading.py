"""Reads: an object, a list in pages, a watch."""

import base64
from collections.abc import Sequence
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
_MATCHES: Final = frozenset({"", "Exact", "NotOlderThan"})


class _Page(NamedTuple):
    """Where a list goes on: of which version it is, and after which key."""

    version: int
    after: Key


def get(storage: Storage, kind: Kind, target: Target, request: Request, now: Instant) -> Response:
    """One object."""
    shown = form(kind, request)
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
    _check_match(request)
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
        announce=initial,
        lasting=Duration(seconds * SECOND) if seconds else LONGEST,
    )
    return Watch(storage, plan, now)


def _check_match(request: Request) -> None:
    """The rules for resourceVersionMatch and sendInitialEvents together (apimachinery, ValidateListOptions)."""
    match, initial = request.query.get("resourceVersionMatch", ""), request.query.get("sendInitialEvents")
    causes = []
    if initial is not None and match != "NotOlderThan":
        why = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        causes.append(Cause("resourceVersionMatch", why, "FieldValueForbidden"))
    if initial is None and match:
        why = "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(Cause("resourceVersionMatch", why, "FieldValueForbidden"))
    if causes:
        raise invalid("ListOptions.meta.k8s.io", "", causes)


def _version(storage: Storage, kind: Kind, request: Request, now: Instant, behind: Duration) -> int:
    """The version that a list shows."""
    text, match = request.query.get("resourceVersion", ""), request.query.get("resourceVersionMatch", "")
    wanted = request.number("resourceVersion")
    unfit = match not in _MATCHES or (match and not text) or (match == "Exact" and text == "0")
    if unfit or "sendInitialEvents" in request.query:
        cause = Cause("resourceVersionMatch", f"Forbidden: {match!r} with resourceVersion {text!r}")
        raise invalid("ListOptions.meta.k8s.io", "", [cause])
    cached = storage.version
    if behind and text:
        cached = storage.table(kind.kept_as).version_at(Instant(now - behind))
    if wanted > cached:
        message = f"Too large resource version: {wanted}, current: {cached}"
        causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
        raise Refusal(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})
    return wanted if match == "Exact" else cached


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
