"""Commands that go on until Ctrl-C or SIGTERM, and leave nothing behind."""

import shutil
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import trio

from sky_sandbox.kubeconfig import lent
from sky_shell.logs import start_logs
from sky_shell.reading.places import InputError
from sky_shell.stopping import until_signal
from skyctl.terminal import answer

Work = Callable[[trio.Event], Awaitable[int]]
"""Goes on until its event is set; its exit status."""

_UNFINISHED: Final = 1


def stay(work: Work) -> int:
    """What this work comes to, which is told by its event that it is to end.

    Raises:
        Exception: What the work raises, out of its groups where it is one thing.
    """
    start_logs("WARNING")
    done: list[int] = []

    async def noted(stop: trio.Event) -> None:
        done.append(await work(stop))
        if stop.is_set() and sys.stdout is not None and sys.stdout.isatty():
            answer("\n")  # behind the ^C, which has a line of its own then

    try:
        trio.run(until_signal, noted)
    except ExceptionGroup as group:
        raise _alone(group) from group
    return done[0] if done else _UNFINISHED


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM end what is not run by trio as Ctrl-C does: by KeyboardInterrupt."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def at_hand(file: Path, kubeconfig: bytes) -> Iterator[None]:
    """Have a kubeconfig in this file for as long as the context is open.

    Raises:
        InputError: It can't be written.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lent(file, kubeconfig))
        except OSError as error:
            raise InputError(f"no kubeconfig can be written: {error}") from None
        yield


def called(name: str) -> str:
    """How a program is called from here: by its name where that is found, else as it was installed beside us."""
    beside = Path(sys.argv[0]).with_name(name)
    return str(beside) if shutil.which(name) is None and beside.exists() else name


def _alone(group: BaseExceptionGroup[BaseException]) -> BaseException:
    (first, *others) = group.exceptions
    if others:
        return group
    return _alone(first) if isinstance(first, BaseExceptionGroup) else first
