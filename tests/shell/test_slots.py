"""Who may go when there is room for a few."""

import trio
from trio.testing import wait_all_tasks_blocked

from sky_shell.slots import Slots


async def test_no_more_have_one_than_there_are() -> None:
    slots, had, most = Slots(3), 0, 0

    async def work() -> None:
        nonlocal had, most
        async with slots.one(0):
            had += 1
            most = max(most, had)
            await trio.lowlevel.checkpoint()
            had -= 1

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(work)
    assert (had, most) == (0, 3)


async def test_the_lowest_rank_goes_first_and_of_a_rank_who_came_first() -> None:
    slots, order = Slots(1), list[str]()

    async def work(name: str, rank: int) -> None:
        async with slots.one(rank):
            order.append(name)

    async with trio.open_nursery() as nursery, slots.one(0):
        for name, rank in (("late", 1), ("later", 1), ("soon", 0), ("latest", 1), ("sooner", 0)):
            nursery.start_soon(work, name, rank)
            await wait_all_tasks_blocked()
    assert order == ["soon", "sooner", "late", "later", "latest"]


async def test_who_gives_up_takes_no_slot_along() -> None:
    slots, order = Slots(1), list[str]()

    async def work(name: str, scope: trio.CancelScope) -> None:
        with scope:
            async with slots.one(0):
                order.append(name)

    scopes = [trio.CancelScope() for _ in range(3)]
    async with trio.open_nursery() as nursery:
        async with slots.one(0):
            for name, scope in zip("abc", scopes, strict=True):
                nursery.start_soon(work, name, scope)
                await wait_all_tasks_blocked()
            scopes[0].cancel()  # while it waits
            await wait_all_tasks_blocked()
        scopes[1].cancel()  # when it has its turn, and does not know yet
    assert order in (["c"], ["b", "c"])
    async with slots.one(0):
        pass
