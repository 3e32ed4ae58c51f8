"""Many tasks, each with a deadline of its own."""

import asyncio

import pytest

from sky_shell.deadlines import Deadlines

SOON = 20.0


async def for_ever() -> None:
    await asyncio.Event().wait()


def test_who_takes_too_long_leaves_with_a_timeout_and_goes_on() -> None:
    async def late() -> str:
        with pytest.raises(TimeoutError), Deadlines().within(0.01):
            await for_ever()
        return await asyncio.sleep(0, "on")

    assert asyncio.run(late()) == "on"


def test_each_has_its_own_deadline() -> None:
    async def play() -> list[str]:
        deadlines, over = Deadlines(), list[str]()

        async def late(name: str, seconds: float) -> None:
            with pytest.raises(TimeoutError), deadlines.within(seconds):
                await for_ever()
            over.append(name)

        with deadlines.within(SOON):
            await asyncio.gather(late("patient", 0.3), late("hasty", 0))
        return over

    assert asyncio.run(play()) == ["hasty", "patient"]


def test_who_is_cancelled_as_well_stays_cancelled() -> None:
    async def late() -> None:
        task = asyncio.current_task()
        assert task is not None
        with Deadlines().within(0):
            try:
                await for_ever()
            finally:
                task.cancel()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(late())


def test_who_was_cancelled_before_is_not_held_back_by_a_deadline() -> None:
    async def play() -> None:
        deadlines = Deadlines()

        async def late() -> None:
            with deadlines.within(SOON):
                await for_ever()

        task = asyncio.create_task(late())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(play())
