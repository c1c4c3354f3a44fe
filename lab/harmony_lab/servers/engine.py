"""What the engine processes behind other servers share: scripted streams, and the log of their steps."""

import json
import os
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TextIO

from harmony_lab.standin.generation import Generation
from harmony_lab.standin.replies import reply_to
from harmony_lab.standin.steps import schedule_of
from inspector.matrix.scripts import STOPS

PACE_S: Final = 0.003
"""Seconds between two steps of a stream: these servers do not say when they took one."""

MAX_MODEL_LEN: Final = 4096


@dataclass(slots=True, kw_only=True)
class ScriptedStream:
    """One request in the engine."""

    generation: Generation
    streamed: bool
    logprobs: bool = False
    due: float = 0.0
    """When the next step is made."""

    def wait(self) -> None:
        """Set when the next step is made: after the pace, and what the schedule waits."""
        self.due = time.monotonic() + PACE_S + self.generation.wait_ms() / 1000


class ScriptedEngine:
    """Makes streams from prompts, and logs each with its steps when it ends."""

    def __init__(self, scripts: Mapping[str, Sequence[Sequence[int]]], steps: str, log: Path) -> None:
        self._scripts, self._steps = scripts, steps
        self._log: TextIO = log.open("a", encoding="utf-8")

    def start(
        self,
        request_id: str,
        prompt_ids: Sequence[int],
        *,
        max_tokens: int,
        stop_ids: Iterable[int],
        ignore_eos: bool,
        streamed: bool,
        logprobs: bool = False,
    ) -> ScriptedStream:
        """The stream of one request."""
        reply = reply_to(prompt_ids, self._scripts)
        generation = Generation(
            request_id=request_id,
            tokens=reply.tokens,
            schedule=reply.schedule or schedule_of(self._steps),
            script=reply.script,
            eos=None,
            stop_ids=frozenset() if ignore_eos else STOPS | set(stop_ids),
            max_tokens=max_tokens,
            room=MAX_MODEL_LEN - len(prompt_ids),
        )
        stream = ScriptedStream(generation=generation, streamed=streamed, logprobs=logprobs)
        stream.wait()
        return stream

    def ended(self, stream: ScriptedStream, end: str) -> None:
        """Write the log's line."""
        generation = stream.generation
        row = {
            "id": generation.request_id,
            "script": generation.script,
            "schedule": generation.schedule.text,
            "steps": generation.steps,
            "taken": None,
            "end": end,
        }
        self._log.write(json.dumps(row) + "\n")
        self._log.flush()


def engine_arguments(program: str) -> ArgumentParser:
    """The options that each of these processes has."""
    parser = ArgumentParser(prog=f"python -m {program}")
    parser.add_argument("--release", required=True)
    parser.add_argument("--folder", type=Path, required=True, help="the environment of the release")
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--name", required=True, help="the served model's name")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--scripts", type=Path, required=True)
    parser.add_argument("--steps", default="1")
    parser.add_argument("--log", type=Path, required=True)
    return parser


def end_at_once() -> None:
    """End without waiting for the threads of a compiled server, which know nothing of Python's exit."""
    os._exit(0)
