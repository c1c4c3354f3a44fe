"""Binary search for the release that changed an outcome; only tested releases are installed.

The two ends are tested first and must differ. Then releases inside the range are tested until two neighbours
differ: those with recorded scores first, then installed ones, then any. A script may be run several times,
because old releases lose tokens only if the engine is faster than the API process; the worst outcome counts.

The stand-in engine follows its schedule exactly, so a recorded score of the matrix replaces a run. There, two
servers start together (on two cores that takes little longer than one), so a round divides the range
by three.
"""

import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from harmony_lab.asking import body_of, fault_of, version_of
from harmony_lab.install import CPU_PACKAGE, GPU_PACKAGE, Environment
from harmony_lab.process import ServerProcess
from harmony_lab.recording import Target, record
from harmony_lab.score import score
from harmony_lab.server import ServerOptions
from harmony_lab.servers.table import SERVERS
from harmony_lab.session import LabSession
from harmony_lab.standin.install import FRONT_END, OLDEST_FRONT_END, RUST
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture, Endpoint
from inspector.capture.deltas import CONTENT, REASONING
from inspector.capture.errors import LabError
from inspector.matrix.results import STAND_IN, UNSTREAMED, MatrixRun, Score, ScriptOutcome, version_key
from inspector.matrix.scripts import Expectation, Script, ScriptPiece, ToolCall

_WORST: Final = (ScriptOutcome.COMPLETE, ScriptOutcome.REPORTED, ScriptOutcome.SILENT)

Scorer = Callable[[Sequence[str]], Sequence[Score]]
"""Scores of several releases, which are started together, in their order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One tested release and its score."""

    version: str
    score: Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The two neighbouring releases between which the outcome changes."""

    last: Visit
    first: Visit
    visits: tuple[Visit, ...]
    """All tested releases, by version."""


def releases(package: str = CPU_PACKAGE, *, python: str = sys.executable) -> list[str]:
    """The releases on the package index for this platform, oldest first; without rebuilds (`.post2`)."""
    stand_in = package in {FRONT_END, RUST}
    other_server = SERVERS.get(package)
    if other_server is not None and not other_server.distribution:
        raise LabError(f"{other_server.label} has no releases on the package index; name the versions")
    package = other_server.distribution if other_server else GPU_PACKAGE if stand_in else package
    listing = subprocess.run(
        [python, "-m", "pip", "index", "versions", package], capture_output=True, text=True, check=False
    )
    match = re.search(r"Available versions: (.+)", listing.stdout)
    if listing.returncode or match is None:
        reason = (listing.stderr or listing.stdout).strip().splitlines()
        raise LabError(f"pip cannot list the releases of {package}: {reason[-1] if reason else 'no output'}")
    names = [version.strip() for version in match[1].split(",")]
    versions = [name for name in names if re.fullmatch(r"\d+(\.\d+)*", name)]
    if stand_in:
        versions = [version for version in versions if version_key(version) >= version_key(OLDEST_FRONT_END)]
    return sorted(versions, key=version_key)


def recorded_scores(runs: Iterable[MatrixRun], package: str, target: Target, steps: str) -> dict[str, Score]:
    """Recorded scores of a script under the same conditions, by release; none for a real engine."""
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
    """Find the first release with the outcome of the newer end.

    Releases in `recorded` need no server and are tested first, then those in `ready`, which are installed.
    The scorer gets `at_once` releases at a time. Raises LabError if an end is not available, or if both ends
    have the same outcome.
    """
    tested: dict[str, Visit] = {}

    def visit(versions: Sequence[str]) -> list[Visit]:
        unscored = [version for version in versions if version not in tested and version not in recorded]
        scores = {**recorded, **dict(zip(unscored, scorer(unscored) if unscored else (), strict=True))}
        for version in versions:
            if version in tested:
                continue
            score = scores[version]
            tested[version] = Visit(version=version, score=score)
            lab.say(
                f"{version}: {score.outcome.words}{'; ' + score.differences[0] if score.differences else ''}"
                f"{' (recorded)' if version in recorded else ''}"
            )
        return [tested[version] for version in versions]

    older, newer = sorted((good, bad), key=version_key)
    between = [
        version for version in available if version_key(older) <= version_key(version) <= version_key(newer)
    ]
    for end in (good, bad):
        if end not in between:
            raise LabError(
                f"{lab.package} has no release {end} for this platform; "
                f"available: {', '.join(available[-12:])}"
            )
    low, high = 0, len(between) - 1
    ends = [between[low], between[high]]
    first, last = visit(ends) if at_once > 1 else [visit([end])[0] for end in ends]
    first_outcome, last_outcome = first.score.outcome, last.score.outcome
    if first_outcome is last_outcome:
        raise LabError(
            f"{good} and {bad} have the same outcome ({first_outcome.words}); there is nothing to bisect"
        )
    lab.say(f"{high - low - 1} releases between {between[low]} and {between[high]}")
    while high - low > 1:
        inside = range(low + 1, high)
        if recorded_places := [place for place in inside if between[place] in recorded]:
            places = _evenly(recorded_places, low, high, 1)
        else:
            installed = [place for place in inside if between[place] in ready]
            places = _evenly(installed or inside, low, high, at_once)
        outcomes = [visited.score.outcome for visited in visit([between[place] for place in places])]
        changed = next((place for place, outcome in enumerate(outcomes) if outcome is last_outcome), None)
        if changed is None:
            low = places[-1]
        else:
            low, high = places[changed - 1] if changed else low, places[changed]
    return Change(
        last=tested[between[low]],
        first=tested[between[high]],
        visits=tuple(tested[version] for version in sorted(tested, key=version_key)),
    )


def _evenly(places: Sequence[int], low: int, high: int, amount: int) -> list[int]:
    """The `amount` of `places` that divide the range from `low` to `high` most evenly."""
    parts = min(amount, len(places)) + 1
    goals = [low + (high - low) * part / parts for part in range(1, parts)]
    chosen = set[int]()
    for goal in goals:
        remaining = [place for place in places if place not in chosen]
        chosen.add(min(remaining, key=lambda place: abs(place - goal)))
    return sorted(chosen)


def script_of_capture(capture: Capture) -> Script:
    """A script of a capture's own tokens, which expects what the contract promises for them.

    Raises LabError if the capture has no token IDs.
    """
    ids = capture.header.script
    reading = read(capture, truth=ids)
    generated = reading.choice.generated()
    if generated is None or not reading.choice.tokens.ids:
        raise LabError("this capture has no token IDs, so its stream cannot be replayed on other releases")
    names = tuple(dict.fromkeys(call.name for call in generated.tool_calls))
    original_request = capture.header.request
    request = {key: original_request[key] for key in ("ignore_eos",) if original_request.get(key)}
    if reading.choice.finish_reason == "length":
        request["max_tokens"] = len(reading.choice.tokens.ids)
    return Script(
        name="capture",
        sentence="The tokens of a capture.",
        turns=(tuple(reading.choice.tokens.ids),),
        well_formed=not reading.choice.transcript.rejected_runs,
        expect=Expectation(
            reasoning=_pieces(reading, REASONING),
            content=_pieces(reading, CONTENT),
            tool_calls=tuple(ToolCall(call.name, call.arguments) for call in generated.tool_calls),
        ),
        request=request,
        tools=names,
    )


def _pieces(reading: Reading, field: str) -> tuple[ScriptPiece, ...]:
    """One piece per message; servers differ in what they put between messages."""
    texts = reading.choice.expected.texts(field, reading.choice.tokens.ids)
    return tuple(ScriptPiece(text, required=True) for text in texts)


def release_scorer(lab: LabSession, matrix_target: Target, *, steps: str, repeat: int = 3) -> Scorer:
    """A scorer that starts releases together and sends the target `repeat` times; the worst outcome counts.

    `steps` is a condition of the matrix. On the stand-in engine, streams that do not follow the schedule are
    not scored; LabError if none does.
    """
    script = replace(matrix_target.script, stream=matrix_target.script.stream and steps != UNSTREAMED)
    target = Target(matrix_target.endpoint, script)
    schedule = "1" if steps == UNSTREAMED else steps
    stream_interval = int(schedule) if schedule.isdigit() else 0
    options = ServerOptions(
        stream_interval=stream_interval,
        schedule=schedule,
        tools=bool(target.script.built_in),
        extra_scripts=[target.script] if target.script.name == "capture" else [],
    )

    def scores_of(versions: Sequence[str]) -> list[Score]:
        environments = [lab.prepare(version) for version in versions]
        with ExitStack() as stack:
            starting = [lab.serving(stack, environment, options, wait=False) for environment in environments]
            return [worst(*pair) for pair in zip(environments, starting, strict=True)]

    def worst(environment: Environment, running: ServerProcess) -> Score:
        scores: list[Score] = []
        faults: list[str] = []

        def keep(recorded_target: Target, capture: Capture) -> None:
            fault = fault_of(environment.package, running, capture, schedule)
            if fault:
                faults.append(fault)
            else:
                scores.append(score(recorded_target.script, capture))

        running.ready()
        record(
            running.base_url,
            [target] * repeat,
            stream_interval=stream_interval,
            keep=keep,
            jobs=2,
            lab={"server": environment.package} if environment.package in SERVERS else None,
            version=version_of(environment),
            body=body_of(environment.package, steps),
        )
        if not scores:
            release = f"{environment.package} {environment.version}"
            raise LabError(f"{release}: no verdict on {target.script.name}: {faults[0]}")
        return max(scores, key=lambda candidate: _WORST.index(candidate.outcome))

    return scores_of


def endpoint_of(capture: Capture) -> Endpoint:
    """The endpoint for a capture's script: its own, or chat for a list of token IDs."""
    return Endpoint.CHAT if capture.header.endpoint is Endpoint.TOKENS else capture.header.endpoint


def bisect_row(change: Change) -> dict[str, Any]:
    """The result of a search for `--json`."""
    return {
        "first": change.first.version,
        "last": change.last.version,
        "visits": [
            {
                "version": visit.version,
                "outcome": visit.score.outcome.value,
                "differences": list(visit.score.differences),
            }
            for visit in change.visits
        ],
    }


def bisect_sentence(change: Change, what: str) -> str:
    """The result of a search in one sentence."""
    first, last = change.first, change.last
    return (
        f"{first.version} is the first release with the outcome “{first.score.outcome.words}” for {what}; "
        f"{last.version} has “{last.score.outcome.words}”"
    )
