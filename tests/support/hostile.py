"""A capture in which each text that a server or model controls is an attack on a page."""

from collections.abc import Sequence
from dataclasses import replace

from inspector.inspection.inspection import Inspection, inspect
from tests.support.streams import Step, chat

__all__ = ["hostile"]

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>\u202e\x1b]8;;x\x07```\n# [x](http://y) @all <!--"
)


def hostile() -> Inspection:
    """Tokens, header, request, notes and name, all hostile."""
    steps: Sequence[Step] = (
        (f"<|channel|>analysis<|message|>{HOSTILE}<|end|>", {"content": HOSTILE}),
        ("<|start|>assistant<|channel|>commentary to=functions.<b>x</b><|message|>{}<|call|>", {}),
        (f"{HOSTILE}", {}),
    )
    capture = chat(steps, finish=None)
    header = replace(
        capture.header,
        model=HOSTILE,
        server_version=HOSTILE,
        source=HOSTILE,
        request={
            "messages": [{"content": HOSTILE}],
            "api_key": "sk-secret-of-mine",
            "note": "Bearer abcdefgh1234",
        },
        extra={HOSTILE: HOSTILE},
    )
    return inspect(replace(capture, header=header, notes=(HOSTILE,)), name=f"dir/{HOSTILE}.jsonl")
