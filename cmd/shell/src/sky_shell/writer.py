"""Performs writes, and says of each what became of it."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple

import msgspec
import trio

from sky_shell.answers import Status, status_of
from sky_shell.objects import read_head
from sky_shell.slots import Slots
from sky_shell.transport import FencedError, Permit, Response, Transport, TransportError, fence
from sky_shell.writes import Effect, Live, Refusal, Write

IN_FLIGHT: Final = 16
SERVER_SECONDS: Final = 3
"""What the server is given for a write, its queues included."""
ANSWER_SECONDS: Final = 5.0
STEPS: Final = 5
"""Sending a write and reading what became of it, together."""
PATIENCE: Final = 5.0
"""Seconds that a write waits at most when the server asks for it; for longer, it is the caller's to come back."""
PAUSE: Final = 0.2
"""Seconds before a write is sent again that is not seen to be done."""


class Acknowledged(msgspec.Struct, frozen=True):
    """It is done. `body`: what the server answered, or the live object where that showed it."""

    body: bytes

    @property
    def version(self) -> str:
        """The resourceVersion that the object has by this write; empty where the answer doesn't tell it."""
        return read_head(self.body).identity.version if self.body else ""


class Refused(msgspec.Struct, frozen=True):
    """It is not done, and won't be. `retry_after`: seconds, where the server says when it is worth another try."""

    why: Refusal
    message: str = ""
    retry_after: float | None = None


class Unknown(msgspec.Struct, frozen=True):
    """It may have been done, or may still be: read, and decide anew."""

    message: str


class Withheld(msgspec.Struct, frozen=True):
    """We may not write any more; it was not sent."""


Result = Acknowledged | Refused | Unknown | Withheld

_BUDGET: Final = "DisruptionBudget"
_REFUSALS: Final = {
    400: Refusal.INVALID,
    401: Refusal.FORBIDDEN,
    403: Refusal.FORBIDDEN,
    404: Refusal.GONE,
    409: Refusal.CONFLICT,
    422: Refusal.INVALID,
    429: Refusal.THROTTLED,
}


class Writer:
    """Sends writes, so many at a time, for as long as it has the permit to.

    The permit is asked when a write has its slot, each time before it is sent, and by the transport at the last moment.
    """

    def __init__(self, transport: Transport, permit: Permit, in_flight: int = IN_FLIGHT) -> None:
        """`permit` may be called in any thread."""
        self._transport = transport
        self._permit = permit
        self._slots = Slots(in_flight)

    async def perform(self, write: Write) -> Result:
        """Send a write, and again if need be, until it is clear what became of it or enough was tried.

        A conflict may be the echo of our own write, sent twice; and when no answer comes, the write may be done all the
        same. So the live object is read before anything else is done.
        """
        async with self._slots.one(write.rank):
            unknown: Unknown | None = None
            step = await self._send(write)
            for _ in range(STEPS - 1):
                if step.next is None:
                    break
                if isinstance(step.result, Unknown):
                    unknown = step.result
                await trio.sleep(step.wait)
                step = await step.next()
            # A refusal of the second try says nothing about the first, unless it is the object that shows it.
            return step.result if step.is_final or unknown is None else unknown

    async def _send(self, write: Write) -> "_Step":
        try:
            response = await self._request(write)
        except FencedError:
            return _Step(Withheld())
        except TransportError as error:
            return await self._look(write, str(error))
        return await self._answered(write, response)

    async def _answered(self, write: Write, response: Response) -> "_Step":
        if response.status < 300:
            return _Step(Acknowledged(response.body), is_final=True)
        status = status_of(response)
        if response.status >= 500:
            return await self._look(write, str(status))
        if response.status == 404:
            return self._shown(write, None, b"", str(status))
        if response.status == 409:
            step = await self._look(write, str(status))
            return _Step(Refused(Refusal.CONFLICT, str(status))) if isinstance(step.result, Unknown) else step
        return self._refused(write, status)

    async def _request(self, write: Write) -> Response:
        if not self._permit():
            raise FencedError
        token = fence.set(self._permit)
        try:
            return await self._transport.request(
                write.method,
                write.path,
                query={"timeout": f"{SERVER_SECONDS}s"},
                body=write.body,
                content_type=write.content_type,
                timeout=ANSWER_SECONDS,
            )
        finally:
            fence.reset(token)

    async def _look(self, write: Write, message: str) -> "_Step":
        """What the live object shows. While it can't be read, nothing is sent."""
        if not write.live:
            return _Step(Unknown(message), partial(self._send, write))
        try:
            live = await self._transport.request("GET", write.live, timeout=ANSWER_SECONDS)
        except TransportError as error:
            return self._unread(write, message, str(error))
        if live.status not in (200, 404):
            return self._unread(write, message, str(status_of(live)))
        found = msgspec.json.decode(live.body) if live.status == 200 else None
        return self._shown(write, found, live.body, message)

    def _unread(self, write: Write, message: str, said: str) -> "_Step":
        return _Step(Unknown(f"{message}; and it could not be read: {said}"), partial(self._look, write, message))

    def _shown(self, write: Write, live: Live | None, body: bytes, message: str) -> "_Step":
        match write.judge(live):
            case Effect.DONE:
                return _Step(Acknowledged(body), is_final=True)
            case Effect.OPEN:
                return _Step(Unknown(message), partial(self._send, write))
            case Refusal() as why:
                return _Step(Refused(why, message), is_final=True)

    def _refused(self, write: Write, status: Status) -> "_Step":
        """As the server words it; when it only asks to wait, for a time worth waiting, the write is sent again."""
        why = Refusal.BUDGET if _BUDGET in status.causes else _REFUSALS.get(status.code, Refusal.OTHER)
        wait = status.retry_after or PAUSE
        again = why is Refusal.THROTTLED and wait <= PATIENCE
        return _Step(Refused(why, str(status), status.retry_after), partial(self._send, write) if again else None, wait)


class _Step(NamedTuple):
    """What is known of a write so far, and what to do next, in `wait` seconds, to know more."""

    result: Result
    next: Callable[[], Awaitable["_Step"]] | None = None
    wait: float = PAUSE
    is_final: bool = False
