"""Rows of a probe, and probes of servers that tests start."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from inspector.capture.capture import Endpoint
from inspector.fleet.probe import Budget, Probe, ProbeLoad, ProbeRow, Result, prompts_of_text
from inspector.fleet.probe.planning import Plan
from inspector.fleet.probe.rows import AuditedResponse
from inspector.net.client.address import Server

__all__ = ["files", "plan", "probed", "row", "rows"]

_LOSS = "The server lost 2 tokens."


def row(number: int, result: Result = Result.OK, **values: Any) -> ProbeRow:
    """A row of a request that took a second; values are those of the row or of its response."""
    inner = {key: values.pop(key) for key in list(values) if key in AuditedResponse.__dataclass_fields__}
    failed = {"failure": "HTTP 500", "status": 500} if result is Result.FAILED else {"status": 200}
    response = AuditedResponse(
        **{
            "result": result,
            "sentence": "Everything arrived." if result is Result.OK else _LOSS,
            "kinds": ("dropped",) if result is Result.DAMAGED else (),
            "tokens": 30,
            "tokens_per_event": 3.0,
            "duration_s": 1.0,
            "first_token_s": None if result is Result.FAILED else 0.25,
            "first_s": {} if result is Result.FAILED else {"analysis": 0.25},
            "gaps": {} if result is Result.FAILED else {"analysis": {-200: 9}},
            **failed,
            **inner,
        }
    )
    plain = ProbeRow(
        number=number,
        side="",
        level=4,
        endpoint=Endpoint.CHAT,
        prompt="Hello",
        streamed=True,
        control=False,
        started_s=float(number),
        in_flight=4,
        deferred=0,
        response=response,
    )
    return replace(plain, **values)


def rows(**counts: int) -> list[ProbeRow]:
    """So many rows of each result."""
    results = [Result(name) for name, amount in counts.items() for _ in range(amount)]
    return [row(number, result) for number, result in enumerate(results)]


def plan(*addresses: str, model: str = "openai/gpt-oss-20b", **values: Any) -> Plan:
    """Ten requests with one prompt, unless values say otherwise."""
    return Plan(
        **{
            "servers": [(Server(base_url=address), model) for address in addresses],
            "endpoints": [Endpoint.CHAT],
            "prompts": prompts_of_text("Hello"),
            "load": ProbeLoad(),
            "budget": Budget(requests=10),
            **values,
        }
    )


def probed(plan: Plan) -> Probe:
    """The probe of a plan, after it ran."""

    async def run() -> Probe:
        probe = await plan.prepared()
        await probe.run()
        return probe

    return asyncio.run(run())


def files(folder: Path) -> Sequence[str]:
    """The captures that were kept."""
    return sorted(path.name for path in (folder / "captures").iterdir())
