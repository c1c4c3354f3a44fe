"""The facts of a report, shared by Markdown and HTML, from one inspection."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from json import dumps
from pathlib import PurePath
from typing import Final

from inspector.analysis.audit import Finding, Severity
from inspector.analysis.metrics import most_per_event
from inspector.capture.redaction import redact
from inspector.capture.version import __version__
from inspector.inspection.inspection import Inspection
from inspector.issues import Advice
from inspector.protocol.engines import DEFAULT
from inspector.views.audit_result import AuditResult, FieldRow
from inspector.views.report.escape import masked
from inspector.views.report.shrink import Reproduction, reproduce

_ISSUES_SHOWN: Final = 5
LINKS_SHOWN: Final = 3
_CHOICES_SHOWN: Final = 8
_REQUEST_SHOWN: Final = 20_000
_SCRIPT_SHOWN: Final = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a report says: the result of the audit, and what only reports have. Nothing is escaped yet."""

    result: AuditResult
    name: str
    """File name without folders."""
    environment: Sequence[tuple[str, str]]
    fields: Sequence[FieldRow]
    """Generated against delivered, with keys masked, as the two are drawn in pieces."""
    choices_left_out: int
    """Choices whose texts are omitted."""
    wrong_left_out: int
    """Of these, how many have findings."""
    shown_by: Finding | None
    """The finding that `reproduction` reproduces."""
    reproduction: Reproduction | None
    request: str
    """The request as JSON, truncated if long."""
    replay: Sequence[str]
    """Shell commands that reproduce the result."""

    @property
    def drawn(self) -> int | None:
        """The choice whose tokens are drawn, where there are several."""
        return self.result.choice.index if len(self.result.inspection.reading.choices) > 1 else None

    @property
    def advice(self) -> Sequence[Advice]:
        """The causes that are named, with what to do about each."""
        return self.result.inspection.advice[:_ISSUES_SHOWN]

    @property
    def notes(self) -> Sequence[str]:
        """What else a reader should know."""
        readable = () if self.result.readable is None else (self.result.readable,)
        return (*self.result.prompt_warnings, *readable, *self.result.inspection.notes)


def facts(inspection: Inspection) -> Facts:
    """Collect the facts of one capture."""
    reading = inspection.reading
    shown_by, reproduction = _reproduction(inspection)
    request = masked(dumps(redact(reading.header.request), indent=2, ensure_ascii=False))
    if len(request) > _REQUEST_SHOWN:
        request = f"{request[:_REQUEST_SHOWN]}\n… and {len(request) - _REQUEST_SHOWN:,} more characters"
    wrong = {finding.choice for finding in inspection.findings}
    choices = [AuditResult(inspection, number) for number in range(len(reading.choices))]
    # With many choices, first those with findings.
    choices.sort(key=lambda shown: shown.choice.index not in wrong)
    result = choices[0]
    wrong_choices = sum(shown.choice.index in wrong for shown in choices)
    return Facts(
        result=result,
        name=PurePath(inspection.name.replace("\\", "/")).name or "capture",
        environment=_environment(result),
        fields=[
            replace(
                row,
                generated=row.generated and masked(row.generated),
                delivered=row.delivered and masked(row.delivered),
                field=f"choice {shown.choice.index}, {row.field}" if len(choices) > 1 else row.field,
            )
            for shown in choices[:_CHOICES_SHOWN]
            for row in shown.fields
        ],
        choices_left_out=max(len(choices) - _CHOICES_SHOWN, 0),
        wrong_left_out=max(wrong_choices - _CHOICES_SHOWN, 0),
        shown_by=shown_by,
        reproduction=reproduction,
        request=request if reading.header.request else "",
        replay=_replay(result, reproduction),
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


def _environment(result: AuditResult) -> list[tuple[str, str]]:
    reading, header = result.inspection.reading, result.inspection.reading.header
    rows = [
        ("server", reading.server_label),
        ("endpoint", reading.spec.full_path if reading.spec.path else "a list of token IDs"),
        ("model", str(reading.model or "unknown")),
        ("evidence", result.choice.evidence.words),
    ]
    if most := most_per_event(reading, result.choice):
        rows.append(("tokens per event", f"up to {most}"))
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


def _replay(result: AuditResult, reproduction: Reproduction | None) -> list[str]:
    path, reading = _file(result.name), result.inspection.reading
    file = shlex.quote(path)
    commands = ["# in the folder of the capture", f"python -m inspector audit {file}"]
    spec = reading.spec
    if spec.path:
        stem = PurePath(path).name.partition(".jsonl")[0] or "playback"
        body = dumps({"model": stem, "stream": True, **spec.least})
        commands.append(f"python -m inspector play {file} --port 8001")
        commands.append(
            f"curl -N localhost:8001{spec.full_path} -H 'Content-Type: application/json' "
            f"-d {shlex.quote(body)}"
        )
    release = reading.server_version if reading.engine.name == DEFAULT.name else None  # the lab has no other
    if reproduction is not None and release and len(reproduction.script) <= _SCRIPT_SHOWN:
        step = max(result.figures.tokens_per_event_max, 1)
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
    return commands
