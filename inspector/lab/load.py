"""Many streams of one script at once, with steps by the clock: what a busy server merges, and loses by it.

Verdicts of the matrix rest on streams that were cut as asked. Here the opposite is the condition: the engine
does not wait until a step was taken, so an API server that falls behind puts steps together.
"""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from inspector.analysis.metrics import figures
from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.capture.errors import LabError
from inspector.capture.formats import count, number
from inspector.files.store import save
from inspector.lab.recording import Target, record
from inspector.lab.score import Outcome, Score, score
from inspector.lab.server import STEP_MS, ServerOptions
from inspector.lab.session import LabSession
from inspector.lab.standin.serving import StandinServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What many streams at once came to."""

    version: str
    package: str
    target: Target
    steps: str
    step_ms: int
    """Milliseconds between two steps."""
    scores: Sequence[Score]
    merged: int
    """Streams with an event that has more tokens than a step: the server put steps together. Not counted
    where the wire has no token IDs or steps vary."""
    seconds: float

    @property
    def tokens(self) -> int:
        """Tokens of all streams."""
        return len(self.scores) * len(self.target.script.sampled)


def run_load(
    lab: LabSession,
    version: str,
    target: Target,
    *,
    steps: str,
    streams: int,
    step_ms: int = STEP_MS,
    out: Path | None = None,
) -> Load:
    """Serve one release and ask for one script `streams` times at once; failed streams are kept in `out`.

    Raises LabError for a package that has no stand-in engine.
    """
    environment = lab.prepare(version)
    options = ServerOptions(schedule=steps, load=True, step_ms=step_ms)
    scores: list[Score] = []
    merged = 0
    with ExitStack() as stack:
        running = lab.serving(stack, environment, options)
        if not isinstance(running, StandinServer):
            raise LabError("load needs the stand-in engine: --front-end or --rust")
        lab.say(f"{environment.package} {version}: {count(streams, 'stream')} at once")
        captures: list[Capture] = []

        def keep(_: Target, capture: Capture) -> None:
            captures.append(capture)

        started = time.monotonic()
        record(running.base_url, [target] * streams, stream_interval=0, keep=keep, jobs=streams)
        seconds = time.monotonic() - started
    for place, capture in enumerate(captures, start=1):
        scored = score(target.script, capture)
        scores.append(scored)
        merged += _merged(capture, steps)
        if out is not None and scored.outcome is not Outcome.WHOLE:
            out.mkdir(parents=True, exist_ok=True)
            save(capture, out / f"{target.endpoint.value}-{target.script.name}-{place}.jsonl")
    return Load(
        version=version,
        package=environment.package,
        target=target,
        steps=steps,
        step_ms=step_ms,
        scores=scores,
        merged=merged,
        seconds=seconds,
    )


def load_sentence(load: Load) -> list[str]:
    """The result as lines."""
    seen = Counter(one.outcome for one in load.scores)
    counts = ", ".join(f"{seen[outcome]} {outcome.words}" for outcome in Outcome)
    steps = f"{count(int(load.steps), 'token')} per step" if load.steps.isdigit() else f"{load.steps} steps"
    pace = number(round(load.tokens / load.seconds))
    lines = [
        f"{count(len(load.scores), 'stream')} of {load.target.script.name} at once on {load.package} "
        f"{load.version}, {load.target.endpoint.value}, {steps}, a step every {load.step_ms} ms: {counts}.",
        f"  {number(load.tokens)} tokens in {load.seconds:.1f} s, {pace} tokens/s; "
        f"{count(load.merged, 'stream')} with merged steps.",
    ]
    frequent = Counter(one.differences[0] for one in load.scores if one.differences).most_common(3)
    return [*lines, *(f"  {amount} times: {words}" for words, amount in frequent)]


def load_row(load: Load) -> dict[str, object]:
    """The result for `--json`."""
    seen = Counter(one.outcome for one in load.scores)
    return {
        "package": load.package,
        "version": load.version,
        "endpoint": load.target.endpoint.value,
        "script": load.target.script.name,
        "steps": load.steps,
        "step_ms": load.step_ms,
        "streams": len(load.scores),
        **{outcome.value: seen[outcome] for outcome in Outcome},
        "merged": load.merged,
        "tokens": load.tokens,
        "seconds": round(load.seconds, 3),
    }


def _merged(capture: Capture, steps: str) -> bool:
    """Whether an event has more tokens than a step."""
    return steps.isdigit() and figures(read(capture)).tokens_per_event_max > int(steps)
