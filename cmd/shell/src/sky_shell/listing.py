"""A whole list, of one resourceVersion, in pages."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from sky_shell.answers import Status, status_of
from sky_shell.objects import Identity, Page, read_head, read_page
from sky_shell.resources import Resource
from sky_shell.transport import Transport

PAGE: Final = 500
PAGE_SECONDS: Final = 60.0


class RefusedError(Exception):
    """The server answered with this instead of objects."""

    def __init__(self, status: Status) -> None:
        """`status` says why."""
        super().__init__(str(status))
        self.status = status


class Listed(NamedTuple):
    """All objects of a kind as of `version`, by namespace and name."""

    version: str
    objects: Mapping[tuple[str, str], tuple[Identity, bytes]]


async def list_all(transport: Transport, resource: Resource) -> Listed:
    """What is there now: the answer is never older than the question.

    Should the pages not fit together (the second is asked for too late, or of another version), the list is asked for
    once more in one piece.

    Raises:
        RefusedError: The server has another answer.
        TransportError: It has none.
        msgspec.DecodeError: Its answer can't be read.
    """
    try:
        return await _list(transport, resource, {"limit": str(PAGE)})
    except RefusedError as error:
        if not error.status.is_gone:
            raise
        return await _list(transport, resource, {})


async def _list(transport: Transport, resource: Resource, query: Mapping[str, str]) -> Listed:
    objects: dict[tuple[str, str], tuple[Identity, bytes]] = {}
    page = await _page(transport, resource, query)
    version = page.metadata.resource_version
    while True:
        for raw in page.items or ():
            identity = read_head(raw).identity
            objects[identity.key] = identity, bytes(raw)
        if not page.metadata.continue_:
            return Listed(version, objects)
        page = await _page(transport, resource, {**query, "continue": page.metadata.continue_})
        if page.metadata.resource_version != version:
            raise RefusedError(Status(code=410, reason="Expired", message="the pages are of two resourceVersions"))


async def _page(transport: Transport, resource: Resource, query: Mapping[str, str]) -> Page:
    response = await transport.request("GET", resource.collection(), query=query, timeout=PAGE_SECONDS)
    if response.status != 200:
        raise RefusedError(status_of(response))
    page = read_page(response.body)
    if not page.metadata.resource_version:
        raise msgspec.DecodeError(f"the list of {resource} has no resourceVersion")
    return page
