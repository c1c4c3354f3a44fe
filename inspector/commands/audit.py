"""`audit`: the verdict and findings of captures."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from inspector.analysis.audit.verdict import Level
from inspector.analysis.metrics import most_per_event
from inspector.analysis.prompt import difference_sentence
from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.capture.formats import count, duration
from inspector.commands.options import Command, flag, option
from inspector.commands.progress import in_turn, progress
from inspector.commands.shared import (
    FailOn,
    Rows,
    WithIssues,
    advice_lines,
    capture_files,
    captures,
    exit_level,
    fails,
    one_capture,
    one_on_standard_output,
    unreadable,
    write_text,
)
from inspector.commands.terminal import Heading, Verdict, say, tell
from inspector.files.importers import FORMATS
from inspector.inspection.inspection import Inspection, inspect
from inspector.matrix.scripts import load as lab_scripts
from inspector.views.audit_result import AuditResult
from inspector.views.finding_groups import grouped, rest_words
from inspector.views.junit import audit_junit
from inspector.views.rows import audit_row, finding_words
from inspector.views.sarif import audit_sarif

if TYPE_CHECKING:
    from inspector.net.reference_clients import ClientReading

_SHOWN = 20
"""Differences of a prompt that are printed."""

_EXAMPLE = f"""A file is {FORMATS}.

example:
  python -m inspector audit chat-tool-call-leak-vllm-0.14.1
  curl -sN http://localhost:8000/v1/chat/completions -H 'Content-Type: application/json' \\
    -d @request.json | python -m inspector audit - --json

exit codes: 0 no findings at the level of --fail-on, 1 findings, or a response that --client cannot read,
2 a file cannot be read
"""


class Audit(Rows, WithIssues):
    """Read files and list the findings."""

    files: tuple[str, ...] = capture_files(several=True)
    all: bool = flag("list every finding; otherwise many of one kind are summarized")
    sarif: str | None = option(
        "also write the findings for code scanning; - for standard output only", None, "FILE"
    )
    junit: str | None = option("also write a test report; - for standard output only", None, "FILE")
    client: bool = flag(
        "also let the installed openai or anthropic SDK read each response; exit 1 if it cannot"
    )
    fail_on: FailOn = exit_level()
    truth: str | None = option(
        "token IDs from another source: a list, a capture, or `script` for those that the lab recorded",
        None,
        "FILE",
    )


def run(options: Audit) -> int:
    """Audit each file."""
    options.use_issues()
    one_on_standard_output(json=options.for_programs, junit=options.junit, sarif=options.sarif)
    inspections: list[Inspection] = []
    unread: list[tuple[str, str]] = []
    for file in in_turn(options.files):
        try:
            of_file = [
                inspect(capture, name=name, truth=_truth(options.truth, capture, name))
                for name, capture in captures(file)
            ]
        except InspectorError as error:  # the other files are still read
            tell(f"inspector: {error}")
            unread.append((file, str(error)))
            continue
        inspections.extend(of_file)
    clients = _clients(inspections) if options.client else [None] * len(inspections)
    results = [
        AuditResult(inspection, client=None if client is None else client.sentence)
        for inspection, client in zip(inspections, clients, strict=True)
    ]
    if options.for_programs:
        rows = [
            audit_row(result) | ({} if client is None else {"clients": [client.row()]})
            for result, client in zip(results, clients, strict=True)
        ]
        rows += [unreadable(file, sentence) for file, sentence in unread]
        options.print_rows(rows, several=len(options.files) > 1)
    elif inspections and "-" not in {options.sarif, options.junit}:
        for number, result in enumerate(results):
            lines = _lines(result, everything=options.all)
            say(["", *lines] if number else lines)
        if len(inspections) > 1:
            say(["", _totals(inspections)])
    if options.sarif is not None:
        write_text(options.sarif, audit_sarif(inspections))
    failing = [
        _failing(inspection, client, options.fail_on)
        for inspection, client in zip(inspections, clients, strict=True)
    ]
    if options.junit is not None:
        write_text(options.junit, audit_junit(inspections, failing, unread))
    return 2 if unread else int(any(failing))


def _failing(inspection: Inspection, client: "ClientReading | None", level: FailOn) -> str:
    """Why a capture gives exit code 1; empty if it does not."""
    if any(fails(finding.severity, level) for finding in inspection.findings):
        return inspection.verdict.sentence
    return client.sentence if client is not None and not client.accepts else ""


def _clients(inspections: Sequence[Inspection]) -> "list[ClientReading | None]":
    from inspector.net.reference_clients import python_reading  # noqa: PLC0415 -- the SDK takes a second

    with progress() as step:
        step("reading with the official SDK")
        return [python_reading(inspection.capture) for inspection in inspections]


def _totals(inspections: Sequence[Inspection]) -> str:
    """How many captures have which verdict."""
    levels = Counter(inspection.verdict.level for inspection in inspections)
    counts = ", ".join(f"{levels[level]:,} {level}" for level in Level if levels[level])
    return f"{len(inspections):,} captures: {counts}"


def _truth(source: str | None, capture: Capture, name: str) -> Sequence[int] | None:
    """Token IDs from outside the stream: the lab's script in the capture, or a file."""
    if source is None:
        return None
    if source == "script":
        if capture.header.script is None:
            raise InspectorError(
                f"{name}: --truth script: the capture has no script; only captures from the lab have one"
            )
        scripted = next((script for script in lab_scripts() if script.sampled == capture.header.script), None)
        if scripted is not None and len(scripted.turns) > 1:
            raise InspectorError(
                f"{name}: --truth script: the model answered {len(scripted.turns)} times in this response, "
                "with results of the server's tools between; the tokens of one answer are needed"
            )
        return capture.header.script
    truth_name, truth = one_capture(source)
    ids = read(truth).choice.tokens.ids
    if not ids:
        raise InspectorError(
            f"{truth_name}: --truth: no token IDs; give a list of them, or a capture that has them"
        )
    return ids


def _lines(result: AuditResult, *, everything: bool) -> list[str]:
    inspection, reading, metrics = result.inspection, result.inspection.reading, result.figures
    facts = ["list of token IDs, no server", result.tokens.words]
    if reading.spec.delivers:
        evidence = f"evidence: {result.choice.evidence.words}"
        facts = [reading.server_label, reading.header.endpoint, result.tokens.words, evidence]
        if (most := most_per_event(reading, result.choice) or 0) > 1:
            facts.append(f"up to {most:,} tokens per event")
    if metrics.first_token_s is not None:
        facts.append(f"first token {duration(metrics.first_token_s)}")
    lines = [
        Heading(result.name),
        Verdict(f"  {result.level.upper()}: {result.headline_with_prompt}"),
        f"  {result.fault}",
    ]
    lines += advice_lines(inspection.advice, whole=everything, alternatives=result.alternatives)
    if result.readable:
        lines.append(f"  {result.readable}")
    lines.append(f"  {' · '.join(facts)}")
    for group in (
        [[finding] for finding in inspection.findings] if everything else grouped(inspection.findings)
    ):
        finding = group[0]
        words = finding_words(finding)
        lines.append(Verdict(f"  {finding.severity:7} {words['title']}: {words['line']}"))
        if rest := rest_words(group):
            lines.append(f"          {rest}; --all lists them")
        if finding.known_issues:
            lines.append(f"          known issues: {', '.join(finding.known_issues[:3])}")
    lines.extend(f"  note: {note}" for note in inspection.notes)
    if result.prompt is not None and (differences := result.prompt.differences):
        lines.append(f"  prompt ({count(len(result.prompt.ids), 'token')}):")
        lines.extend(
            Verdict(f"  {difference.severity:7} {difference_sentence(difference)}")
            for difference in differences[:_SHOWN]
        )
        if (more := len(differences) - _SHOWN) > 0:
            lines.append(f"          {count(more, 'more difference')}, see --json")
    return lines


COMMAND: Final = Command(Audit, run, _EXAMPLE)
