"""Reading ahead of a slow client: nothing lost, little held, faults passed on."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.tap.arrivals import WAITING, Arrival, arriving, together


async def numbers(count: int, *, then: Exception | None = None) -> AsyncIterator[bytes]:
    for number in range(count):
        yield b"%d," % number
    if then is not None:
        raise then


async def taken(stream: AsyncIterator[bytes]) -> list[bytes]:
    return [arrival.chunk async for arrivals in arriving(stream) for arrival in arrivals]


@pytest.mark.parametrize("count", [0, 1, WAITING, WAITING + 1, 1000])
def test_everything_comes_in_order(count: int) -> None:
    assert asyncio.run(taken(numbers(count))) == [b"%d," % number for number in range(count)]


def test_what_came_before_a_fault_is_handed_on_first() -> None:
    async def read() -> list[bytes]:
        ahead = arriving(numbers(3, then=OSError("reset")))
        came = [arrival.chunk for arrival in await anext(ahead)]
        with pytest.raises(OSError, match="reset"):
            await anext(ahead)
        return came

    assert asyncio.run(read()) == [b"0,", b"1,", b"2,"]


def test_a_reader_that_takes_nothing_stops_the_reading() -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b"x"

    async def look_once() -> None:
        ahead = arriving(endless())
        await anext(ahead)
        for _ in range(10):
            await asyncio.sleep(0)
        async with asyncio.timeout(10):
            await ahead.aclose()

    asyncio.run(look_once())
    assert read <= 2 * WAITING + 2


@given(st.lists(st.tuples(st.binary(min_size=1, max_size=4), st.integers(0, 3))))
def test_joining_keeps_bytes_and_times(rows: list[tuple[bytes, int]]) -> None:
    now_s, arrivals = 0.0, []
    for chunk, step in rows:
        now_s += step * 0.0004
        arrivals.append(Arrival(chunk, now_s))
    joined = together(arrivals)
    assert b"".join(one.chunk for one in joined) == b"".join(chunk for chunk, _ in rows)
    assert [one.at_s for one in joined] == sorted(one.at_s for one in joined)
    assert {one.at_s for one in joined} <= {one.at_s for one in arrivals}
    for earlier, later in pairwise(joined):
        assert later.at_s - earlier.at_s > 0.0005
