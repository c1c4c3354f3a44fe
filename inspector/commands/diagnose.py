"""`diagnose`: match an error, a traceback, client output, a log or a capture with known issues."""

import io
import shlex
import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, cast

from inspector.capture.errors import StoreError
from inspector.commands.options import Command, flag, option
from inspector.commands.progress import progress
from inspector.commands.shared import Rows, WithIssues, advice_lines, path_of
from inspector.commands.terminal import Heading, say
from inspector.files.compression import HEAD, decompress
from inspector.files.store import disk_errors, read_at_most
from inspector.inspection.triage import may_be_capture, most_bytes, of_content, of_lines
from inspector.issues import Diagnosis, DiagnosisOutcome, Failure, diagnosis_row
from inspector.issues.texts.diagnose import diagnose_text
from inspector.issues.texts.lines import lines_of_file

_EXAMPLE = """examples:
  python -m inspector diagnose vllm.log
  echo 'Unexpected token 200002 while expecting start token 200006' | python -m inspector diagnose
  python -m inspector diagnose chat-tool-call-leak-vllm-0.14.1 --json

exit codes: 0 nothing found, 1 a failure, a known issue or another server was found, 2 the file cannot be read
"""
_LINES_SHOWN: Final = 12


class Diagnose(Rows, WithIssues):
    """Match a failure with the catalogue of known issues; the best match comes first.

    A failure is an error message, a traceback, client output, a vLLM log of any size or a capture.
    """

    file: str = option("a text, log or capture; - is standard input (default)", "-", "FILE", positional=True)
    all: bool = flag(f"print everything, not only the first {_LINES_SHOWN} lines")
    around: bool = flag("print everything, with the lines around the first occurrences of each failure")


def run(options: Diagnose) -> int:
    """Diagnose and print."""
    options.use_issues()
    name = "standard input" if options.file == "-" else options.file
    with options.reading(name):
        diagnosis = _diagnosis(options.file)
    if options.for_programs:
        options.print_rows([diagnosis_row(name, diagnosis)])
    else:
        full = options.all or options.around
        say(_lines(name, diagnosis, whole=full, around=options.around))
    return int(diagnosis.outcome is not DiagnosisOutcome.NOTHING)


def _diagnosis(file: str) -> Diagnosis:
    if file == "-":
        typed = io.BufferedReader(cast(io.RawIOBase, sys.stdin.buffer), HEAD)
        try:
            return diagnosis_of(typed, "standard input")
        finally:
            typed.detach()  # else standard input would be closed with it
    path = path_of(file)
    if " " in file and not path.exists():
        raise StoreError(
            f"{file}: no such file; a message is read from standard input: "
            f"echo {shlex.quote(file)} | python -m inspector diagnose"
        )
    with (
        disk_errors(file),
        path.open("rb", buffering=0) as raw,
        io.BufferedReader(raw, HEAD) as opened,
        progress() as step,
    ):
        size = max(path.stat().st_size, 1)
        step(lambda: f"{min(raw.tell() / size, 1):.0%} of {file}")
        return diagnosis_of(opened, file)


def diagnosis_of(file: "io.BufferedReader[Any]", name: str) -> Diagnosis:
    """The diagnosis of a capture, or of a text in one pass; only a possible capture is read into memory."""
    file = decompress(file, name)
    head = file.peek(HEAD)
    if not may_be_capture(head):
        return of_lines(lines_of_file(file), name)[0]
    limit = most_bytes(head)
    content = read_at_most(file, limit + 1)
    if len(content) <= limit:
        return of_content(content, name)[0]
    content += file.readline(limit)  # else a line would be two
    return diagnose_text(chain(lines_of_file(io.BytesIO(content)), lines_of_file(file)))


def _lines(name: str, diagnosis: Diagnosis, *, whole: bool, around: bool) -> Iterator[str]:
    """The lines of the report; without `whole` at most `_LINES_SHOWN`."""
    lines = [Heading(name), f"  {_opening(diagnosis)}"]
    lines += _context(diagnosis)
    lines += advice_lines(diagnosis.advice, whole=whole, reasons=True)
    if diagnosis.route is not None:
        lines += [f"  - {step}" for step in diagnosis.route.steps[1:]]
        lines += [f"  see {link}" for link in diagnosis.route.links[:1]]
    rest = list(_remaining(diagnosis, around=around))
    if whole or len(lines) + len(rest) <= _LINES_SHOWN:
        return iter((*lines, *rest))
    printed = (*lines, *rest)[: _LINES_SHOWN - 1]
    hidden = len(lines) + len(rest) - len(printed)
    return iter((*printed, f"  ... {hidden} more lines with --all"))


def _opening(diagnosis: Diagnosis) -> str:
    """The sentence and the first step."""
    step = diagnosis.next_step
    first = diagnosis.outcome in (DiagnosisOutcome.KNOWN, DiagnosisOutcome.ROUTED)
    return " ".join((diagnosis.sentence, *(["First:"] if first else []), *([step] if step else [])))


def _context(diagnosis: Diagnosis) -> Iterator[str]:
    versions = ", ".join(
        dict.fromkeys(f"{version.version} ({version.source})" for version in diagnosis.versions[:3])
    )
    facts = [f"{diagnosis.server} {versions}"] if versions else []
    if diagnosis.is_log:
        requests = ", ".join(f"{count:,} {path}" for path, count in sorted(diagnosis.requests.items()))
        facts.append(f"{diagnosis.lines:,} lines; requests: {requests or 'none logged'}")
    if facts:
        yield f"  {'; '.join(facts)}"


def _remaining(diagnosis: Diagnosis, *, around: bool) -> Iterator[str]:
    """Everything after the answers: notes, failures, closest issues."""
    yield from (f"  note: {note}" for note in diagnosis.notes)
    for failure in diagnosis.failures:
        yield from _failure_lines(failure, around=around)
    yield from (f"  {parsed.sentence}" for parsed in diagnosis.parser_results)
    if diagnosis.closest:
        yield "  closest known issues, in similar words only, each with what settles it:"
    for issue in diagnosis.closest:
        yield f"  - {issue.id}: {issue.title}"
        yield f"    {diagnosis.settles(issue)}"


def _failure_lines(failure: Failure, *, around: bool) -> Iterator[str]:
    share = f", {failure.share:.1%} of the requests" if failure.share is not None else ""
    leads = failure.answers[0].issue.id if failure.answers else "unknown"
    if failure.first_line is None:
        yield f"  finding: {failure.message} {leads}"
    else:
        message = f"“{failure.message}” (line {failure.first_line:,})"
        yield f"  failure, {failure.count:,} x{share}: {message}: {leads}"
    if around:
        for lines in failure.around:
            yield from (f"     | {line}" for line in lines)
            yield "     |"


COMMAND: Final = Command(Diagnose, run, _EXAMPLE)
