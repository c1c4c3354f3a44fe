"""The verdict: one sentence that a tired person understands, and one line of why, from findings by rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from inspector.audit.finding import Finding, Missing
from inspector.audit.kinds import KINDS, Code, Kind, Severity, Side
from inspector.audit.missing_ids import ids_missing
from inspector.audit.rejection import Rejection
from inspector.audit.stream_checks import server_errors
from inspector.audit.wording import aborted, loss_clauses, model_clause, warning_clause
from inspector.audit.words import counted, joined
from inspector.formats import clip
from inspector.harmony.vocab import MARKERS, Marker
from inspector.reading import ChoiceReading, Evidence, Reading

__all__ = ["Clause", "Level", "Verdict", "clauses", "verdict"]


class Level(StrEnum):
    """The worst that was found; `unknown` when the evidence allows no verdict."""

    CLEAN = "clean"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happened, in words."""

    level: Level
    sentence: str
    """Who did what."""
    why: str
    """What it was checked against, and whose fault it looks like."""
    known: str = ""
    """The likeliest known issue and its first step; empty when none is known."""


class Clause(NamedTuple):
    """One statement of a verdict, and the findings that it is about."""

    words: str
    """A whole sentence without its full stop."""
    findings: tuple[Finding, ...]


_SHOWN: Final = 3
_MESSAGE_SHOWN: Final = 120
_HTTP_ERROR: Final = 400
_BLIND: Final = frozenset({Evidence.NONE, Evidence.USAGE})
_WARNINGS: Final = (
    Kind.UNSERVED,
    Kind.TRUNCATED,
    Kind.COUNT_MISMATCH,
    Kind.INVALID_TOOL_ARGUMENTS,
    Kind.PROTOCOL,
)
"""The order in which a verdict mentions warnings; kinds that are not here follow."""


def verdict(reading: Reading, findings: Sequence[Finding], stopped: Rejection | None = None) -> Verdict:
    """The verdict of a reading with its findings; `stopped` is what the server's error says was rejected."""
    said = clauses(reading, findings)
    if said:
        error = any(one.severity is Severity.ERROR for one in findings)
        sentence = " ".join(f"{clause.words[0].upper()}{clause.words[1:]}." for clause in said[:_SHOWN])
        level = Level.ERROR if error else Level.WARNING
        return Verdict(level=level, sentence=sentence, why=_why(reading, findings, stopped))
    blind = [one for one in reading.choices if one.evidence in _BLIND]
    if blind:
        which = "" if len(blind) == len(reading.choices) else f" for choice {blind[0].index}"
        return Verdict(
            level=Level.UNKNOWN,
            sentence=f"This capture has no token evidence{which}, so lost text cannot be detected.",
            why=reading.engine.evidence_hint(reading.spec),
        )
    if ids_missing(reading):
        return Verdict(
            level=Level.UNKNOWN,
            sentence="No loss found, but the server sent only some of its token IDs.",
            why=reading.engine.evidence_hint(reading.spec),
        )
    if (said_in_body := _special_token_in_body(reading.choice)) is not None:
        return Verdict(
            level=Level.WARNING, sentence=said_in_body, why=f"Nothing was lost. {_checked(reading)}"
        )
    return Verdict(level=Level.CLEAN, sentence=_clean(reading), why=_checked(reading))


def clauses(reading: Reading, findings: Sequence[Finding]) -> list[Clause]:
    """What happened, worst first: an error that the client saw, a loss, tokens that break the format."""
    errors = [one for one in findings if one.severity is Severity.ERROR]
    return _errors(reading, errors) if errors else _warnings(reading, findings)


def _errors(reading: Reading, errors: Sequence[Finding]) -> list[Clause]:
    found: list[Clause] = []
    told = [one for one in errors if one.kind is Kind.SERVER_ERROR]
    if told:
        message = (told[0].delivered or "").strip()
        shown = clip(message, _MESSAGE_SHOWN)
        status = reading.header.status
        refused = status if status is not None and status >= _HTTP_ERROR else None
        found.append(Clause(f"the server {aborted(shown, status=refused)}", tuple(told)))
    text = [one for one in errors if KINDS[one.kind].side is Side.TEXT]
    text = text or [one for one in errors if one.kind is Kind.INVALID_TOOL_ARGUMENTS]
    if lost := loss_clauses(text):
        subject = "it also" if told else "the server"
        found.append(Clause(f"{subject} {joined(lost[:_SHOWN])}", tuple(text)))
    rejected = [one for one in errors if KINDS[one.kind].side is Side.MODEL]
    if rejected:
        parses = reading.spec.parsed
        silent = ", and the server did not report it" if parses and not told else ""
        found.append(Clause(f"the model {model_clause(rejected)}{silent}", tuple(rejected)))
    cut = [one for one in errors if one.kind is Kind.DISCONNECTED]
    if cut:
        found.append(Clause("the connection was closed before the response ended", tuple(cut)))
    return found


def _warnings(reading: Reading, findings: Sequence[Finding]) -> list[Clause]:
    order = [*_WARNINGS, *(kind for kind in Kind if kind not in _WARNINGS)]
    groups = {kind: tuple(one for one in findings if one.kind is kind) for kind in order}
    found = [Clause(warning_clause(kind, group), group) for kind, group in groups.items() if group]
    only = len(found) == 1 and found[0].findings[0].kind is Kind.PROTOCOL
    if only and reading.choice.evidence not in _BLIND:
        return [Clause(f"the texts are complete, but {found[0].words}", found[0].findings)]
    return found


def _special_token_in_body(choice: ChoiceReading) -> str | None:
    """What to say of the first special token inside a body, where the reference parser takes it for text.

    No finding: the parser allows it, and the text arrived where its message says. But a person reads
    `<|start|>assistant` in the reasoning and wants to know why.
    """
    ids = choice.tokens.ids
    for message in choice.transcript.messages if choice.has_ids else ():
        if message.in_body and not MARKERS.isdisjoint(ids[message.body : message.body_end]):
            at = next(place for place in range(message.body, message.body_end) if ids[place] in MARKERS)
            marker = Marker(ids[at])
            missing = "; an <|end|> before it is missing" if marker is Marker.START else ""
            where = f" of a message on {message.header.channel}" if message.header.channel else ""
            return (
                f"The model wrote {marker.text} inside the body{where} (token {at:,}), where it is text and "
                f"frames nothing{missing}."
            )
    return None


def _clean(reading: Reading) -> str:
    choice = reading.choice
    if not reading.spec.delivers:
        return f"The tokens are well-formed Harmony: {counted(len(choice.transcript.messages), 'message')}."
    if choice.evidence is Evidence.FINAL_OBJECT:
        return "The deltas add up to the final object; nothing was lost while streaming."
    return "Everything that the model generated was delivered, each text in its field."


def _checked(reading: Reading) -> str:
    """What the verdict was checked against."""
    evidence, count = reading.choice.evidence, len(reading.choice.tokens)
    match evidence:
        case Evidence.TOKEN_IDS:
            return f"Checked against {counted(count, 'token ID')}."
        case Evidence.GIVEN_IDS:
            return f"Checked against {counted(count, 'token ID')} known from outside the stream."
        case Evidence.LOGPROBS:
            return f"Checked against {counted(count, 'logprob entry', 'logprob entries')}."
        case Evidence.FINAL_OBJECT:
            return "Checked against the server's final object; text missing there too cannot be detected."
        case Evidence.USAGE:
            return "No token IDs: only the delivered text and the server's token counts are known."
        case Evidence.NONE:
            return "No token IDs: only the delivered text is known."
        case _:
            assert_never(evidence)


def _why(reading: Reading, findings: Sequence[Finding], stopped: Rejection | None) -> str:
    kinds = {one.kind for one in findings}
    checked = _checked(reading)
    if stopped is not None:
        return f"{_stopped_words(stopped)} {checked}"
    if (
        Kind.DISCONNECTED in kinds
        and not server_errors(reading)
        and reading.header.endpoint in reading.engine.silent
    ):
        return (
            "The server sent no error message, so what it failed on cannot be determined here; its log has "
            f"the traceback. {checked}"
        )
    lost = any(KINDS[kind].side is Side.TEXT for kind in kinds)
    if reading.choice.has_ids:
        rejected = next((one for one in findings if KINDS[one.kind].side is Side.MODEL), None)
        if rejected is not None:
            return f"The model's tokens break the format: {rejected.delivered}. {checked}"
        if lost:
            broken = any(one.code is Code.ARGUMENTS_BROKEN for one in findings)
            json = " The arguments are no longer valid JSON." if broken else ""
            return f"The model's stream is well formed, so the loss is the server's.{json} {checked}"
    if any(one.kind is Kind.MISROUTED and one.event_start == reading.stream.final_event for one in findings):
        return f"The final object has it as well: the server misread a header, or the model wrote it wrong. {checked}"
    if lost:
        return f"The final object is complete; only the streamed deltas lost text. {checked}"
    return checked


def _stopped_words(stopped: Rejection) -> str:
    """Where the rejected token or header is: in the stream or not, which depends on what was rejected."""
    if stopped.header is not None:
        start = stopped.header[0]
        if stopped.missing is Missing.CERTAIN:
            return (
                f"The rejected header starts at token {start:,} of the stream; the rest of it was not sent."
            )
        ended = "; the <|message|> that ends it was not sent" if stopped.unsent else ""
        return f"The rejected header starts at token {start:,} of the stream{ended}."
    what = "header" if stopped.error.reason.in_header else "token"
    if stopped.missing is Missing.CERTAIN:
        return (
            f"The server sends nothing of the step in which its parser fails: the rejected {what} and the "
            "tokens before it in that step are not in the stream."
        )
    return f"The server does not send the {what} that its parser rejects: it is not in the stream."
