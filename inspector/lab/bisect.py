"""Binary search for the release that changed an outcome; installs only the releases that it tests.

The two ends are tested first; they must differ. Then the middle of the remaining range is installed, started
and tested, until two neighbours differ. A script may be run several times, because old releases lose tokens
only when the engine is faster than the API process; the worst outcome counts.

On the stand-in engine every stream is cut as asked, so a recorded cell of the matrix is as good as a new one:
releases that have one are not started.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from inspector.capture import Capture, Endpoint
from inspector.deltas import CONTENT, REASONING
from inspector.errors import LabError
from inspector.lab.install import CPU_PACKAGE, GPU_PACKAGE
from inspector.lab.recording import Target, record
from inspector.lab.results import STAND_IN, Run, version_key
from inspector.lab.score import Outcome, Score, score
from inspector.lab.scripts import Expectation, Piece, Script, ToolCall
from inspector.lab.server import ServerOptions
from inspector.lab.session import LabSession
from inspector.lab.standin.checking import chunking_fault
from inspector.lab.standin.install import FRONT_END, OLDEST_FRONT_END, RUST
from inspector.lab.standin.serving import StandinServer
from inspector.reading import Reading, read

__all__ = [
    "Change",
    "Scorer",
    "Visit",
    "asking",
    "bisect",
    "endpoint_of",
    "recorded_scores",
    "releases",
    "script_of_capture",
]

_WORST: Final = (Outcome.WHOLE, Outcome.TOLD, Outcome.SILENT)

Scorer = Callable[[str], Score]
"""What one release does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What one release did."""

    version: str
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Where the verdict changes: `last` still has the old one, `first` has the new one."""

    last: Visit
    first: Visit
    visits: tuple[Visit, ...]
    """All that were judged, by version."""


def releases(package: str = CPU_PACKAGE, *, python: str = sys.executable) -> list[str]:
    """The releases that the package index has for this platform, oldest first; no rebuilds (`.post2`)."""
    stand_in = package in {FRONT_END, RUST}
    package = GPU_PACKAGE if stand_in else package
    found = subprocess.run(
        [python, "-m", "pip", "index", "versions", package], capture_output=True, text=True, check=False
    )
    listed = re.search(r"Available versions: (.+)", found.stdout)
    if found.returncode or listed is None:
        reason = (found.stderr or found.stdout).strip().splitlines()
        raise LabError(f"pip cannot list the releases of {package}: {reason[-1] if reason else 'no output'}")
    numbers = [version.strip() for version in listed[1].split(",")]
    known = [one for one in numbers if re.fullmatch(r"\d+(\.\d+)*", one)]
    if stand_in:
        known = [one for one in known if version_key(one) >= version_key(OLDEST_FRONT_END)]
    return sorted(known, key=version_key)


def recorded_scores(runs: Iterable[Run], package: str, target: Target, steps: str) -> dict[str, Score]:
    """What the matrix has of a script under the same conditions, by release; nothing for a real engine."""
    key = target.endpoint, target.script.name
    return {
        run.version: run.scores[key]
        for run in runs
        if run.engine == STAND_IN and (run.package, run.step) == (package, steps) and key in run.scores
    }


def bisect(
    lab: LabSession,
    scorer: Scorer,
    available: Sequence[str],
    *,
    good: str,
    bad: str,
    recorded: Mapping[str, Score] = MappingProxyType({}),
) -> Change:
    """Find the first release after which the verdict is the other end's.

    `recorded` are scores that need no server; releases with one are looked at first. Raises LabError when an
    end is no release or when both ends do the same.
    """
    judged: dict[str, Visit] = {}

    def visit(version: str) -> Visit:
        if version not in judged:
            known = recorded.get(version)
            judged[version] = Visit(version=version, score=scorer(version) if known is None else known)
            found = judged[version].score
            lab.say(
                f"{version}: {found.outcome.words}{'; ' + found.differences[0] if found.differences else ''}"
                f"{'' if known is None else ' (recorded)'}"
            )
        return judged[version]

    older, newer = sorted((good, bad), key=version_key)
    between = [one for one in available if version_key(older) <= version_key(one) <= version_key(newer)]
    for end in (good, bad):
        if end not in between:
            raise LabError(
                f"{lab.package} has no release {end} for this platform; "
                f"available: {', '.join(available[-12:])}"
            )
    low, high = 0, len(between) - 1
    first_outcome, last_outcome = visit(between[low]).score.outcome, visit(between[high]).score.outcome
    if visit(good).score.outcome is visit(bad).score.outcome:
        raise LabError(
            f"{good} and {bad} have the same outcome ({first_outcome.words}); there is nothing to bisect"
        )
    lab.say(f"{high - low - 1} releases between {between[low]} and {between[high]}")
    while high - low > 1:
        inside = range(low + 1, high)
        cheap = [place for place in inside if between[place] in recorded] or inside
        middle = min(cheap, key=lambda place: abs(2 * place - low - high))
        if visit(between[middle]).score.outcome is last_outcome:
            high = middle
        else:
            low = middle
    return Change(
        last=visit(between[low]),
        first=visit(between[high]),
        visits=tuple(judged[one] for one in sorted(judged, key=version_key)),
    )


def script_of_capture(capture: Capture) -> Script:
    """A script of a capture's own tokens, expecting what the tokens say a client should get.

    Raises LabError when the capture holds no token IDs.
    """
    ids = capture.header.script
    reading = read(capture, truth=ids)
    generated = reading.choice.generated()
    if generated is None or not reading.choice.tokens.ids:
        raise LabError("this capture has no token IDs, so its stream cannot be replayed on other releases")
    names = tuple(dict.fromkeys(call.name for call in generated.tool_calls))
    asked = capture.header.request
    request = {key: asked[key] for key in ("ignore_eos",) if asked.get(key)}
    if reading.choice.finish_reason == "length":
        request["max_tokens"] = len(reading.choice.tokens.ids)
    return Script(
        name="capture",
        sentence="The tokens of a capture.",
        turns=(tuple(reading.choice.tokens.ids),),
        well_formed=not reading.choice.transcript.refusals,
        expect=Expectation(
            reasoning=_pieces(reading, REASONING),
            content=_pieces(reading, CONTENT),
            tool_calls=tuple(ToolCall(call.name, call.arguments) for call in generated.tool_calls),
        ),
        request=request,
        tools=names,
    )


def _pieces(reading: Reading, field: str) -> tuple[Piece, ...]:
    """One piece a message: what a server puts between them is its own."""
    texts = reading.choice.expected.texts(field, reading.choice.tokens.ids)
    return tuple(Piece(text, required=True) for text in texts)


def asking(lab: LabSession, target: Target, *, steps: str, repeat: int = 3) -> Scorer:
    """Installs a release, starts it and asks `repeat` times; the worst outcome counts.

    On the stand-in engine streams that were not cut as asked do not count; LabError when none was.
    """
    stream_interval = int(steps) if steps.isdigit() else 0

    def asked(version: str) -> Score:
        environment = lab.prepare(version)
        scores: list[Score] = []
        options = ServerOptions(
            stream_interval=stream_interval,
            schedule=steps,
            tools=bool(target.script.built_in),
            extra_scripts=[target.script] if target.script.name == "capture" else [],
        )

        faults: list[str] = []
        with ExitStack() as stack:
            running = lab.serving(stack, environment, options)
            engine = running.engine if isinstance(running, StandinServer) else None

            def keep(asked: Target, capture: Capture) -> None:
                fault = chunking_fault(engine, capture, steps) if engine else None
                if fault:
                    faults.append(fault)
                else:
                    scores.append(score(asked.script, capture))

            record(running.base_url, [target] * repeat, stream_interval=stream_interval, keep=keep, jobs=2)
        if not scores:
            raise LabError(f"vLLM {version}: no verdict on {target.script.name}: {faults[0]}")
        return max(scores, key=lambda one: _WORST.index(one.outcome))

    return asked


def endpoint_of(capture: Capture) -> Endpoint:
    """The endpoint on which a capture's script is asked; a bare list of tokens goes to chat."""
    return Endpoint.CHAT if capture.header.endpoint is Endpoint.TOKENS else capture.header.endpoint
