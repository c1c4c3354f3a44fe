"""Binary search for the release that changed an outcome; installs only the releases that it tests.

The two ends are tested first; they must differ. Then releases inside the remaining range are started and
tested, until two neighbours differ: recorded ones first, then those that are installed, then any. A
script may be run several times, because old releases lose tokens only when the engine is faster than the
API process; the worst outcome counts.

On the stand-in engine every stream is cut as asked, so a recorded cell of the matrix is as good as a new one:
releases that have one are not started. And two servers start at once, which takes little longer than one does
where two cores are free, so the range is divided by three each time.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.deltas import CONTENT, REASONING
from inspector.capture.errors import LabError
from inspector.lab.install import CPU_PACKAGE, GPU_PACKAGE
from inspector.lab.process import ServerProcess
from inspector.lab.recording import Target, record
from inspector.lab.results import STAND_IN, Run, version_key
from inspector.lab.score import Outcome, Score, score
from inspector.lab.scripts import Expectation, Piece, Script, ToolCall
from inspector.lab.server import ServerOptions
from inspector.lab.session import LabSession
from inspector.lab.standin.checking import chunking_fault
from inspector.lab.standin.install import FRONT_END, OLDEST_FRONT_END, RUST
from inspector.lab.standin.serving import StandinServer
from inspector.lab.standin.steps import UNSTREAMED

_WORST: Final = (Outcome.WHOLE, Outcome.TOLD, Outcome.SILENT)

Scorer = Callable[[Sequence[str]], Sequence[Score]]
"""What some releases do, in their order; they are started together."""


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
    ready: Collection[str] = (),
    at_once: int = 1,
) -> Change:
    """Find the first release after which the verdict is the other end's.

    `recorded` are scores that need no server; releases with one are looked at first, and then those of
    `ready`, which need no installation. `at_once` releases are given to the scorer together. Raises LabError
    when an end is no release or when both ends do the same.
    """
    judged: dict[str, Visit] = {}

    def visit(versions: Sequence[str]) -> list[Visit]:
        asked = [one for one in versions if one not in judged and one not in recorded]
        found = {**recorded, **dict(zip(asked, scorer(asked) if asked else (), strict=True))}
        for version in versions:
            if version in judged:
                continue
            score = found[version]
            judged[version] = Visit(version=version, score=score)
            lab.say(
                f"{version}: {score.outcome.words}{'; ' + score.differences[0] if score.differences else ''}"
                f"{' (recorded)' if version in recorded else ''}"
            )
        return [judged[version] for version in versions]

    older, newer = sorted((good, bad), key=version_key)
    between = [one for one in available if version_key(older) <= version_key(one) <= version_key(newer)]
    for end in (good, bad):
        if end not in between:
            raise LabError(
                f"{lab.package} has no release {end} for this platform; "
                f"available: {', '.join(available[-12:])}"
            )
    low, high = 0, len(between) - 1
    ends = [between[low], between[high]]
    # Together where the scorer takes two.
    first, last = visit(ends) if at_once > 1 else [visit([one])[0] for one in ends]
    first_outcome, last_outcome = first.score.outcome, last.score.outcome
    if first_outcome is last_outcome:
        raise LabError(
            f"{good} and {bad} have the same outcome ({first_outcome.words}); there is nothing to bisect"
        )
    lab.say(f"{high - low - 1} releases between {between[low]} and {between[high]}")
    while high - low > 1:
        inside = range(low + 1, high)
        if known := [place for place in inside if between[place] in recorded]:
            places = _evenly(known, low, high, 1)
        else:
            installed = [place for place in inside if between[place] in ready]
            places = _evenly(installed or inside, low, high, at_once)
        outcomes = [one.score.outcome for one in visit([between[place] for place in places])]
        changed = next((place for place, one in enumerate(outcomes) if one is last_outcome), None)
        if changed is None:
            low = places[-1]
        else:
            low, high = places[changed - 1] if changed else low, places[changed]
    return Change(
        last=judged[between[low]],
        first=judged[between[high]],
        visits=tuple(judged[one] for one in sorted(judged, key=version_key)),
    )


def _evenly(some: Sequence[int], low: int, high: int, amount: int) -> list[int]:
    """Of some places between two, as many as divide the range most evenly."""
    parts = min(amount, len(some)) + 1
    wanted = [low + (high - low) * part / parts for part in range(1, parts)]
    found = set[int]()
    for goal in wanted:
        left = [place for place in some if place not in found]
        found.add(min(left, key=lambda place: abs(place - goal)))
    return sorted(found)


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


def asking(lab: LabSession, asked_for: Target, *, steps: str, repeat: int = 3) -> Scorer:
    """Installs releases, starts them together and asks each `repeat` times; the worst outcome counts.

    `steps` is a condition of the matrix. On the stand-in engine streams that were not cut as asked do not
    count; LabError when none was.
    """
    script = replace(asked_for.script, stream=asked_for.script.stream and steps != UNSTREAMED)
    target = Target(asked_for.endpoint, script)
    schedule = "1" if steps == UNSTREAMED else steps
    stream_interval = int(schedule) if schedule.isdigit() else 0
    options = ServerOptions(
        stream_interval=stream_interval,
        schedule=schedule,
        tools=bool(target.script.built_in),
        extra_scripts=[target.script] if target.script.name == "capture" else [],
    )

    def asked(versions: Sequence[str]) -> list[Score]:
        environments = [lab.prepare(version) for version in versions]
        with ExitStack() as stack:
            starting = [lab.serving(stack, one, options, wait=False) for one in environments]
            return [worst(version, running) for version, running in zip(versions, starting, strict=True)]

    def worst(version: str, running: ServerProcess) -> Score:
        engine = running.engine if isinstance(running, StandinServer) else None
        scores: list[Score] = []
        faults: list[str] = []

        def keep(asked: Target, capture: Capture) -> None:
            fault = chunking_fault(engine, capture, schedule) if engine else None
            if fault:
                faults.append(fault)
            else:
                scores.append(score(asked.script, capture))

        running.ready()
        record(running.base_url, [target] * repeat, stream_interval=stream_interval, keep=keep, jobs=2)
        if not scores:
            raise LabError(f"vLLM {version}: no verdict on {target.script.name}: {faults[0]}")
        return max(scores, key=lambda one: _WORST.index(one.outcome))

    return asked


def endpoint_of(capture: Capture) -> Endpoint:
    """The endpoint on which a capture's script is asked; a bare list of tokens goes to chat."""
    return Endpoint.CHAT if capture.header.endpoint is Endpoint.TOKENS else capture.header.endpoint
