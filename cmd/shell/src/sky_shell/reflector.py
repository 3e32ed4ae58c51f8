"""One kind of object, as the API server has it: listed once, then watched, and listed again when need be."""

from collections import Counter
from enum import StrEnum
from random import Random
from typing import Final, NoReturn

import msgspec
import structlog
import trio

from sky_shell.answers import Status, status_in
from sky_shell.backoff import Backoff
from sky_shell.held import Held
from sky_shell.listing import RefusedError, list_all
from sky_shell.objects import Identity, Sink, read_event, read_head
from sky_shell.resources import Resource
from sky_shell.transport import Lines, Transport, TransportError

SILENCE: Final = 90.0
"""Seconds without an event or bookmark after which a watch is broken off; a server sends a bookmark every 60 s."""
SHORT: Final = 1.0
"""A watch that ends earlier than this has failed, or its server would be asked without a pause."""
WATCH_SECONDS: Final = (300, 600)
"""For how long a watch is asked for: at random, so that those of many processes don't end together."""

_log = structlog.get_logger(__name__)


class Ending(StrEnum):
    """Why a list or a watch came to its end."""

    ENDED = "ended"
    SHORT = "short"
    BROKEN = "broken"
    SILENT = "silent"
    GARBLED = "garbled"
    GONE = "gone"
    AHEAD = "ahead"
    MISSING = "missing"
    REFUSED = "refused"
    THROTTLED = "throttled"
    FAILED = "failed"


class Skipped(StrEnum):
    """Why an event was passed over."""

    TYPE = "type"
    KIND = "kind"
    OLD = "old"


LISTS_ANEW: Final = frozenset({Ending.GONE, Ending.AHEAD, Ending.MISSING, Ending.SILENT})
"""After these it is not enough to go on watching. Silence: on a resourceVersion that a server never had, it is all
that comes."""


class StopError(Exception):
    """The list or watch is over. `retry_after`: seconds to wait at least."""

    def __init__(self, ending: Ending, said: str = "", retry_after: float = 0.0) -> None:
        """`said` is for people."""
        super().__init__(said or ending.value)
        self.ending = ending
        self.retry_after = retry_after


class Reflector:
    """Tells a sink what is there of one kind, and goes on doing so whatever happens to the server.

    A list is told all at once, with no checkpoint in between: whoever runs in the same trio run never sees half of one.

    Attributes:
        synced: Set once the first list has been told.
        fault: Why what was told may be outdated; None from a list on, for as long as watches follow it.
        restarts: How often a list or watch was begun again, by why.
        skipped: How many events were passed over, by why.
    """

    def __init__(self, transport: Transport, resource: Resource, sink: Sink, random: Random) -> None:
        """`random` is seeded by the caller."""
        self.resource = resource
        self.synced = trio.Event()
        self.fault: str | None = "not listed yet"
        self._heard = trio.current_time()
        self.restarts: Counter[Ending] = Counter()
        self.skipped: Counter[Skipped] = Counter()
        self._transport = transport
        self._sink = sink
        self._random = random
        self._backoff = Backoff(random)
        self._known: dict[tuple[str, str], Identity] = {}
        self._held = Held()
        self._version = ""
        self._ending: Ending | None = None
        self._is_established = False
        self._was_silent = False

    @property
    def age(self) -> float:
        """Seconds since the server last gave a sign of life."""
        return trio.current_time() - self._heard

    async def run(self) -> NoReturn:
        """List and watch until cancelled."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except StopError as stop:
                await self._pause(stop)
            except RefusedError as error:
                await self._pause(_stop(error.status))
            except TransportError as error:
                await self._pause(StopError(Ending.BROKEN, str(error)))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                await self._pause(StopError(Ending.GARBLED, str(error)))

    async def _pause(self, stop: StopError) -> None:
        """Take note of an end, and wait for as long as it asks for."""
        self.restarts[stop.ending] += 1
        self._was_silent |= stop.ending is Ending.SILENT
        if self._held.drop() or stop.ending in LISTS_ANEW:
            self._version = ""
        if stop.ending is Ending.ENDED:
            return
        self.fault = str(stop)
        if stop.ending is Ending.SILENT:
            return  # no failure yet: of a kind that nothing happens to, a server may have nothing to say
        if self._ending is not stop.ending:
            _log.warning("Watch interrupted", kind=str(self.resource), reason=stop.ending.value, error=str(stop))
        self._ending = stop.ending
        await trio.sleep(max(self._backoff.delay(trio.current_time()), stop.retry_after))

    async def _list(self) -> None:
        listed = await list_all(self._transport, self.resource)
        gone = [one for one in self._known.values() if one.key not in listed.objects]
        new = [(one, raw) for one, raw in listed.objects.values() if self._known.get(one.key) != one]
        for identity in gone:
            self._forget(identity)
        for identity, raw in new:
            self._learn(identity, raw)
        if self._was_silent and (gone or new):
            _log.warning("Watch had died", kind=str(self.resource), missed=len(gone) + len(new))
        self._was_silent = False
        self._version = listed.version
        self._heard = trio.current_time()
        self.fault = None
        self._sink.synced(self.resource)
        self.synced.set()

    async def _watch(self) -> None:
        """Follow what happens after the version last seen, until that ends. It ends by `StopError`."""
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(self._random.randint(*WATCH_SECONDS)),
        }
        self._is_established = False
        opened = trio.current_time()
        with trio.move_on_after(SILENCE) as opening:
            async with self._transport.stream(self.resource.collection(), query=query) as lines:
                opening.deadline = float("inf")
                if lines.status != 200:
                    raise _stop(await _refusal(lines))
                self._heard = opened = trio.current_time()
                while got := await self._next(lines, opened + SHORT):
                    self._tell(got)
        if opening.cancelled_caught:
            raise StopError(Ending.SILENT, f"no watch was to be had within {SILENCE:.0f} s")
        raise StopError(Ending.ENDED if trio.current_time() >= opened + SHORT else Ending.SHORT)

    def _establish(self) -> None:
        if self._ending is not None:
            _log.info("Watch established", kind=str(self.resource), objects=len(self._known))
        self._is_established = True
        self._ending = None
        self.fault = None

    async def _next(self, lines: Lines, established: float) -> list[bytes]:
        """What the watch says next. What is due meanwhile is done: deletions that it outlives are told."""
        while True:
            silent = self._heard + SILENCE
            with trio.move_on_at(min(silent, self._held.due, float("inf") if self._is_established else established)):
                got = await lines.next_lines()
                self._heard = trio.current_time()
                return got
            now = trio.current_time()
            if now >= established:
                self._establish()
            for identity in self._held.release(now):
                self._forget(identity)
            if now >= silent:
                raise StopError(Ending.SILENT, f"neither event nor bookmark for {SILENCE:.0f} s")

    def _tell(self, lines: list[bytes]) -> None:
        for line in lines:
            event = read_event(line)
            match event.type:
                case "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK":
                    head = read_head(event.object)
                    if head.kind and head.kind != self.resource.kind:
                        self.skipped[Skipped.KIND] += 1
                        continue
                    self._establish()
                    self._change(event.type, head.identity, bytes(event.object))
                    self._version = head.identity.version or self._version
                case "ERROR":
                    raise _stop(status_in(bytes(event.object)))
                case _:
                    self.skipped[Skipped.TYPE] += 1

    def _change(self, type_: str, identity: Identity, raw: bytes) -> None:
        match type_:
            case "DELETED" if self.resource.is_custom:
                self._held.add(identity, trio.current_time())
            case "DELETED":
                self._forget(identity)
            case "ADDED" | "MODIFIED":
                known = self._known.get(identity.key)
                if known is not None and (identity == known or identity.is_older_than(known)):
                    self.skipped[Skipped.OLD] += 1
                else:
                    self._learn(identity, raw)

    def _learn(self, identity: Identity, raw: bytes) -> None:
        known = self._known.get(identity.key)
        if known is not None and known.uid != identity.uid:
            self._sink.remove(self.resource, known)
        self._known[identity.key] = identity
        self._sink.put(self.resource, identity, raw)

    def _forget(self, identity: Identity) -> None:
        """This object has gone; another of its name may be there by now, and stays."""
        known = self._known.get(identity.key)
        if known is not None and known.uid == identity.uid:
            del self._known[identity.key]
            self._sink.remove(self.resource, known)


async def _refusal(lines: Lines) -> Status:
    """What is said in place of a watch."""
    said = []
    while got := await lines.next_lines():
        said += got
    return status_in(b"\n".join(said), lines.status)


def _stop(status: Status) -> StopError:
    """What a refusal means for the watch."""
    wait = status.retry_after or 0.0
    if status.is_gone:
        return StopError(Ending.GONE, str(status))
    if status.is_ahead:
        return StopError(Ending.AHEAD, str(status))
    if status.code == 404:
        return StopError(Ending.MISSING, f"the server has no such kind: {status}")
    if status.code == 429:
        return StopError(Ending.THROTTLED, str(status), wait)
    return StopError(Ending.FAILED if status.code >= 500 or not status.code else Ending.REFUSED, str(status), wait)
