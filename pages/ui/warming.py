"""What the dashboard loads before its first page."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module

from inspector.issues import catalogue
from inspector.protocol.harmony.vocab import encoding


@asynccontextmanager
async def warmed(modules: Sequence[str] = ()) -> AsyncIterator[None]:
    """Load the vocabulary and the known issues, then the modules of the first page in the background.

    Every page needs the first two; the modules load while the browser loads its scripts. A browser that opens
    some seconds after the start has its first page a fifth sooner: 1.74 s rather than 2.23 s (4 s after the
    start, medians of 10 runs each), 2.7 s rather than 3.2 s without the modules alone (3 s, 9 runs). One that
    opens at once gains nothing. To repeat it, take `warmed(...)` out of app.py in a second checkout and run
    `python -m bench.first_page --after 4 --rounds 10 --root . --root OTHER`.
    """
    encoding()
    catalogue()
    loading = asyncio.create_task(_load(modules))
    try:
        yield
    finally:
        loading.cancel()
        with suppress(asyncio.CancelledError):
            await loading


async def _load(modules: Sequence[str]) -> None:
    for name in modules:
        await asyncio.to_thread(import_module, name)
