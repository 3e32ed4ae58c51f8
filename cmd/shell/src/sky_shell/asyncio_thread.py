"""An asyncio loop in a thread of its own, and the way there from trio and back.

A call hops over by `call_soon_threadsafe` and returns by trio's `run_sync_soon`; what hops while the other side has yet
to wake up goes along, for it is the waking that costs. It takes the context variables of its caller along, and is
cancelled as any trio call: but it ends only when the asyncio side has unwound, so nothing of it
goes on behind the caller's back.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

import outcome
import trio

T = TypeVar("T")


class AsyncioThread:
    """A running asyncio loop, to be called from the trio run that opened it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """See `asyncio_thread`."""
        self._loop = loop
        self._over = _Hops(loop.call_soon_threadsafe)
        self._back = _Hops(trio.lowlevel.current_trio_token().run_sync_soon)
        self._closed = False

    async def run(self, function: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """What the coroutine function returns or raises over there.

        If the caller is cancelled, so is the task over there; what it returns nevertheless is delivered.

        Raises:
            trio.ClosedResourceError: The loop is closed, or was closed meanwhile.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise trio.ClosedResourceError("the asyncio thread is closed")
        call = _Call(self._loop, self._over, self._back, partial(function, *arguments))
        self._over.hop(call.start)
        result: T = await trio.lowlevel.wait_task_rescheduled(call.abort)
        return result

    def close(self, stop: asyncio.Event) -> None:
        """Let nothing new begin, and after what has begun, stop."""
        self._closed = True
        self._over.hop(stop.set)


class _Hops:
    """Calls that are made in another thread, in their order."""

    def __init__(self, wake: Callable[[Callable[[], None]], object]) -> None:
        """`wake` has a function called over there, soon."""
        self._wake = wake
        self._waiting: deque[Callable[[], object]] = deque()
        self._is_waking = False

    def hop(self, call: Callable[[], object]) -> None:
        """Have it called over there. If that thread has ended, what `wake` raises is raised."""
        self._waiting.append(call)  # before the look at `_is_waking`, which ceases to be before those waiting are taken
        if not self._is_waking:
            self._is_waking = True
            try:
                self._wake(self._arrive)
            except RuntimeError:
                self._is_waking = False
                raise

    def _arrive(self) -> None:
        self._is_waking = False
        for _ in range(len(self._waiting)):
            self._waiting.popleft()()


class _Call:
    """One trio task waiting for one asyncio task. `start`, `_cancel` and `_done` run in the asyncio thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        over: _Hops,
        back: _Hops,
        begin: Callable[[], Coroutine[Any, Any, object]],
    ) -> None:
        self._loop = loop
        self._over = over
        self._back = back
        self._begin = begin
        self._waiting = trio.lowlevel.current_task()
        self._context = contextvars.copy_context()
        self._task: asyncio.Task[object] | None = None
        self._raise_cancel: trio.lowlevel.RaiseCancelT | None = None

    def start(self) -> None:
        """Begin, in the context of the caller."""
        self._task = self._loop.create_task(self._begin(), context=self._context)
        self._task.add_done_callback(self._done)

    def abort(self, raise_cancel: trio.lowlevel.RaiseCancelT) -> trio.lowlevel.Abort:
        """The caller is cancelled: pass it on, and let it wait."""
        self._raise_cancel = raise_cancel
        with contextlib.suppress(RuntimeError):  # the loop is closed: the task has ended, and its outcome is on the way
            self._over.hop(self._cancel)
        return trio.lowlevel.Abort.FAILED

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _done(self, task: asyncio.Task[object]) -> None:
        with contextlib.suppress(trio.RunFinishedError):
            self._back.hop(partial(self._resume, task))

    def _resume(self, task: asyncio.Task[object]) -> None:
        trio.lowlevel.reschedule(self._waiting, self._outcome(task))

    def _outcome(self, task: asyncio.Task[object]) -> outcome.Outcome[object]:
        if task.cancelled() and self._raise_cancel is not None:
            return outcome.capture(self._raise_cancel)
        if task.cancelled():
            return outcome.Error(trio.ClosedResourceError("the asyncio thread was closed"))
        error = task.exception()
        return outcome.Value(task.result()) if error is None else outcome.Error(error)


@contextlib.asynccontextmanager
async def asyncio_thread() -> AsyncIterator[AsyncioThread]:
    """A loop for as long as the context is open. Calls that are still under way when it closes are cancelled."""
    stop = asyncio.Event()
    runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
    bridge = AsyncioThread(runner.get_loop())

    def run() -> None:
        with runner:
            runner.run(stop.wait())

    # A daemon: should trio itself fail, this does not keep the process.
    thread = threading.Thread(target=run, name="asyncio", daemon=True)
    thread.start()
    try:
        yield bridge
    finally:
        bridge.close(stop)
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(thread.join)
