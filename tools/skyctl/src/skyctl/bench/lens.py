"""A profiler that looks at what is timed, and at nothing else."""

import cProfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_PROFILER: Final[ContextVar[cProfile.Profile | None]] = ContextVar("profiler", default=None)


@contextmanager
def through(profiler: cProfile.Profile) -> Iterator[None]:
    """What is timed in the block is looked at by this profiler."""
    token = _PROFILER.set(profiler)
    try:
        yield
    finally:
        _PROFILER.reset(token)


@contextmanager
def looking() -> Iterator[None]:
    """The block is what is timed."""
    profiler = _PROFILER.get()
    if profiler is None:
        yield
        return
    profiler.enable()
    try:
        yield
    finally:
        profiler.disable()
