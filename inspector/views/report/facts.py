"""The facts of a report, shared by Markdown and HTML, from one inspection."""

import re
import shlex
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from json import dumps
from pathlib import PurePath
from typing import Any, Final

from inspector.analysis.audit import Finding, Severity
from inspector.analysis.metrics import Figures, figures
from inspector.capture.redaction import redact
from inspector.capture.version import __version__
from inspector.inspection.inspection import Inspection
from inspector.issues import Advice
from inspector.protocol.engines import DEFAULT
from inspector.views.report.escape import masked
from inspector.views.report.shrink import Reproduction, reproduce
from inspector.views.rows import field_rows
from inspector.views.summary import summary

_ISSUES_SHOWN: Final = 5
LINKS_SHOWN: Final = 3
_CHOICES_SHOWN: Final = 8
_REQUEST_SHOWN: Final = 20_000
_SCRIPT_SHOWN: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The content of a report; texts are masked, not yet escaped."""

    name: str
    """File name without folders."""
    sentence: str
    why: str
    known_issue: str
    environment: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    fields: tuple[dict[str, Any], ...]
    """Rows of `rows.field_rows`: generated against delivered."""
    choices_left_out: int
    """Choices whose texts are omitted."""
    wrong_left_out: int
    """Of these, how many have findings."""
    drawn: int | None
    """The choice whose tokens are drawn, where there are several."""
    figures: Figures
    shown_by: Finding | None
    """The finding that `reproduction` reproduces."""
    reproduction: Reproduction | None
    advice: tuple[Advice, ...]
    """The causes that are named, with what to do about each."""
    request: str
    """The request as JSON, truncated if long."""
    replay: tuple[str, ...]
    """Shell commands that reproduce the result."""
    notes: tuple[str, ...]


def facts(one: Inspection) -> Facts:
    """Collect the facts of one capture."""
    reading = one.reading
    shown_by, reproduction = _reproduction(one)
    metrics, summed = figures(reading), summary(one)
    request = masked(dumps(redact(reading.header.request), indent=2, ensure_ascii=False))
    if len(request) > _REQUEST_SHOWN:
        request = f"{request[:_REQUEST_SHOWN]}\n… and {len(request) - _REQUEST_SHOWN:,} more characters"
    several = len(reading.choices) > 1
    wrong = {finding.choice for finding in one.findings} & {choice.index for choice in reading.choices}
    # With many choices, first those with findings.
    shown_choices = sorted(reading.choices, key=lambda choice: choice.index not in wrong)[:_CHOICES_SHOWN]
    rows = [
        {
            **row,
            **{side: None if row[side] is None else masked(row[side]) for side in ("generated", "delivered")},
            "field": f"choice {choice.index}, {row['field']}" if several else row["field"],
        }
        for choice in shown_choices
        for row in field_rows(one, choice)
    ]
    return Facts(
        name=PurePath(one.name.replace("\\", "/")).name or "capture",
        sentence=masked(summed.headline),
        why=masked(summed.fault),
        known_issue=masked(one.verdict.known),
        environment=tuple(_environment(one, metrics)),
        findings=tuple(one.findings),
        fields=tuple(rows),
        choices_left_out=len(reading.choices) - len(shown_choices),
        wrong_left_out=max(len(wrong) - len(shown_choices), 0),
        drawn=reading.choice.index if several else None,
        figures=metrics,
        shown_by=shown_by,
        reproduction=reproduction,
        advice=tuple(one.advice[:_ISSUES_SHOWN]),
        request=request if reading.header.request else "",
        replay=tuple(_replay(one, reproduction, metrics)),
        notes=tuple(masked(note) for note in one.notes),
    )


def _reproduction(inspection: Inspection) -> tuple[Finding | None, Reproduction | None]:
    """The finding to reproduce: the first that tokens alone show, else the first error with tokens."""
    choices = {choice.index: choice for choice in inspection.reading.choices}
    made = [
        (finding, reproduction)
        for finding in inspection.findings[:_ISSUES_SHOWN]
        if (choice := choices.get(finding.choice)) is not None
        and (reproduction := reproduce(choice, finding)) is not None
    ]
    made.sort(key=lambda pair: (pair[0].severity is not Severity.ERROR, not pair[1].by_parser))
    return made[0] if made else (None, None)


def _environment(inspection: Inspection, metrics: Figures) -> list[tuple[str, str]]:
    reading, header = inspection.reading, inspection.reading.header
    rows = [
        ("server", reading.server_label),
        ("endpoint", reading.spec.full_path if reading.spec.path else "a list of token IDs"),
        ("model", str(header.model or reading.stream.model or header.request.get("model") or "unknown")),
        ("evidence", reading.choice.evidence.words),
    ]
    if metrics.tokens_per_event_max:
        rows.append(("tokens per event", f"up to {metrics.tokens_per_event_max}"))
    if reading.stream.fingerprint:
        rows.append(("system_fingerprint", reading.stream.fingerprint))
    rows.extend(
        (key, dumps(value, ensure_ascii=False) if not isinstance(value, str) else value)
        for key, value in redact(header.extra).items()
    )
    if header.started_at:
        rows.append(("recorded", header.started_at))
    if header.source:
        rows.append(("recorded by", header.source))
    rows.append(("read with", f"harmony-inspector {__version__}, {_harmony_library()}"))
    return [(name, masked(value)[:400]) for name, value in rows]


def _harmony_library() -> str:
    return next(
        (
            f"{name} {installed}"
            for name in ("oss-harmony", "openai-harmony")
            if (installed := _version(name))
        ),
        "no Harmony library",
    )


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _file(name: str) -> str:
    """The file name of the capture for a command line, without its folder.

    A capture that is not a file (built in, or one of several in a file) gets the name of its download.
    """
    base = PurePath(name.replace("\\", "/")).name
    if re.search(r"\.[A-Za-z]{2,8}$", base) and "#" not in base:
        return base
    clean = "".join(char if char.isalnum() or char in "-_." else "-" for char in base)
    return f"{clean.removesuffix('.jsonl') or 'capture'}.jsonl"


def _replay(inspection: Inspection, reproduction: Reproduction | None, metrics: Figures) -> list[str]:
    path = _file(inspection.name)
    file = shlex.quote(path)
    commands = ["# in the folder of the capture", f"python -m inspector audit {file}"]
    spec = inspection.reading.spec
    if spec.path:
        stem = PurePath(path).name.partition(".jsonl")[0] or "playback"
        body = dumps({"model": stem, "stream": True, **spec.least})
        commands.append(f"python -m inspector play {file} --port 8001")
        commands.append(
            f"curl -N localhost:8001{spec.full_path} -H 'Content-Type: application/json' "
            f"-d {shlex.quote(body)}"
        )
    release = (
        inspection.reading.server_version if inspection.reading.engine.name == DEFAULT.name else None
    )  # the lab has no other
    if reproduction is not None and release and len(reproduction.script) <= _SCRIPT_SHOWN:
        step = max(metrics.tokens_per_event_max, 1)
        if not reproduction.shrunk:
            commands.append(
                f"python -m inspector lab shrink {file} --vllm {shlex.quote(release)} "
                f"--stream-interval {step}"
            )
        commands.append(
            f"python -m inspector lab serve --vllm {shlex.quote(release)} "
            f"--stream-interval {step} --port 8000"
        )
        script = f"[[tokens {' '.join(map(str, reproduction.script))}]]"
        request = {
            "model": "openai/gpt-oss-tiny",
            "stream": True,
            "return_token_ids": True,
            "messages": [{"role": "user", "content": script}],
        }
        commands.append(
            "curl -N localhost:8000/v1/chat/completions -H 'Content-Type: application/json' "
            f"-d {shlex.quote(dumps(request))}"
        )
    return [masked(command) for command in commands]
