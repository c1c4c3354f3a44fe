"""Two plugins of vLLM's own kinds for a release that runs without a GPU behind the lab's engine. Standalone.

`platform` names the wheel's own CPU platform: a wheel that was built for GPUs finds none and would stop with
"Failed to infer device type". `observe` tells the engine which output the serving code has taken, so that the
next step is sent only then. It changes nothing that the server does.

The lab writes their entry points into a folder on PYTHONPATH; nothing is installed.
"""

import contextlib
import json
import os
import socket
from typing import Any


def platform() -> str:
    """Name the platform class."""
    _answer_for_torch()
    return "vllm.platforms.cpu.CpuPlatform"


def _answer_for_torch() -> None:
    """Give torch a function that 0.17 asks for and later versions of torch lack.

    vLLM chooses its compiled parts by it, and none of them is installed.
    """
    import torch  # type: ignore[import-not-found]  # noqa: PLC0415

    parts = torch._C._cpu
    if not hasattr(parts, "_is_avx512_supported"):
        parts._is_avx512_supported = lambda: False


def observe() -> None:
    """Wrap the two ways of taking an output from a request's queue."""
    path = os.environ.get("HARMONY_LAB_ACKS")
    if not path:
        return
    from vllm.v1.engine.output_processor import (  # type: ignore[import-not-found]  # noqa: PLC0415
        RequestOutputCollector,
    )

    if getattr(RequestOutputCollector, "_harmony_lab", False):
        return
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    get, get_nowait = RequestOutputCollector.get, RequestOutputCollector.get_nowait

    def tell(output: Any) -> None:
        choices = getattr(output, "outputs", None)
        if isinstance(choices, list):
            taken = [[choice.index, len(choice.token_ids)] for choice in choices]
            with contextlib.suppress(OSError):  # the engine is gone, or not there yet
                sender.sendto(json.dumps({"id": output.request_id, "taken": taken}).encode(), path)

    async def told_get(self: Any) -> Any:
        output = await get(self)
        tell(output)
        return output

    def told_get_nowait(self: Any) -> Any:
        output = get_nowait(self)
        tell(output)
        return output

    RequestOutputCollector.get = told_get
    RequestOutputCollector.get_nowait = told_get_nowait
    RequestOutputCollector._harmony_lab = True
