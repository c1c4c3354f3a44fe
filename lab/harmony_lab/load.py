"""Many concurrent streams of one script, with engine steps at fixed times: what a busy server loses.

The matrix scores only streams that follow their schedule. Here the engine does not wait until the API server
has taken a step, so a server that falls behind merges steps.
"""

import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harmony_lab.recording import Target, record
from harmony_lab.score import score
from harmony_lab.server import STEP_MS, ServerOptions
from harmony_lab.session import LabSession
from harmony_lab.standin.serving import StandinServer
from inspector.analysis.metrics import figures
from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.capture.errors import LabError
from inspector.capture.formats import count, number
from inspector.files.store import save
from inspector.matrix.results import Score, ScriptOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """The outcomes of many concurrent streams."""

    version: str
    package: str
    target: Target
    steps: str
    step_ms: int
    """Milliseconds between two steps."""
    scores: Sequence[Score]
    merged: int
    """Streams with an event of more tokens than a step, so the server merged steps; 0 without token IDs or if
    steps vary."""
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
) -> LoadResult:
    """Serve one release and send one script `streams` times at once; failed streams are saved in `out`.

    Raises LabError for a package without a stand-in engine.
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
        if out is not None and scored.outcome is not ScriptOutcome.COMPLETE:
            out.mkdir(parents=True, exist_ok=True)
            save(capture, out / f"{target.endpoint.value}-{target.script.name}-{place}.jsonl")
    return LoadResult(
        version=version,
        package=environment.package,
        target=target,
        steps=steps,
        step_ms=step_ms,
        scores=scores,
        merged=merged,
        seconds=seconds,
    )


def load_sentence(load: LoadResult) -> list[str]:
    """The result as lines."""
    outcomes = Counter(score.outcome for score in load.scores)
    counts = ", ".join(f"{outcomes[outcome]} {outcome.words}" for outcome in ScriptOutcome)
    steps = f"{count(int(load.steps), 'token')} per step" if load.steps.isdigit() else f"{load.steps} steps"
    pace = number(round(load.tokens / load.seconds))
    lines = [
        f"{count(len(load.scores), 'stream')} of {load.target.script.name} at once on {load.package} "
        f"{load.version}, {load.target.endpoint.value}, {steps}, a step every {load.step_ms} ms: {counts}.",
        f"  {number(load.tokens)} tokens in {load.seconds:.1f} s, {pace} tokens/s; "
        f"{count(load.merged, 'stream')} with merged steps.",
    ]
    frequent = Counter(score.differences[0] for score in load.scores if score.differences).most_common(3)
    return [*lines, *(f"  {amount} times: {words}" for words, amount in frequent)]


def load_row(load: LoadResult) -> dict[str, object]:
    """The result for `--json`."""
    outcomes = Counter(score.outcome for score in load.scores)
    return {
        "package": load.package,
        "version": load.version,
        "endpoint": load.target.endpoint.value,
        "script": load.target.script.name,
        "steps": load.steps,
        "step_ms": load.step_ms,
        "streams": len(load.scores),
        **{outcome.value: outcomes[outcome] for outcome in ScriptOutcome},
        "merged": load.merged,
        "tokens": load.tokens,
        "seconds": round(load.seconds, 3),
    }


def _merged(capture: Capture, steps: str) -> bool:
    """Whether an event has more tokens than a step."""
    return steps.isdigit() and figures(read(capture)).tokens_per_event_max > int(steps)
