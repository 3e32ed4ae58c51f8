"""Deletions that are not believed at once.

When a CustomResourceDefinition goes, its watch says DELETED for each object and ends a moment later, and the list is
404 from then on. Nobody deleted the objects one by one, so a deletion of such a kind counts only when the watch
outlives it.
"""

from collections import deque
from typing import Final

from sky_shell.objects import Identity

GRACE: Final = 2.0
"""Seconds between a deletion and when it counts; a watch ends 1.5 s after its kind."""


class Held:
    """Deletions in the order in which they came."""

    def __init__(self) -> None:
        """None yet."""
        self._waiting: deque[tuple[float, Identity]] = deque()

    def add(self, identity: Identity, now: float) -> None:
        """Hold this deletion for the time of grace."""
        self._waiting.append((now + GRACE, identity))

    @property
    def due(self) -> float:
        """When the first of them counts; never, if there is none."""
        return self._waiting[0][0] if self._waiting else float("inf")

    def release(self, now: float) -> list[Identity]:
        """Those that count by now."""
        released = []
        while self.due <= now:
            released.append(self._waiting.popleft()[1])
        return released

    def drop(self) -> bool:
        """Forget them all; whether there were any."""
        any_ = bool(self._waiting)
        self._waiting.clear()
        return any_
