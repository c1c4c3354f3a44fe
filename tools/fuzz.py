"""Damaged inputs of all forms through all that shows them: `python -m tools.fuzz --count 20000 --seed 7`.

Each input is a real capture in one of the forms that files have, changed at a few places. Nothing may raise
but InspectorError, each row of `audit --json` keeps to docs/audit.schema.json, and no view passes on what a
browser or a terminal would act on. Case N of a seed is always the same: `--first N --count 1` repeats it, and
`--save` writes its input. Batches run in processes of their own, in bounded memory.
"""

import argparse
import gzip
import json
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, Final

import jsonschema

from inspector.capture.capture import Capture, render
from inspector.capture.errors import InspectorError
from inspector.commands.terminal import printable
from inspector.files.store import FIXTURES, load_all, loads_all
from inspector.inspection.compare import compare
from inspector.inspection.inspection import Inspection, inspect
from inspector.inspection.live import LiveInspection
from inspector.inspection.masking import Standins, masked
from inspector.inspection.triage import of_content
from inspector.matrix.results import all_runs, captures_of
from inspector.protocol.harmony.text import text_of
from inspector.views.encoding import json_bytes
from inspector.views.exports import findings_csv
from inspector.views.junit import audit_junit
from inspector.views.report import html_report, markdown_report
from inspector.views.rows import audit_dict
from inspector.views.sarif import audit_sarif
from inspector.views.strip import strip
from tools.make_schema import schema

BATCH: Final = 2000
CANARY: Final = "<img src=x onerror=alert(1)>\x1b]0;owned\x07"
_MARKUP: Final = "<img src=x onerror"
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_AT_MOST_S: Final = 20
_MEMORY: Final = 4 * 2**30
_CAPTURES: Final = 3
_TEXTS: Final = (CANARY, "", "\ud800", "<|start|>", "x" * 3000, "analysis", "[DONE]", "\u202e")
_VALUES: Final[Sequence[Any]] = (None, True, False, -1, 0, 2**70, 0.5, float("nan"), [], {}, [[]], {"a": []})


@dataclass(slots=True)
class FuzzOutcome:
    """What became of some cases."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)
    """By case: what failed, with its traceback."""
    peak_mib: int = 0

    def add(self, added: "FuzzOutcome") -> None:
        """Take over what became of others."""
        self.counts += added.counts
        self.failures |= added.failures
        self.peak_mib = max(self.peak_mib, added.peak_mib)


class Wrong(AssertionError):
    """A view shows what it must not."""


# --- inputs ---


@cache
def _seeds() -> Sequence[Capture]:
    """Real captures of each endpoint: the built-in ones, and some of every run of the lab."""
    captures = [capture for path in sorted(FIXTURES.glob("*.jsonl")) for capture in load_all(path)]
    for number, run in enumerate(all_runs()):
        for place, (_, _, capture) in enumerate(captures_of(run)):
            if (place + number) % 23 == 0:
                captures.append(capture)
    return captures


def _sse(capture: Capture) -> str:
    return "".join(
        (f"event: {event.name}\n" if event.name else "") + f"data: {event.data}\n\n"
        for event in capture.events
    )


def _payloads(capture: Capture) -> list[Any]:
    return [value for event in capture.events if (value := _parsed(event.data)) is not None]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _har(capture: Capture) -> str:
    request = {"url": f"http://h/v1/{capture.header.endpoint}", "postData": {"text": _request(capture)}}
    response = {"status": 200, "content": {"text": _sse(capture)}}
    entry = {"startedDateTime": "2026-11-20T10:00:00Z", "request": request, "response": response}
    return json.dumps({"log": {"entries": [entry]}})


def _request(capture: Capture) -> str:
    return json.dumps(dict(capture.header.request), default=str)


def _pair(capture: Capture) -> str:
    return json.dumps({"request_body": _request(capture), "response_body": {"streamed_data": _sse(capture)}})


def _ids(capture: Capture) -> list[int]:
    return list(inspect(capture).reading.choice.tokens.ids)


def _generated(capture: Capture) -> str:
    ids = _ids(capture)
    facts = {"id": "r1", "finish_reason": {"type": "stop", "matched": 200002}, "completion_tokens": len(ids)}
    return json.dumps({"text": "Hi", "output_ids": ids, "meta_info": facts})


def _log(capture: Capture) -> str:
    return (
        "INFO 11-20 22:47:22 [api_server.py:1351] vLLM API server version 0.13.0\n"
        "INFO 11-20 22:48:25 [logger.py:76] Generated response chatcmpl-a: output: 'x', "
        f"output_token_ids: {_ids(capture)}, finish_reason: stop\n"
    )


def _output(capture: Capture) -> str:
    return (
        f"RequestOutput(request_id='r', prompt_token_ids=[1], outputs=[CompletionOutput(index=0, text='x', "
        f"token_ids={_ids(capture)}, finish_reason=stop)], finished=True)"
    )


FORMS: Final[dict[str, Callable[[Capture], str]]] = {
    "own": lambda capture: "".join(f"{line}\n" for line in render(capture)),
    "sse": _sse,
    "curl": lambda capture: f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n{_sse(capture)}",
    "lines": lambda capture: "".join(f"{json.dumps(value)}\n" for value in _payloads(capture)),
    "array": lambda capture: json.dumps(_payloads(capture)),
    "printed": lambda capture: "\n".join(map(repr, _payloads(capture))),
    "har": _har,
    "pair": _pair,
    "ids": lambda capture: json.dumps(_ids(capture)),
    "tensor": lambda capture: f"tensor([{_ids(capture)}], device='cuda:0')",
    "generate": _generated,
    "request output": _output,
    "log": _log,
    "text": lambda capture: text_of(_ids(capture)),
}


def case(seed: int, number: int) -> bytes:
    """The input of a case."""
    rng = random.Random(f"{seed} {number}")  # noqa: S311 -- a test input
    capture = rng.choice(_seeds())
    length = rng.choice([12, 40, 400])
    capture = replace(capture, events=[*capture.events[:length], *capture.events[length:][-3:]])
    content = FORMS[rng.choice(list(FORMS))](capture)
    for _ in range(rng.choice([1, 1, 2, 4])):
        content = rng.choice([_with_value, _with_value, _with_text])(content, rng)
    raw = content.encode("utf-8", "replace")
    return gzip.compress(raw, mtime=0) if rng.random() < 1 / 16 else raw


def _with_value(content: str, rng: random.Random) -> str:
    """With another value somewhere in a line that is JSON."""
    lines = content.split("\n")
    at = rng.randrange(len(lines))
    prefix = "data: " if lines[at].startswith("data: ") else ""
    value = _parsed(lines[at].removeprefix(prefix))
    if not isinstance(value, dict | list):
        return _with_text(content, rng)
    lines[at] = prefix + json.dumps(_changed(value, rng))
    return "\n".join(lines)


def _changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, str) and value[:1] in "{[" and rng.random() < 0.8:
        inner = _parsed(value)
        if isinstance(inner, dict | list):
            return json.dumps(_changed(inner, rng))
    if not isinstance(value, dict | list) or not value or rng.random() < 0.08:
        return rng.choice([*_VALUES, *_TEXTS, _longer(value)])
    if isinstance(value, dict):
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {
                rng.choice([CANARY, "id", "type"]) if name == key else name: value[name] for name in value
            }
        return {**value, key: _changed(value[key], rng)}
    at = rng.randrange(len(value))
    return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]


def _longer(value: Any) -> Any:
    return value + CANARY if isinstance(value, str) else [value, value]


def _with_text(content: str, rng: random.Random) -> str:
    """With a part removed, repeated or replaced."""
    start = rng.randrange(len(content) + 1)
    end = min(len(content), start + rng.choice([0, 1, 3, 30, 300]))
    match rng.randrange(4):
        case 0:
            new = content[start:end] * 2
        case 1:
            new = rng.choice(_TEXTS)
        case 2:
            return content[:start]
        case _:
            new = ""
    return content[:start] + new + content[end:]


# --- checks ---


@cache
def _schema() -> Any:
    return jsonschema.Draft202012Validator({"$defs": schema()["$defs"], "$ref": "#/$defs/capture"})


def check(content: bytes, rng: random.Random) -> str:
    """Show an input everywhere; what became of it, in a word. Raises what a bug raises, or Wrong."""
    name = f"dir/{CANARY}.jsonl"
    if rng.random() < 1 / 8:
        with suppress(InspectorError):
            of_content(content, name)
    try:
        captures = loads_all(content, name)
    except InspectorError as error:
        _plain(printable(str(error)), "the error")
        return "refused"
    for capture in captures[:_CAPTURES]:
        inspection = inspect(capture, name=name)
        _check_shown(inspection, rng)
        if rng.random() < 1 / 8:
            _check_live(capture, inspection, rng)
        if rng.random() < 1 / 16:
            _check_masked(capture)
    return "read"


def _check_shown(inspection: Inspection, rng: random.Random) -> None:
    row = json.loads(json.dumps(audit_dict(inspection), allow_nan=False))
    for error in _schema().iter_errors(row):
        raise Wrong(f"the schema: {error.json_path}: {error.message:.200}")
    if rng.random() < 1 / 2:
        json_bytes(strip(inspection, key="capture"))
        markdown = markdown_report(inspection)
        _plain(markdown, "Markdown")
        _plain(audit_sarif([inspection]), "SARIF")
        _plain(audit_junit([inspection], [None]), "JUnit")
        findings_csv(inspection)
    if rng.random() < 1 / 4:
        against = compare(inspection, inspection) if rng.random() < 1 / 4 else None
        html = html_report(inspection, against=against)
        _plain(html, "HTML")
        if _MARKUP in html:
            raise Wrong("HTML has markup of the capture")


def _plain(text: str, interface: str) -> None:
    if (control := _CONTROL.search(text)) is not None:
        raise Wrong(
            f"{interface} has {control[0]!a} in {text[max(0, control.start() - 40) : control.end() + 40]!a}"
        )


def _check_live(capture: Capture, inspection: Inspection, rng: random.Random) -> None:
    live = LiveInspection(capture.header, name=inspection.name)
    at = rng.randrange(len(capture.events) + 1)
    live.receive(capture.events[:at])
    live.inspect()
    live.receive(capture.events[at:], capture.end)
    if capture.end is not None and live.inspect().verdict.sentence != inspection.verdict.sentence:
        raise Wrong(f"live: {live.inspect().verdict.sentence} whole: {inspection.verdict.sentence}")


def _check_masked(capture: Capture) -> None:
    try:
        copy = masked(capture, Standins(b"key"))
    except InspectorError:
        return
    written = "".join(f"{line}\n" for line in render(copy))
    if CANARY in "".join(event.data for event in copy.events):
        raise Wrong("a redacted copy has a text of the capture")
    inspect(loads_all(written.encode(), "copy")[0])


# --- batches ---


class Slow(Exception):
    """A case took too long."""


def _too_slow(_: int, __: FrameType | None) -> None:
    raise Slow(f"more than {_AT_MOST_S} s")


def run_batch(seed: int, first: int, count: int) -> FuzzOutcome:
    """Run some cases, one after another, in this process."""
    outcome = FuzzOutcome()
    before = signal.signal(signal.SIGALRM, _too_slow)
    try:
        for number in range(first, first + count):
            signal.alarm(_AT_MOST_S)
            try:
                rng = random.Random(f"{seed} {number} checks")  # noqa: S311
                outcome.counts[check(case(seed, number), rng)] += 1
            except Exception:
                outcome.counts["failed"] += 1
                outcome.failures[number] = traceback.format_exc()
            finally:
                signal.alarm(0)
    finally:
        signal.signal(signal.SIGALRM, before)
    outcome.peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return outcome


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def fuzz(seed: int, first: int, count: int) -> Iterator[FuzzOutcome]:
    """The outcome of each batch; every one has a process of its own."""
    starts = range(first, first + count, BATCH)
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=_bounded, max_tasks_per_child=1
    ) as process:
        for start in starts:
            yield process.submit(run_batch, seed, start, min(BATCH, first + count - start)).result()


def main() -> int:
    """Run, and say what failed; 1 if anything did."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="write the inputs of failed cases")
    arguments = parser.parse_args()
    totals, begun_s = FuzzOutcome(), time.monotonic()
    for outcome in fuzz(arguments.seed, arguments.first, arguments.count):
        totals.add(outcome)
        for number, trace in outcome.failures.items():
            sys.stdout.write(f"case {number} of seed {arguments.seed}:\n{printable_lines(trace)}\n")
            if arguments.save is not None:
                arguments.save.mkdir(parents=True, exist_ok=True)
                (arguments.save / f"{arguments.seed}-{number}").write_bytes(case(arguments.seed, number))
        sys.stderr.write(f"\r{totals.counts.total():,} cases, {len(totals.failures):,} failed ")
    counts = ", ".join(f"{word} {number:,}" for word, number in sorted(totals.counts.items()))
    seconds = time.monotonic() - begun_s
    sys.stdout.write(f"\n{counts}; {seconds:.0f} s, {totals.peak_mib} MiB\n")
    return 1 if totals.failures else 0


def printable_lines(text: str) -> str:
    """A traceback for a terminal."""
    return "\n".join(map(printable, text.splitlines()))


if __name__ == "__main__":
    sys.exit(main())
