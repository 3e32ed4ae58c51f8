"""So many at a time."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count

import trio


class Slots:
    """Of those that wait for one, the lowest rank goes first, and of a rank who came first."""

    def __init__(self, number: int) -> None:
        """All are free."""
        self._free = number
        self._numbers = count()
        self._waiting: list[tuple[int, int, trio.Event]] = []
        self._gone: set[trio.Event] = set()

    @asynccontextmanager
    async def one(self, rank: int) -> AsyncIterator[None]:
        """Have one for as long as the context is open."""
        await self._take(rank)
        try:
            yield
        finally:
            self._give_back()

    async def _take(self, rank: int) -> None:
        if self._free:
            self._free -= 1
            return
        turn = trio.Event()
        heappush(self._waiting, (rank, next(self._numbers), turn))
        try:
            await turn.wait()
        except trio.Cancelled:
            if turn.is_set():
                self._give_back()
            else:
                self._gone.add(turn)
            raise

    def _give_back(self) -> None:
        while self._waiting:
            turn = heappop(self._waiting)[-1]
            if turn not in self._gone:
                turn.set()
                return
            self._gone.remove(turn)
        self._free += 1
