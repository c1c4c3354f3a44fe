"""`audit`: the verdict and findings of captures."""

from argparse import Namespace, RawDescriptionHelpFormatter
from collections import Counter
from collections.abc import Sequence
from typing import Any

from inspector.analysis.audit.verdict import Level
from inspector.analysis.metrics import figures
from inspector.analysis.prompt import PromptSeverity
from inspector.analysis.reading import read
from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.capture.formats import count, duration
from inspector.commands.shared import (
    Commands,
    add_fail_on,
    captures,
    fails,
    one_capture,
    print_json,
    say,
    tell,
    tokens_known,
    write_text,
)
from inspector.files.importers import FORMATS
from inspector.inspection.inspection import Inspection, inspect
from inspector.views.finding_groups import grouped, rest_words
from inspector.views.prompt_rows import sentence_with_prompt
from inspector.views.rows import audit_row, finding_words
from inspector.views.sarif import audit_sarif

_SHOWN = 20
"""Differences of a prompt that are printed."""

_EXAMPLE = """example:
  python -m inspector audit fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl
  curl -sN http://localhost:8000/v1/chat/completions -d @request.json | python -m inspector audit - --json

exit codes: 0 no findings at the level of --fail-on, 1 findings, 2 a file cannot be read
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "audit",
        help="find lost, leaked and rejected tokens in captures",
        description=f"Read files and list the findings. A file is {FORMATS}.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a capture or another supported file; - is standard input"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object, or an array for several files"
    )
    parser.add_argument(
        "--all", action="store_true", help="list every finding; otherwise many of one kind are summarized"
    )
    parser.add_argument("--sarif", metavar="FILE", help="also write the findings for code scanning")
    add_fail_on(parser)
    parser.add_argument(
        "--truth",
        metavar="FILE",
        help="token IDs from another source: a list, a capture, or `script` for those that the lab recorded",
    )
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Audit each file."""
    seen: list[Inspection] = []
    unread = 0
    for file in arguments.files:
        try:
            found = [
                inspect(capture, name=name, truth=_truth(arguments.truth, capture, name))
                for name, capture in captures(file)
            ]
        except InspectorError as error:  # the other files are still read
            tell(f"inspector: {error}")
            unread += 1
            continue
        seen.extend(found)
    if arguments.json:
        rows = [audit_row(one.name, one) for one in seen]
        if seen or len(arguments.files) > 1:
            print_json(rows[0] if len(rows) == 1 and len(arguments.files) == 1 else rows)
    elif seen:
        for number, one in enumerate(seen):
            lines = _lines(one, everything=arguments.all)
            say(["", *lines] if number else lines)
        if len(seen) > 1:
            say(["", _totals(seen)])
    if arguments.sarif is not None:
        write_text(arguments.sarif, audit_sarif(seen))
    if unread:
        return 2
    return int(any(fails(finding.severity, arguments.fail_on) for one in seen for finding in one.findings))


def _totals(seen: Sequence[Inspection]) -> str:
    """How many captures have which verdict."""
    found = Counter(one.verdict.level for one in seen)
    told = ", ".join(f"{found[level]:,} {level}" for level in Level if found[level])
    return f"{len(seen):,} captures: {told}"


def _truth(told: str | None, capture: Capture, name: str) -> Sequence[int] | None:
    """Token IDs from outside the stream: the lab's script in the capture, or a file."""
    if told is None:
        return None
    if told == "script":
        if capture.header.script is None:
            raise InspectorError(
                f"{name}: --truth script: the capture has no script; only captures from the lab have one"
            )
        return capture.header.script
    _, given = one_capture(told)
    return read(given).choice.tokens.ids


def _lines(one: Inspection, *, everything: bool) -> list[str]:
    row: dict[str, Any] = audit_row(one.name, one)
    shown = figures(one.reading)
    tokens = tokens_known(one.reading)
    if row["tokens"]["reconstructed"]:
        tokens = f"{count(row['reconstruction']['count'], 'token')} reconstructed"
    if one.reading.spec.delivers:
        evidence = one.reading.choice.evidence.words
        facts = [one.reading.server_label, row["endpoint"], tokens, f"evidence: {evidence}"]
    else:
        facts = ["list of token IDs, no server", tokens]
    if one.reading.spec.delivers and shown.tokens_per_event_max > 1:
        facts.append(f"up to {shown.tokens_per_event_max:,} tokens per event")
    if shown.first_token_s is not None:
        facts.append(f"first token {duration(shown.first_token_s)}")
    differences = [] if row["prompt"] is None else row["prompt"]["differences"]
    sentence = sentence_with_prompt(one.verdict, (PromptSeverity(found["severity"]) for found in differences))
    lines = [one.name, f"  {one.verdict.level.upper()}: {sentence}"]
    lines.append(f"  {one.verdict.why}")
    if one.verdict.known:
        lines.append(f"  {one.verdict.known}")
    lines.append(f"  {' · '.join(facts)}")
    for group in [[finding] for finding in one.findings] if everything else grouped(one.findings):
        finding = group[0]
        words = finding_words(finding)
        lines.append(f"  {finding.severity:7} {words['title']}: {words['line']}")
        if rest := rest_words(group):
            lines.append(f"          {rest}; --all lists them")
        if finding.known_issues:
            lines.append(f"          known issues: {', '.join(finding.known_issues[:3])}")
    lines.extend(f"  note: {note}" for note in one.notes)
    if differences:
        lines.append(f"  prompt ({count(row['prompt']['tokens'], 'token')}):")
        lines.extend(f"  {found['severity']:7} {found['explanation']}" for found in differences[:_SHOWN])
        if (more := len(differences) - _SHOWN) > 0:
            lines.append(f"          {count(more, 'more difference')}, see --json")
    return lines
