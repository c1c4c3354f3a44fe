"""What the dashboard loads before its first page, and what it loads once that page had its time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Final

from inspector.issues import catalogue
from inspector.protocol.harmony.vocab import encoding

_LATER_S: Final = 8.0
"""The first page of a browser that opens at once is drawn by then."""


@asynccontextmanager
async def warmed(first: Sequence[str] = (), later: Sequence[str] = ()) -> AsyncIterator[None]:
    """Load the vocabulary and the catalogue of known issues, then modules in the background.

    Every page needs the first two. The modules `first` are those of the first page: they load while the
    browser loads its scripts. Those of `later` are needed by some action only, which then does not wait.
    """
    encoding()
    catalogue()
    loading = asyncio.create_task(_load(first, later))
    try:
        yield
    finally:
        loading.cancel()
        with suppress(asyncio.CancelledError):
            await loading


async def _load(first: Sequence[str], later: Sequence[str]) -> None:
    for name in first:
        await asyncio.to_thread(import_module, name)
    await asyncio.sleep(_LATER_S)
    for name in later:
        await asyncio.to_thread(import_module, name)
