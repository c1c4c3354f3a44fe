"""What is loaded before and beside the first page."""

import asyncio
import sys

from inspector.warming import warmed

FIRST, LATER = "xml.dom.pulldom", "xml.dom.expatbuilder"


def test_the_modules_of_the_first_page_load_at_once_and_the_others_wait() -> None:
    for name in (FIRST, LATER):
        sys.modules.pop(name, None)

    async def serving() -> tuple[bool, bool]:
        async with warmed((FIRST,), (LATER,)):
            for _ in range(500):
                if FIRST in sys.modules:
                    break
                await asyncio.sleep(0.01)
            return FIRST in sys.modules, LATER in sys.modules

    assert asyncio.run(serving()) == (True, False)
