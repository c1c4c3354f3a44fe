"""`diagnose`: an error message, a traceback, client output, a server's log or a capture to known issues."""

import io
import re
import sys
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final, cast

from inspector.commands.shared import Commands, print_json, printable
from inspector.diagnosis import (
    Answer,
    Diagnosis,
    Failure,
    diagnose_capture,
    diagnose_text,
    diagnosis_row,
    lines_of_file,
)
from inspector.diagnosis.decompress import HEAD, decompress
from inspector.errors import CaptureError, StoreError
from inspector.inspection import examine
from inspector.reading import read
from inspector.store import LIMIT_BYTES, loads

__all__ = ["add_parser"]

_EXAMPLE = """examples:
  python -m inspector diagnose vllm.log
  echo 'Unexpected token 200002 while expecting start token 200006' | python -m inspector diagnose
  python -m inspector diagnose fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl --json

exit code: 0 nothing fails, 1 a failure was found, 2 the file cannot be read
"""
_FOREIGN_LIMIT: Final = 64 * 2**20
"""A file that begins like JSON or an event stream and is larger than this is a log."""
_CAPTURE: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:[{\[]|HTTP/[0-9.]+ [0-9]|(?:data|event|id|retry)?: ?)")
_ANSWERS_SHOWN: Final = 3
_FAILURES_SHOWN: Final = 10


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "diagnose",
        help="say what is wrong, whose fault it is and what to do",
        description="Match an error message, a traceback, client output, a vLLM log of any size or a capture "
        "with the catalogue of known issues, best first.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE", help="text, log or capture; - is standard input"
    )
    parser.add_argument("--json", action="store_true", help="print an object")
    parser.add_argument(
        "--around", action="store_true", help="show the lines around the first occurrences of each failure"
    )
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Diagnose and print."""
    name = "standard input" if arguments.file == "-" else arguments.file
    diagnosis = _diagnosis(arguments.file)
    if arguments.json:
        print_json(diagnosis_row(name, diagnosis))
    else:
        print("\n".join(_lines(name, diagnosis, around=arguments.around)))
    return int(bool(diagnosis.failures or diagnosis.answers))


def _diagnosis(file: str) -> Diagnosis:
    if file == "-":
        typed = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer), HEAD)
        try:
            return _stream(typed, "standard input")
        finally:
            typed.detach()  # else standard input would be closed with it
    try:
        with io.BufferedReader(Path(file).open("rb", buffering=0), HEAD) as opened:
            return _stream(opened, file)
    except OSError as error:
        raise StoreError(f"{file}: cannot be read ({error.strerror or error}); check the name") from error


def _stream(file: "io.BufferedReader[Any]", name: str) -> Diagnosis:
    """A capture where it is one, else text in one pass; only what may be a capture is kept in memory."""
    file = decompress(file, name)
    head = file.peek(HEAD)
    if not _CAPTURE.match(head):
        return diagnose_text(lines_of_file(file))
    limit = LIMIT_BYTES if b'"harmony_capture"' in head else _FOREIGN_LIMIT
    content = file.read(limit + 1)
    if len(content) <= limit and (diagnosis := _capture(content, name)) is not None:
        return diagnosis
    return diagnose_text(chain(lines_of_file(io.BytesIO(content)), lines_of_file(file)))


def _capture(content: bytes, name: str) -> Diagnosis | None:
    """The diagnosis of a capture; None for what is none, or holds an error and nothing else."""
    try:
        found = loads(content, name)
    except CaptureError:
        if b'"harmony_capture"' in content[:HEAD]:
            raise
        return None
    if len(found) != 1:
        raise CaptureError(name, f"it holds {len(found)} captures; diagnose takes one, audit takes them all")
    reading = read(found[0])
    if not any(choice.tokens or choice.deltas for choice in reading.choices):
        return None
    seen = examine(reading)
    return diagnose_capture(seen.findings, reading)


def _lines(name: str, diagnosis: Diagnosis, *, around: bool) -> Iterator[str]:
    yield printable(name)
    yield f"  {printable(diagnosis.sentence)}"
    if diagnosis.versions:
        told = ", ".join(dict.fromkeys(f"{seen.version} ({seen.source})" for seen in diagnosis.versions))
        yield f"  {diagnosis.server} {printable(told)}"
    if diagnosis.is_log:
        asked = ", ".join(f"{count:,} {path}" for path, count in sorted(diagnosis.requests.items()))
        yield f"  {diagnosis.lines:,} lines; requests: {asked or 'none logged'}"
    yield from (f"  note: {printable(note)}" for note in diagnosis.notes)
    for number, answer in enumerate(diagnosis.answers[:_ANSWERS_SHOWN], 1):
        yield from _answer_lines(number, answer)
    for failure in diagnosis.failures[:_FAILURES_SHOWN]:
        yield from _failure_lines(failure, around=around)
    yield from (f"  {printable(one.sentence)}" for one in diagnosis.judges)
    if len(diagnosis.failures) > _FAILURES_SHOWN:
        left = len(diagnosis.failures) - _FAILURES_SHOWN
        yield f"  ... and {left} more kinds of failure; --json has them all"


def _answer_lines(number: int, answer: Answer) -> Iterator[str]:
    issue = answer.issue
    yield f"  {number}. {issue.id}: {printable(issue.title)}"
    yield f"     side: {', '.join(issue.sides)}; confidence: {issue.confidence}"
    yield from (f"     because {printable(reason.words)}" for reason in answer.reasons)
    yield f"     {printable(issue.cause)}"
    yield from (f"     - {printable(step)}" for step in issue.steps)
    if issue.links:
        yield f"     see {issue.links[0]}"


def _failure_lines(failure: Failure, *, around: bool) -> Iterator[str]:
    share = f", {failure.share:.1%} of the requests" if failure.share is not None else ""
    leads = failure.answers[0].issue.id if failure.answers else "unknown"
    if failure.first_line is None:
        yield f"  finding: {printable(failure.message)} {leads}"
    else:
        said = f"“{printable(failure.message)}” (line {failure.first_line:,})"
        yield f"  failure, {failure.count:,} x{share}: {said}: {leads}"
    if failure.nearest:
        yield f"     nearest: {', '.join(issue.id for issue in failure.nearest)}"
    if around:
        for lines in failure.around:
            yield from (f"     | {printable(line)}" for line in lines)
            yield "     |"
