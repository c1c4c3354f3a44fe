"""A proof: a model under several conditions of its server, every endpoint, few and many streams, one report.

The conditions decide how many tokens a step has on a GPU: the release's defaults, speculative
decoding, no async scheduling. Nothing here starts a server; the command `proof` does.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final

from inspector.capture.capture import Endpoint
from inspector.capture.errors import ConnectionFailed
from inspector.capture.formats import count, fine_duration, plural
from inspector.fleet.probe.loads import Budget, ProbeLoad
from inspector.fleet.probe.planning import Plan
from inspector.fleet.probe.prompts import BUILT_IN, ProbePrompt
from inspector.fleet.probe.rates import percentile, rate
from inspector.fleet.probe.reporting import rate_words
from inspector.fleet.probe.rows import ProbeRow, Result
from inspector.fleet.probe.summary import failure_words, failures
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.protocol.wire.endpoints import spec_of

STREAMS: Final = (1, 8, 64)
"""Streams at the same time."""
CELL_AT_LEAST_S: Final = 1.0
"""Seconds for one endpoint and number of streams, however little time is left."""
MORE_S: Final = 30.0
"""Seconds that the last responses of a cell have to end."""

_SPECULATION: Final = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}'
_MAX_TOKENS: Final = 512
_FAILURES_SHOWN: Final = 3
"""Ways to fail that a report names."""
WORKLOAD: Final = (
    f"{len(BUILT_IN)} prompts in turn, with a tool; temperature 0, at most {_MAX_TOKENS} tokens in a response"
)
"""The default workload, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One way in which a server is started."""

    name: str
    words: str
    """For a heading."""
    flags: tuple[str, ...] = ()
    """Of `vllm serve`."""


CONDITIONS: Final = (
    Condition(name="default", words="the release's defaults"),
    Condition(
        name="speculative",
        words="speculative decoding (n-gram, 4 tokens)",
        flags=("--speculative-config", _SPECULATION),
    ),
    Condition(name="no-async", words="without async scheduling", flags=("--no-async-scheduling",)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofCell:
    """One endpoint with a number of streams at once, under one condition."""

    condition: str
    endpoint: Endpoint
    streams: int
    rows: Sequence[ProbeRow]
    trouble: str = ""
    """Why it was not measured, or ended early; empty otherwise."""

    @property
    def tokens(self) -> int:
        """Tokens of all responses."""
        return sum(row.response.tokens for row in self.rows)

    @property
    def tokens_per_s(self) -> float | None:
        """Of all streams together, from the first request to the end of the last response."""
        ends = [row.started_s + (row.response.duration_s or 0.0) for row in self.rows]
        took_s = max(ends) - min(row.started_s for row in self.rows) if ends else 0.0
        return self.tokens / took_s if took_s > 0 else None

    @property
    def tokens_per_event(self) -> float | None:
        """Mean over the responses of which it is known."""
        means = [mean for row in self.rows if (mean := row.response.tokens_per_event) is not None]
        return sum(means) / len(means) if means else None

    def counted(self, *results: Result) -> int:
        """The number of requests with one of these results."""
        return sum(row.result in results for row in self.rows)

    def first_token_s(self, share: float) -> float | None:
        """A percentile of the time to the first token; None if so many responses had none."""
        times = (row.response.first_token_s for row in self.rows)
        return percentile([inf if time_s is None else time_s for time_s in times], share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """The measurements and where they were made."""

    model: str
    version: str | None
    """As reported by the server."""
    gpu: str | None
    """By nvidia-smi; None without one."""
    driver: str | None = None
    """Of the GPU."""
    local: bool = True
    """Whether the servers ran on this machine, whose GPU is known."""
    cells: Sequence[ProofCell]
    commands: Mapping[str, str] = field(default_factory=dict)
    """How the server of each condition was started."""
    workload: str = ""
    """What was sent, in words."""
    made: str = ""
    """When, and with which program."""
    folder: Path | None = None
    """Where the captures are."""

    @property
    def damaged(self) -> int:
        """Responses that arrived damaged without an error, completions too."""
        return sum(cell.counted(Result.DAMAGED) for cell in self.cells)

    @property
    def failed(self) -> int:
        """Requests that failed with an error."""
        return sum(cell.counted(Result.FAILED) for cell in self.cells)

    @property
    def causes(self) -> Sequence[tuple[str, str, int]]:
        """Id, title and count of the known issues behind damaged responses; words are empty where none is."""
        responses = (row.response for cell in self.cells for row in cell.rows if row.result is Result.DAMAGED)
        return [
            (*key, amount)
            for key, amount in Counter(
                (response.cause, response.cause_title) for response in responses
            ).most_common()
        ]

    @property
    def checked(self) -> int:
        """Responses of which it is known whether they arrived damaged."""
        return sum(cell.counted(Result.OK, Result.DAMAGED) for cell in self.cells)

    @property
    def sentence(self) -> str:
        """The result, first of all: that of the endpoints whose responses a parser reads."""
        if not any(cell.rows for cell in self.cells):
            return "Nothing was measured."
        where = f"vLLM {self.version}" if self.version else "the server"
        on = f" on {self.gpu}" if self.gpu else " on a machine without a GPU" if self.local else ""
        requests = count(sum(len(cell.rows) for cell in self.cells), "request")
        failed = f" {self.failed:,} of {requests} failed with an error." if self.failed else ""
        damaged, checked = _damage([cell for cell in self.cells if not spec_of(cell.endpoint).raw])
        bare, whole = _damage([cell for cell in self.cells if spec_of(cell.endpoint).raw])
        control = f"{bare:,} of {count(whole, 'completion')}, which no parser reads"
        if whole and not checked:
            return f"No parsed response of {where}{on} could be checked. Silently damaged: {control}.{failed}"
        if not checked:
            return f"No response of {where}{on} could be checked.{failed}"
        what = f"{damaged:,} of {count(checked, 'checked response')} of {where}{on}"
        were = plural(damaged, "was", "were")
        also = f" For comparison: {control}." if whole else ""
        return f"{what} {were} silently damaged: {rate(damaged, checked).words}.{also}{failed}"


def _damage(cells: Sequence[ProofCell]) -> tuple[int, int]:
    """How many responses arrived damaged without an error, of how many that could be checked."""
    checked = sum(cell.counted(Result.OK, Result.DAMAGED) for cell in cells)
    return sum(cell.counted(Result.DAMAGED) for cell in cells), checked


async def prove(
    condition: Condition,
    server: Server,
    model: str,
    *,
    seconds: float,
    endpoints: Sequence[Endpoint],
    streams: Sequence[int] = STREAMS,
    folder: Path | None = None,
    prompts: Sequence[ProbePrompt] = (),
    say: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
    more_s: float = MORE_S,
) -> list[ProofCell]:
    """Measure a running server at every endpoint with every number of streams, in about so many seconds.

    What cannot be measured is a cell with its reason. The last responses of a cell have `more_s` to end.
    `prompts` replace the usual ones, which have a tool.
    """
    planned = [(endpoint, number) for endpoint in endpoints for number in streams]
    until = clock() + seconds
    cells: list[ProofCell] = []
    for place, (endpoint, number) in enumerate(planned):
        left_s = max((until - clock()) / (len(planned) - place), CELL_AT_LEAST_S)
        say(f"{condition.name}: {endpoint}, {count(number, 'stream')} at once, {left_s:.0f} s")
        plan = Plan(
            servers=[(server, model)],
            endpoints=[endpoint],
            prompts=prompts or BUILT_IN,
            like=LiveRequest(model=model, max_tokens=_MAX_TOKENS, temperature=0.0),
            load=ProbeLoad(concurrency=number),
            budget=Budget(seconds=left_s),
            folder=None if folder is None else folder / condition.name / f"{endpoint}-{number}",
            keep_clean=0.01,
        )
        rows: Sequence[ProbeRow] = ()
        try:
            probe = await plan.prepared()
            running = asyncio.ensure_future(probe.run())
            ended, _ = await asyncio.wait({running}, timeout=left_s + more_s)
            open_ones = probe.progress().in_flight
            if not ended:
                probe.stop()
            await running
            rows, trouble = probe.rows, probe.trouble
            if not ended:
                trouble = (
                    trouble or f"{count(open_ones, 'response')} did not end within {left_s + more_s:.0f} s"
                )
        except ConnectionFailed as error:
            trouble = str(error)
        cells.append(
            ProofCell(condition=condition.name, endpoint=endpoint, streams=number, rows=rows, trouble=trouble)
        )
    return cells


_HEAD: Final = (
    "condition",
    "endpoint",
    "streams",
    "requests",
    "damaged (95%)",
    "failed",
    "unknown",
    "tokens/s",
    "tokens per event",
    "first token p50, p99",
)


def _cells(cell: ProofCell) -> tuple[str, ...]:
    checked = cell.counted(Result.OK, Result.DAMAGED)
    p50, p99 = (cell.first_token_s(share) for share in (0.5, 0.99))
    speed, per_event = cell.tokens_per_s, cell.tokens_per_event
    damaged = cell.counted(Result.DAMAGED)
    return (
        cell.condition,
        str(cell.endpoint),
        f"{cell.streams}",
        f"{len(cell.rows):,}",
        f"{damaged}, {rate_words(rate(damaged, checked))}",
        f"{cell.counted(Result.FAILED)}",
        f"{cell.counted(Result.UNKNOWN)}",
        f"{speed:,.0f}" if speed is not None else "-",
        f"{per_event:.2f}" if per_event is not None else "-",
        f"{fine_duration(p50, 'never')}, {fine_duration(p99, 'never')}" if cell.rows else "-",
    )


def proof_lines(proof: Proof) -> list[str]:
    """The result as text: the sentence first, then a line per cell."""
    rows: list[tuple[str, ...]] = [_HEAD, *(_cells(cell) for cell in proof.cells)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(_HEAD))]
    lines = [proof.sentence, f"  {_where(proof)}", ""]
    lines += [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
    return [*lines, *_cause_words(proof), *_failure_words(proof), *_troubles(proof)]


def proof_markdown(proof: Proof) -> str:
    """The same as a report."""
    lines = ["# gpt-oss on vLLM: what arrives", "", proof.sentence, "", _where(proof), ""]
    lines += [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
    lines += [f"| {' | '.join(_cells(cell))} |" for cell in proof.cells]
    named = {cell.condition for cell in proof.cells}
    lines += [""]
    for condition in CONDITIONS:
        if condition.name in named:
            command = proof.commands.get(condition.name)
            lines.append(
                f"- {condition.name}: {condition.words}" + (f": {_code(command)}" if command else "")
            )
    lines += [f"- {_code(words)}" for words in (*_cause_words(proof), *_failure_words(proof))]
    lines += [f"- {words}" for words in (proof.workload, proof.made) if words]
    # Text from a server is quoted as code, so that it becomes no link or tag.
    return "\n".join([*lines, *(f"- {_code(words)}" for words in _troubles(proof))]) + "\n"


def _code(words: str) -> str:
    return f"`{' '.join(words.replace('`', chr(39)).split())}`"


def _cause_words(proof: Proof) -> list[str]:
    lines = []
    for cause, title, amount in proof.causes:
        why = f"{title} ({cause})" if cause else "no known issue explains it"
        lines.append(f"{count(amount, 'damaged response')}: {why}")
    return lines


def _failure_words(proof: Proof) -> list[str]:
    classes = failures([row for cell in proof.cells for row in cell.rows])
    return [f"failed: {failure_words(failure)}" for failure in classes[:_FAILURES_SHOWN]]


def proof_row(proof: Proof) -> dict[str, Any]:
    """The same as JSON."""
    return {
        "sentence": proof.sentence,
        "model": proof.model,
        "version": proof.version,
        "gpu": proof.gpu,
        "driver": proof.driver,
        "made": proof.made,
        "asked": proof.workload,
        "commands": dict(proof.commands),
        "causes": [
            {"id": issue_id, "title": title, "responses": amount} for issue_id, title, amount in proof.causes
        ],
        "captures": None if proof.folder is None else str(proof.folder),
        "damaged": proof.damaged,
        "failed": proof.failed,
        "cells": [
            {
                "condition": cell.condition,
                "endpoint": str(cell.endpoint),
                "streams": cell.streams,
                "requests": len(cell.rows),
                **{str(result): cell.counted(result) for result in Result},
                "tokens": cell.tokens,
                "tokens_per_s": cell.tokens_per_s,
                "tokens_per_event": cell.tokens_per_event,
                "first_token_p50_s": cell.first_token_s(0.5),
                "first_token_p99_s": cell.first_token_s(0.99),
                "trouble": cell.trouble,
            }
            for cell in proof.cells
        ],
    }


def _where(proof: Proof) -> str:
    version = f"vLLM {proof.version}" if proof.version else "unknown version"
    kept = f"; captures in {proof.folder}" if proof.folder is not None else ""
    gpu = proof.gpu or ("no GPU" if proof.local else "GPU unknown")
    if proof.gpu and proof.driver:
        gpu += f" (driver {proof.driver})"
    return f"{gpu}, {version}, {proof.model}{kept}"


def _troubles(proof: Proof) -> list[str]:
    return [
        f"{cell.condition}, {cell.endpoint}, {cell.streams} at once: {cell.trouble}"
        for cell in proof.cells
        if cell.trouble
    ]
