"""So many at a time."""

from contextlib import AbstractAsyncContextManager
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

    def one(self, rank: int) -> AbstractAsyncContextManager[None]:
        """Have one for as long as the context is open."""
        return _Slot(self, rank)

    async def take(self, rank: int) -> None:
        """Wait for one, which is then to be given back."""
        if self._free:
            self._free -= 1
            return
        turn = trio.Event()
        heappush(self._waiting, (rank, next(self._numbers), turn))
        try:
            await turn.wait()
        except trio.Cancelled:
            if turn.is_set():
                self.give_back()
            else:
                self._gone.add(turn)
            raise

    def give_back(self) -> None:
        """Let the next one have it."""
        while self._waiting:
            turn = heappop(self._waiting)[-1]
            if turn not in self._gone:
                turn.set()
                return
            self._gone.remove(turn)
        self._free += 1


class _Slot(AbstractAsyncContextManager[None]):
    """Written out: a generator in its place costs each write several times as much."""

    def __init__(self, slots: Slots, rank: int) -> None:
        self._slots = slots
        self._rank = rank

    async def __aenter__(self) -> None:
        await self._slots.take(self._rank)

    async def __aexit__(self, *_: object) -> None:
        self._slots.give_back()
