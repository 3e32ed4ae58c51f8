"""The sandbox: an API server with a clock, faults, and whoever else is in the cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from sky_core.model import SECOND, Duration, Instant
from sky_sandbox.api.refusals import Refusal, timed_out
from sky_sandbox.api.requests import Request
from sky_sandbox.api.server import Server
from sky_sandbox.api.watching import Watch
from sky_sandbox.clock import Clock
from sky_sandbox.faults import HEALTHY, Fault, Faults
from sky_sandbox.hollow.controllers import Controllers
from sky_sandbox.hollow.kubelets import Kubelets
from sky_sandbox.hollow.orders import Habits
from sky_sandbox.state import new_server
from sky_shell.transport import Response, TransportError

PROMPT: Final = Habits()
"""Kubelets that start and stop pods at once."""

_REASONS: Final = {
    429: "TooManyRequests", 500: "InternalError", 503: "ServiceUnavailable", 504: "Timeout", 409: "Conflict",
    403: "Forbidden", 401: "Unauthorized", 404: "NotFound", 410: "Expired", 422: "Invalid", 400: "BadRequest",
}  # fmt: skip


class Sandbox:
    """A cluster in memory. `faults` are what requests meet; `server` is for looking, and for setting a stage."""

    def __init__(self, server: Server, clock: Clock, nursery: trio.Nursery) -> None:
        """Made by `open_sandbox`."""
        self.server = server
        self.clock = clock
        self.faults = Faults()
        self._nursery = nursery

    async def answer(self, request: Request) -> Response | Watch:
        """What the server answers, when it does.

        Raises:
            TransportError: There is no answer.
        """
        await trio.lowlevel.checkpoint()
        fault = self.faults.meet(request)
        if fault is HEALTHY:
            return self._done(request, fault)
        try:
            limit = request.timeout
        except Refusal as refusal:
            return refusal.response()
        with trio.move_on_after(limit / SECOND if limit else float("inf")):
            return await self._faulty(request, fault)
        return timed_out().response()

    def break_watches(self, resource: str = "") -> None:
        """Break the connections of the watches that there are, of one resource or of all."""
        for watch in self._watches(resource):
            watch.snap()

    def silence_watches(self, resource: str = "") -> None:
        """Let the watches that there are say nothing any more, of one resource or of all."""
        for watch in self._watches(resource):
            watch.silence()

    def _watches(self, resource: str) -> list[Watch]:
        return [watch for watch in self.server.watches if resource in {"", watch.resource} and not watch.ended]

    async def _faulty(self, request: Request, fault: Fault) -> Response | Watch:
        answer: Response | Watch | None = None
        if fault.done:
            answer = await self._whatever(request, fault)
        else:
            await trio.sleep(fault.wait)
            if not (fault.lost or fault.status):
                answer = self._done(request, fault)
        await trio.sleep(fault.linger)
        if fault.lost:
            raise TransportError("the connection was lost")
        return answer if answer is not None and not fault.status else _refusal(fault).response()

    async def _whatever(self, request: Request, fault: Fault) -> Response | Watch:
        """Do it even if whoever waits for it does so no longer."""
        answers: list[Response | Watch] = []
        done = trio.Event()

        async def deed() -> None:
            await trio.sleep(fault.wait)
            answers.append(self._done(request, fault))
            done.set()

        self._nursery.start_soon(deed)
        await done.wait()
        return answers[0]

    def _done(self, request: Request, fault: Fault) -> Response | Watch:
        answer = self.server.handle(request, self.clock.now(), behind=Duration(round(fault.behind * SECOND)))
        if isinstance(answer, Watch) and fault.silent:
            answer.silence()
        if isinstance(answer, Watch) and fault.broken:
            answer.snap()
        return answer


@asynccontextmanager
async def open_sandbox(
    start: Instant, *, server: Server | None = None, habits: Habits | None = PROMPT
) -> AsyncIterator[Sandbox]:
    """A sandbox for as long as the context is open, whose clock shows `start` first.

    Args:
        start: What its clock shows first.
        server: With what is there; None: as a new cluster.
        habits: Of its kubelets; None: nobody is in the cluster, and nothing happens by itself.
    """
    clock = Clock(start)
    server = server or new_server(start)
    async with trio.open_nursery() as nursery:
        if habits is not None:
            nursery.start_soon(_live, clock, Kubelets(server.writer, server.deleter, habits))
            nursery.start_soon(_live, clock, Controllers(server.writer))
        yield Sandbox(server, clock, nursery)
        nursery.cancel_scope.cancel()


async def _live(clock: Clock, one: Kubelets | Controllers) -> None:
    while True:
        one.act(clock.now())
        await clock.wait_for(one)


def _refusal(fault: Fault) -> Refusal:
    details = {"retryAfterSeconds": fault.retry_after} if fault.retry_after else {}
    reason = _REASONS.get(fault.status, "InternalError")
    return Refusal(fault.status, reason, f"a fault on demand: {reason}", details)
