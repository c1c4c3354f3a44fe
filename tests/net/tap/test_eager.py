"""Coroutines that begin at once: what waits goes on in the task that awaits it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from inspector.net.tap.eager import EagerCoroutine


def run(use: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(10):
            await use()

    asyncio.run(bounded())


def test_what_waits_for_nothing_is_over_at_once() -> None:
    steps_done: list[str] = []

    async def steps() -> None:
        steps_done.append("all of it")

    async def use() -> None:
        eager = EagerCoroutine(steps())
        assert eager.over
        assert steps_done == ["all of it"]
        await eager
        eager.throw(ValueError("nobody is there to get it"))

    run(use)


@pytest.mark.parametrize("early", [True, False])
def test_what_waits_goes_on_where_it_is_awaited(early: bool) -> None:
    steps_done: list[str] = []

    async def use() -> None:
        first, second = asyncio.Event(), asyncio.Event()

        async def steps() -> None:
            await first.wait()
            steps_done.append("first")
            await asyncio.sleep(0)
            await second.wait()
            steps_done.append("second")

        eager = EagerCoroutine(steps())
        assert not eager.over
        if early:  # what it waits for happens before anybody awaits it
            first.set()
            await asyncio.sleep(0)
        assert steps_done == []
        asyncio.get_running_loop().call_later(0.01, first.set)
        asyncio.get_running_loop().call_later(0.02, second.set)
        await eager
        assert eager.over
        assert steps_done == ["first", "second"]

    run(use)


@pytest.mark.parametrize("waits", [True, False])
def test_what_it_raises_is_raised_where_it_is_awaited(waits: bool) -> None:
    async def steps() -> None:
        if waits:
            await asyncio.sleep(0)
        raise ValueError("of the steps")

    async def use() -> None:
        eager = EagerCoroutine(steps())
        assert not eager.over
        with pytest.raises(ValueError, match="of the steps"):
            await eager

    run(use)


@pytest.mark.parametrize("awaited", [True, False])
def test_a_cancellation_reaches_it(awaited: bool) -> None:
    calls: list[str] = []

    async def use() -> None:
        async def steps() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                calls.append("cancelled")
                raise

        eager = EagerCoroutine(steps())

        async def rest() -> None:
            await eager

        if awaited:
            task = asyncio.create_task(rest())
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            with pytest.raises(asyncio.CancelledError):
                eager.throw(asyncio.CancelledError())
        assert calls == ["cancelled"]

    run(use)
