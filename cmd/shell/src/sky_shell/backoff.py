"""How long to wait after a failure."""

from random import Random
from typing import Final

FIRST: Final = 0.8
MOST: Final = 30.0
CALM: Final = 120.0


class Backoff:
    """Twice as long each time, up to a limit, and up to twice that at random, so that many don't come back at once.

    After a time without a failure it begins anew. The figures are those of client-go's reflector.
    """

    def __init__(self, random: Random) -> None:
        """`random` is seeded by the caller."""
        self._random = random
        self._next = FIRST
        self._failed = float("-inf")

    def delay(self, now: float) -> float:
        """Seconds to wait after a failure at this time."""
        if now - self._failed >= CALM:
            self._next = FIRST
        delay = self._next * self._random.uniform(1.0, 2.0)
        self._next = min(self._next * 2, MOST)
        self._failed = now + delay
        return delay
