"""Carries out what a cycle decided: a job's quotas first, and its evictions and Bindings once they are acknowledged.

Jobs do not wait for each other. How many requests are under way at once, the writer bounds.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Final

import structlog
import trio

from sky_core.decisions import BindTask, WriteQuota
from sky_core.model import JobId, QuotaName
from sky_scheduler.mirror import Mirror
from sky_scheduler.plans import Plan, Share, Step
from sky_shell.writer import Acknowledged, Refused, Result, Unknown, Withheld, Writer
from sky_shell.writes import Refusal, Write

AGAIN: Final = 1.0
"""Seconds before a write is sent again whose outcome is unknown, or that the server wants to come later."""

NOT_COVERED: Final = "notCovered"
"""What becomes of a decision that needs another one that was refused: it is not sent."""

_log = structlog.get_logger(__name__)


class Committer:
    """Performs plans, and tells the mirror what came of them.

    What is refused is not forced: the next cycle decides anew, on the object as it is by then. What is unknown stays
    assumed, so that nothing else is decided on it, and is looked at until it is known. Once we may not write any more
    nothing is told at all: whoever leads then reads what was done.
    """

    def __init__(
        self,
        writer: Writer,
        mirror: Mirror,
        told: Callable[[Step, str], None],
        around: Callable[[JobId], AbstractContextManager[object]] = lambda _: nullcontext(),
    ) -> None:
        """`told` hears of each decision what became of it: `ok`, or why not. `around` is entered for each job."""
        self._writer = writer
        self._mirror = mirror
        self._told = told
        self._around = around
        self._under_way = 0
        self._rested = trio.Event()

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way."""
        return self._under_way > 0

    async def rest(self) -> None:
        """Wait until nothing is under way."""
        while self._under_way:
            await self._rested.wait()

    def take_on(self) -> None:
        """From now on there is something under way, until it has been performed."""
        if not self._under_way:
            self._rested = trio.Event()
        self._under_way += 1

    async def perform(self, plan: Plan, waits: Callable[[JobId], bool]) -> None:
        """Carry out what was taken on; `waits` says whether a job waits for the room that its evictions make."""
        written = {QuotaName(step.key.name): _Written() for step in plan.writes}
        async with trio.open_nursery() as nursery:
            for step in plan.writes:
                nursery.start_soon(self._write, step, written[QuotaName(step.key.name)])
            for share in plan.shares:
                nursery.start_soon(self._share, share, written, waits)
        self._under_way -= 1
        if not self._under_way:
            self._rested.set()

    async def _write(self, step: Step, written: "_Written") -> None:
        result = await self._known(step.write)
        if isinstance(result, Acknowledged):
            written.is_done = True
            self._mirror.acknowledged(step.resource, result.body)
        if not isinstance(result, Withheld):
            self._mirror.answered(step.decision)
        self._tell(step, result)
        written.known.set()

    async def _share(
        self, share: Share, written: Mapping[QuotaName, "_Written"], waits: Callable[[JobId], bool]
    ) -> None:
        with self._around(share.job):
            for name in sorted(share.quotas):
                await written[name].known.wait()
            refused = frozenset(name for name in share.quotas if not written[name].is_done)
            binds = [step for step in share.binds if _quota(step) not in refused and self._has_node(step)]
            if not share.quorum.is_met([step.decision.task for step in binds if isinstance(step.decision, BindTask)]):
                binds = []
            evictions = share.evictions if not refused else ()
            sent = {step.key for step in (*evictions, *binds)}
            for step in (*share.evictions, *share.binds):
                if step.key not in sent:
                    self._mirror.answered(step.decision)
                    self._told(step, NOT_COVERED)
            async with trio.open_nursery() as nursery:
                for step in evictions:
                    nursery.start_soon(self._evict, step, waits)
                for step in binds:
                    nursery.start_soon(self._bind, step)

    def _has_node(self, step: Step) -> bool:
        """Whether the node is still there: the server would bind to one that is not, and the pod be cleared away."""
        return not isinstance(step.decision, BindTask) or step.decision.node in self._mirror.nodes

    async def _bind(self, step: Step) -> None:
        self._take(step, await self._known(step.write))

    async def _evict(self, step: Step, waits: Callable[[JobId], bool]) -> None:
        """While the claimant waits, the same pods are asked to go again; once it does not, nobody is evicted for it."""

        def goes_on() -> bool:
            return step.job is not None and waits(step.job)

        self._take(step, await self._known(step.write, goes_on, also=Refusal.BUDGET))

    def _take(self, step: Step, result: Result) -> None:
        """What is done shows on the pod, and is assumed until it does."""
        if isinstance(result, Acknowledged):
            self._mirror.acknowledged(step.resource, result.body)
        elif not isinstance(result, Withheld):
            self._mirror.answered(step.decision)
        self._tell(step, result)

    async def _known(
        self, write: Write, goes_on: Callable[[], bool] = lambda: True, also: Refusal | None = None
    ) -> Result:
        """What became of a write; if need be, and while that goes on, it is looked at and sent again and again."""
        while True:
            result = await self._writer.perform(write)
            match result:
                case Unknown():
                    _log.warning("Outcome unknown", path=write.path, error=result.message)
                    wait = AGAIN
                case Refused(why=why) if why in (Refusal.THROTTLED, also):
                    wait = result.retry_after or AGAIN
                case _:
                    return result
            await trio.sleep(wait)
            if not goes_on():
                return result

    def _tell(self, step: Step, result: Result) -> None:
        match result:
            case Acknowledged():
                self._told(step, "ok")
            case Refused():
                _log.info("Refused", path=step.write.path, why=result.why.value, error=result.message)
                self._told(step, result.why.value)
            case Unknown():
                self._told(step, "unknown")
            case Withheld():
                self._told(step, "withheld")


class _Written:
    """What became of a quota's write, once that is known."""

    def __init__(self) -> None:
        self.known = trio.Event()
        self.is_done = False


def _quota(step: Step) -> QuotaName | None:
    return step.decision.quota if isinstance(step.decision, BindTask | WriteQuota) else None
