"""When garbage is collected: when it is in nobody's way.

A full collection looks at every object that is known of a cluster, which takes 70 ms for 5,000 nodes and 50,000 pods,
and Python begins one when enough objects have been made: just when much is going on. Nearly all that is made stays, and
nearly all that goes is freed by counting references, so nothing is lost by waiting.
"""

import gc
from collections.abc import Callable
from typing import Final, TypeVar

import trio

T = TypeVar("T")

LISTING_SECONDS: Final = 60.0
"""For as long at most nothing is collected while everything is listed."""
YOUNG: Final = 10_000
"""So many objects more are there when the young ones are looked through; Python's 700 are those of a few requests."""
LOOK_EVERY: Final = 0.1
SWEEP_EVERY: Final = 60.0
"""Seconds between two full collections."""


def uncollected(function: Callable[[], T]) -> T:
    """Call it with the collector off: a cycle makes many objects and no garbage that could not wait."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        return function()
    finally:
        if was_on:
            gc.enable()


async def withhold(is_listed: Callable[[], bool]) -> None:
    """Collect nothing until everything is listed: all of that stays."""
    if not gc.isenabled():
        return
    gc.disable()
    try:
        with trio.move_on_after(LISTING_SECONDS):
            while not is_listed():  # noqa: ASYNC110  what is listed may be listed anew, by other events
                await trio.sleep(LOOK_EVERY)
    finally:
        gc.enable()


def put_by() -> None:
    """What is there by now stays for good, and is large to look through: no collection looks at it any more.

    Nor does one before this: the little garbage among it is not worth the wait.
    """
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


class Sweeper:
    """Collects in idle moments, so that Python seldom finds a reason to do so in others."""

    def __init__(self) -> None:
        """The first sweep is due some time from now."""
        self._swept = trio.current_time()

    def sweep(self) -> None:
        """There is nothing else to do."""
        if trio.current_time() - self._swept >= SWEEP_EVERY:
            gc.collect()
            self._swept = trio.current_time()
