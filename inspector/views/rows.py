"""Flat rows of a reading for tables, `--json` and the pages.

The keys of `audit_row`, `finding_row` and `token_rows` are the command line's contract; scripts depend
on them. Spans are half-open.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from inspector.analysis.alignment import reconstructed_cells
from inspector.analysis.audit import Finding, explain, title
from inspector.analysis.metrics import Figures
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.deltas import Texts
from inspector.inspection.inspection import Inspection
from inspector.issues import Cause, Situation, advice_row, first_step, issues
from inspector.protocol.harmony.reconstruction import Reconstruction
from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.vocab import token_bytes
from inspector.views.audit_result import AuditResult
from inspector.views.payload import IssueRow
from inspector.views.prompt_rows import prompt_row


def cause_row(cause: Cause | None) -> dict[str, Any] | None:
    """The cause of a finding or a verdict; None where none is known."""
    if cause is None:
        return None
    return asdict(cause) | {
        "confidence": str(cause.confidence),
        "evidence": list(cause.evidence),
        "alternatives": [asdict(alternative) for alternative in cause.alternatives],
    }


def finding_row(finding: Finding) -> dict[str, Any]:
    """One finding as in docs/audit.schema.json, without its cause."""
    row = {"code": str(finding.code)} | asdict(finding)
    del row["by_final"], row["reconstructed"]  # facts in JSON
    row["kind"], row["severity"] = str(finding.kind), str(finding.severity)
    row["facts"] = finding.fact_row()
    row["explanation"] = explain(finding)
    row["known_issues"] = list(finding.known_issues)
    return row


def finding_words(finding: Finding) -> dict[str, str]:
    """Title and line of a finding, as lists show it."""
    return {"title": title(finding), "line": explain(finding)}


def issue_row(issue_id: str, situation: Situation) -> IssueRow:
    """A known issue for lists: ID, title, side, and the first step in this situation."""
    issue = issues()[issue_id]
    step = first_step(issue, situation)
    return {"id": issue.id, "title": issue.title, "side": str(issue.sides[0]), "fix": step}


def message_rows(choice: ChoiceReading) -> list[dict[str, Any]]:
    """One row per message, in order; rejected runs are not messages."""
    ids = choice.tokens.ids
    return [
        {
            "role": message.header.role,
            "channel": message.header.channel,
            "recipient": message.header.recipient,
            "content_type": message.header.content_type,
            "text": text_of(ids[message.body : message.body_end]),
            "token_start": message.start,
            "token_end": message.end,
            "complete": message.complete,
        }
        for message in choice.transcript.messages
    ]


def texts_row(side: Texts | None) -> dict[str, Any] | None:
    """One side's texts by field; `text` only for completions, `other` only for server-side tools."""
    if side is None:
        return None
    row: dict[str, Any] = {
        "content": side.content,
        "reasoning": side.reasoning,
        "tool_calls": [{"name": call.name, "arguments": call.arguments} for call in side.tool_calls],
    }
    if side.text is not None:
        row["text"] = side.text
    if side.other:
        row["other"] = side.other
    return row


def audit_row(result: AuditResult) -> dict[str, Any]:
    """What `audit --json` prints for one capture."""
    inspection, choice = result.inspection, result.choice
    reading, verdict = inspection.reading, inspection.verdict
    error = next(iter(inspection.transmission.errors), None)
    row: dict[str, Any] = {
        "file": result.name,
        "endpoint": str(reading.header.endpoint),
        "model": reading.model,
        "server": reading.engine.name,
        "gateway": None if reading.gateway is None else reading.gateway.name,
        "server_version": reading.server_version,
        "evidence": str(choice.evidence),
        "unfinished": not reading.ended,
        "excerpt": None if reading.excerpt is None else str(reading.excerpt),
        "verdict": {
            "level": str(verdict.level),
            "outcome": str(verdict.outcome),
            "sentence": verdict.sentence,
            "why": verdict.why,
            "known": verdict.known,
            "cause": cause_row(inspection.cause),
        },
        "causes": [advice_row(advice) for advice in inspection.advice],
        "summary": {
            "headline": result.headline,
            "fault": result.fault,
            "fixes": [{"text": fix.words, "url": fix.url} for fix in result.fixes],
            "clients": result.readable,
        },
        **_choice_row(choice),
        "error": None
        if error is None
        else {"message": error.message, "type": error.type, "code": error.code, "event": error.event},
        "finish_reason": choice.finish_reason,
        "findings": [
            finding_row(finding) | {"cause": cause_row(cause)}
            for finding, cause in zip(inspection.findings, inspection.causes, strict=True)
        ],
        "notes": list(inspection.notes),
        "prompt": prompt_row(result.prompt),
        "violations": [violation.row() for violation in result.violations],
        "clients": [],
    }
    if len(reading.choices) > 1:
        row["choices"] = [
            {"index": numbered.index, "evidence": str(numbered.evidence), **_choice_row(numbered)}
            for numbered in reading.choices
        ]
    return row


def audit_dict(inspection: Inspection) -> dict[str, Any]:
    """What `audit --json` prints, as docs/audit.schema.json describes it; JSON values only."""
    return audit_row(AuditResult(inspection))


def _choice_row(choice: ChoiceReading) -> dict[str, Any]:
    by_channel: dict[str, int] = {}
    for message in choice.transcript.messages:
        if message.in_body:
            channel = message.header.channel or "none"
            by_channel[channel] = by_channel.get(channel, 0) + message.body_end - message.body
    return {
        "tokens": {
            "count": len(choice.tokens),
            "by_channel": by_channel,
            "reconstructed": choice.rebuilt is not None,
        },
        "reconstruction": _reconstruction_row(choice.reconstruction),
        "messages": message_rows(choice),
        "generated": texts_row(choice.generated()),
        "delivered": texts_row(choice.delivered()),
    }


def _reconstruction_row(reconstruction: Reconstruction | None) -> dict[str, Any] | None:
    """What the final object of Responses says about the tokens; None if IDs are known or it says nothing."""
    if reconstruction is None:
        return None
    return {
        "certainty": str(reconstruction.certainty),
        "count": len(reconstruction.ids),
        "counted": reconstruction.counted,
        "missing": reconstruction.missing,
        "fits": list(dict.fromkeys(fit.what for fit in reconstruction.fits)),
    }


def token_state(choice: ChoiceReading) -> Iterator[tuple[int, int, str, int | None, str | None]]:
    """Runs of tokens of one state: start, end, state, message and channel.

    States: `header` and `body`, each with its special tokens, and `refused`.
    """
    runs: list[tuple[int, int, str, int | None, str | None]] = []
    for number, message in enumerate(choice.transcript.messages):
        channel = message.header.channel
        body = message.body if message.in_body else message.end
        runs.append((message.start, body, "header", number, channel))
        runs.append((body, message.end, "body", number, channel))
    runs.extend(
        (rejected_run.start, rejected_run.end, "refused", None, None)
        for rejected_run in choice.transcript.rejected_runs
    )
    yield from sorted(run for run in runs if run[0] < run[1])


def token_rows(reading: Reading, choice: ChoiceReading | None = None) -> Iterator[dict[str, Any]]:
    """One row per token; `text` is what the token completes, `bytes` what it adds, in hex.

    Where no ids were sent the rows are those of reconstructed tokens, if there are any; `id` is None where
    several spellings fit.
    """
    choice = choice or reading.choice
    if not choice.has_ids:
        choice = reconstructed_cells(choice) or choice
    reconstruction = choice.reconstruction if choice.reconstructed else None
    ids, events = choice.tokens.ids, choice.tokens.events
    for start, end, state, message, channel in token_state(choice):
        token_texts = texts(ids[start:end])
        for index, text in enumerate(token_texts, start):
            yield {
                "index": index,
                "id": ids[index] if reconstruction is None or reconstruction.is_certain(index) else None,
                "text": text,
                "bytes": token_bytes(ids[index]).hex(),
                "state": state,
                "message": message,
                "channel": channel,
                "event": events[index] if events[index] >= 0 else None,
                "arrival_s": reading.arrival_s(events[index]),
                "reconstructed": choice.reconstructed,
            }


def event_rows(reading: Reading, start: int = 0, end: int | None = None) -> list[dict[str, Any]]:
    """One row per event, verbatim."""
    rows = []
    for index in range(start, len(reading.events) if end is None else min(end, len(reading.events))):
        event = reading.events[index]
        rows.append(
            {
                "event": index,
                "arrival_s": event.at_s,
                "kind": str(event.kind),
                "name": event.name,
                "data": event.data,
            }
        )
    return rows


def figure_row(figures: Figures) -> dict[str, Any]:
    """Metrics for `audit` and the pages; times in seconds."""
    return asdict(figures)
