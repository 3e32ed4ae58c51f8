"""Who leads: an election by Lease, as client-go holds it, with a deadline that errs on the safe side.

Times in the record are for people. Whether a leader is alive is judged by for how long its record stays the same, on
our own monotonic clock.
"""

import datetime
import math
import socket
import uuid
from collections.abc import Awaitable, Callable
from random import Random
from typing import Final

import msgspec
import structlog
import trio

from sky_shell.lease_record import Lease, LeaseError, LeaseStore, Spec, micro_time
from sky_shell.transport import Transport

ANSWER_SECONDS: Final = 5.0
RELEASE_SECONDS: Final = 2.0
JITTER: Final = 1.2
BELIEF_MAX: Final = 4
"""How many times as long as ours a record may ask to be believed; somebody may have edited it."""

Wall = Callable[[], datetime.datetime]
"""The time of day, for the people who read the record."""

_log = structlog.get_logger(__name__)


class Terms(msgspec.Struct, frozen=True):
    """In seconds: for how long a silent leader is believed, when a leader gives up, and how often it renews.

    The first two differ by what clocks may disagree about, and by what a last write may take.
    """

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry: float = 2.0


class Candidate(msgspec.Struct, frozen=True):
    """Who wants to lead, and how. The identity is this process's alone; every renewal has another time of day."""

    identity: str
    terms: Terms = Terms()
    wall: Wall = lambda: datetime.datetime.now(datetime.UTC)

    def holding(self, lease: Lease) -> Spec:
        """What the record says once we take it or renew it."""
        now, ours = micro_time(self.wall()), lease.holder == self.identity
        return Spec(
            holder_identity=self.identity,
            lease_duration_seconds=math.ceil(self.terms.duration),
            acquire_time=lease.spec.acquire_time if ours else now,
            renew_time=now,
            lease_transitions=lease.transitions + (bool(lease.version) and not ours),
        )

    def leaving(self, lease: Lease) -> Spec:
        """What the record says once we have given it up."""
        now = micro_time(self.wall())
        return Spec(None, 1, lease.spec.acquire_time, now, lease.transitions)


def unique_identity() -> str:
    """A name for this process that no other ever has."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LostError(Exception):
    """We lead no more: no renewal went through in time, or somebody else holds the Lease. The work was cancelled."""


class Leadership:
    """To lead, for as long as renewals go through.

    Attributes:
        deadline: The trio time until which we lead: counted from when the last renewal that went through was sent, not
            from when it was answered.
    """

    def __init__(self, store: LeaseStore, candidate: Candidate, lease: Lease, sent: float) -> None:
        """By this Lease, which we wrote at this time."""
        self.deadline = sent + candidate.terms.renew_deadline
        self._store = store
        self._candidate = candidate
        self._lease: Lease | None = lease
        self._transitions = lease.transitions
        self._former = lease.epoch
        self._epoch: int | None = None
        self._clock = trio.lowlevel.current_clock()
        self._scope = trio.CancelScope()
        self._renewing = trio.Lock()

    def permit(self) -> bool:
        """Whether we may still write; in any thread."""
        return self._clock.current_time() < self.deadline

    async def open_epoch(self, highest: int) -> int:
        """Our epoch, greater than that of every former leader; it is in the Lease when this returns.

        Args:
            highest: The highest epoch in any Quota, all of them being known.
        """
        self._epoch = epoch = max(self._transitions, highest + 1, self._former + 1)
        while True:
            if await self._renew():
                return epoch
            await trio.sleep(self._candidate.terms.retry)

    async def hold(self, work: Callable[["Leadership"], Awaitable[None]]) -> bool:
        """Renew while this is done; whether it was done to its end. It is cancelled at the deadline."""
        finished = False
        async with trio.open_nursery() as nursery:
            self._scope = nursery.cancel_scope
            self._scope.deadline = self.deadline
            nursery.start_soon(self._keep)
            await work(self)
            finished = True
            self._scope.cancel()
        return finished

    async def release(self) -> None:
        """Let the next one lead at once; all work has ended. Whoever is cut off here is followed a little later."""
        if not self.permit():
            return
        self.deadline = float("-inf")
        for _ in range(2):
            try:
                lease = self._lease or await self._store.read(RELEASE_SECONDS)
                if lease is not None and lease.holder == self._candidate.identity:
                    self._lease = None
                    await self._store.write(lease.saying(self._candidate.leaving(lease), None), RELEASE_SECONDS)
            except LeaseError as error:
                _log.info("Lease not released", error=str(error))
            else:
                return

    async def _keep(self) -> None:
        while True:
            await trio.sleep(self._candidate.terms.retry)
            await self._renew()

    async def _renew(self) -> bool:
        """Whether a renewal went through. When one did not, what the Lease says is read before the next."""
        async with self._renewing:
            try:
                lease = self._lease or await self._store.read(ANSWER_SECONDS) or self._store.none()
                if lease.holder not in ("", self._candidate.identity):
                    _log.warning("Lease taken by another", holder=lease.holder)
                    self._until(float("-inf"))
                    return False
                self._lease, sent = None, trio.current_time()
                holding = lease.saying(self._candidate.holding(lease), self._epoch)
                self._lease = await self._store.write(holding, ANSWER_SECONDS)
            except LeaseError as error:
                _log.warning("Lease not renewed", error=str(error))
                return False
            self._until(sent + self._candidate.terms.renew_deadline)
            return True

    def _until(self, deadline: float) -> None:
        self.deadline = self._scope.deadline = deadline


class Election:
    """Waits until we lead, and does what only a leader does.

    Attributes:
        leads: Whether we do.
        fault: Why the Lease can't be had, if it is not that somebody else has it.
    """

    def __init__(self, transport: Transport, namespace: str, name: str, candidate: Candidate, random: Random) -> None:
        """`random` is seeded by the caller."""
        self.leads = False
        self.fault: str | None = None
        self._store = LeaseStore(transport, namespace, name)
        self._candidate = candidate
        self._random = random

    async def lead(self, work: Callable[[Leadership], Awaitable[None]]) -> None:
        """Wait, do the work, and let the next one lead; the Lease is released when all of the work has ended.

        Raises:
            LostError: We stopped leading before the work had ended.
        """
        leadership = await self._acquire()
        _log.info("Leading", identity=self._candidate.identity)
        self.leads = True
        try:
            finished = await leadership.hold(work)
        finally:
            self.leads = False
            with trio.move_on_after(RELEASE_SECONDS, shield=True):
                await leadership.release()
        if not finished:
            raise LostError("the Lease was lost")

    def _tell(self, lease: Lease, seen: Spec) -> None:
        if lease.holder not in {"", self._candidate.identity, seen.holder_identity}:
            _log.info("Waiting to lead", holder=lease.holder)

    async def _acquire(self) -> Leadership:
        terms = self._candidate.terms
        seen, since = Spec(), trio.current_time()
        while True:
            try:
                lease = await self._store.read(ANSWER_SECONDS) or self._store.none()
                if lease.spec != seen:
                    self._tell(lease, seen)
                    seen, since = lease.spec, trio.current_time()
                leadership = await self._take(lease) if trio.current_time() >= since + self._belief(lease) else None
                self.fault = None
                if leadership is not None:
                    return leadership
            except LeaseError as error:
                if self.fault is None:
                    _log.warning("Lease can't be had", error=str(error))
                self.fault = str(error)
            await trio.sleep(terms.retry * self._random.uniform(1.0, JITTER))

    async def _take(self, lease: Lease) -> Leadership:
        sent = trio.current_time()
        taken = await self._store.write(lease.saying(self._candidate.holding(lease), None), ANSWER_SECONDS)
        return Leadership(self._store, self._candidate, taken, sent)

    def _belief(self, lease: Lease) -> float:
        """For how long a record that stays the same is believed."""
        if lease.holder in ("", self._candidate.identity):
            return 0.0
        ours = self._candidate.terms.duration
        return min(max(float(lease.spec.lease_duration_seconds or 0), ours), BELIEF_MAX * ours)
