"""The verdict: one sentence a tired person understands, one line of why, from findings by rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from inspector.audit import Finding, Kind, Rejection, Severity, ids_missing, rejection, server_errors
from inspector.audit.rejection import Missing
from inspector.audit.words import field_words
from inspector.deltas import CONTENT, REASONING
from inspector.harmony.vocab import MARKERS, Marker
from inspector.reading import ChoiceReading, Evidence, Reading

__all__ = ["Level", "Verdict", "loss_clauses", "verdict"]


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
    """Who did what to whom."""
    why: str
    """What the sentence rests on, and whose fault it looks like."""
    known: str = ""
    """The likeliest known issue and its first step; empty when none is known."""


_WHOLE: Final = "the texts are whole, but "
_SERVER_CALL: Final = "mcp_call["
_MESSAGE_SHOWN: Final = 120
_REFUSALS: Final = {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}
_SERVING: Final = {Kind.DROPPED, Kind.MISROUTED, Kind.GARBLED, Kind.REORDERED, Kind.DUPLICATED}


def verdict(reading: Reading, findings: Sequence[Finding]) -> Verdict:
    """The verdict of a reading with its findings."""
    evidence = reading.choice.evidence
    errors = [one for one in findings if one.severity is Severity.ERROR]
    if errors:
        parses = reading.spec.parsed
        clauses = _clauses(errors, parses=parses)
        return Verdict(level=Level.ERROR, sentence=_sentence(clauses), why=_why(reading, findings))
    blind = [one for one in reading.choices if one.evidence in {Evidence.NONE, Evidence.USAGE}]
    if blind and not findings:
        which = "" if len(blind) == len(reading.choices) else f" in choice {blind[0].index}"
        return Verdict(
            level=Level.UNKNOWN,
            sentence=f"Nothing tells what the model generated{which}, so losses cannot be seen.",
            why=reading.engine.evidence_hint(reading.spec),
        )
    if ids_missing(reading) and not findings:
        return Verdict(
            level=Level.UNKNOWN,
            sentence="Only some of the generated tokens are told, so losses may be hidden.",
            why=reading.engine.evidence_hint(reading.spec),
        )
    if findings:
        return Verdict(
            level=Level.WARNING,
            sentence=_sentence(_warnings(findings, known=evidence not in {Evidence.NONE, Evidence.USAGE})),
            why=_why(reading, findings),
        )
    rests = f"This rests on {_rests(reading)}."
    if (said := _marker_in_body(reading.choice)) is not None:
        return Verdict(level=Level.WARNING, sentence=said, why=f"Nothing was lost on the way. {rests}")
    return Verdict(level=Level.CLEAN, sentence=_clean(reading), why=rests)


def _marker_in_body(choice: ChoiceReading) -> str | None:
    """What to say of the first marker that stands inside a body, where Harmony's parser takes it for text.

    No finding: the parser allows it, and the text arrived where its message says. But a person reads
    `<|start|>assistant` in the reasoning and wants to know why.
    """
    ids = choice.tokens.ids
    for message in choice.transcript.messages if choice.has_ids else ():
        if message.in_body and not MARKERS.isdisjoint(ids[message.body : message.body_end]):
            at = next(place for place in range(message.body, message.body_end) if ids[place] in MARKERS)
            marker = Marker(ids[at])
            missing = "; an <|end|> before it is missing" if marker is Marker.START else ""
            where = f" of {message.header.channel}" if message.header.channel else ""
            return (
                f"The model wrote {marker.text} inside a body{where} (token {at}), where it is text "
                f"and frames nothing{missing}."
            )
    return None


def _clean(reading: Reading) -> str:
    choice = reading.choice
    if not reading.spec.delivers:
        return f"The tokens are well-formed Harmony: {_count(len(choice.transcript.messages), 'message')}."
    if choice.evidence is Evidence.FINAL_OBJECT:
        return "The deltas add up to the final object; nothing was lost on the way."
    return "Everything that the model generated was delivered, each text in its field."


def _rests(reading: Reading) -> str:
    evidence, count = reading.choice.evidence, len(reading.choice.tokens)
    match evidence:
        case Evidence.TOKEN_IDS:
            return f"{_count(count, 'token id')} in the stream"
        case Evidence.GIVEN_IDS:
            return f"{_count(count, 'token id')} known from outside the stream"
        case Evidence.LOGPROBS:
            return f"{_count(count, 'logprob entry', 'logprob entries')}"
        case Evidence.FINAL_OBJECT:
            return "the server's final object; without token ids, text that it lacks too cannot be seen"
        case Evidence.USAGE:
            return "the server's token counts only"
        case _:
            return "nothing but the deltas"


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _sentence(clauses: list[str]) -> str:
    unique = list(dict.fromkeys(clauses))
    first = unique[0]
    shown = [first, *unique[1:3]]
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{text[0].upper()}{text[1:]}."


def _clauses(errors: Sequence[Finding], *, parses: bool) -> list[str]:
    """What happened, worst first: an error that the client was told, a loss, tokens that break the format."""
    told = _of(errors, Kind.SERVER_ERROR)
    clauses: list[str] = []
    if told:
        message = (told[0].delivered or "").strip()
        shown = message if len(message) <= _MESSAGE_SHOWN else message[: _MESSAGE_SHOWN - 1] + "…"
        clauses.append(f"the server gave up with “{shown}”")
    lost = loss_clauses(errors)
    if lost:
        clauses.extend([lost[0] if told else f"the server {lost[0]}", *lost[1:]])
    refused = [one for one in errors if one.kind in _REFUSALS]
    if refused:
        clauses.append(_refused_clause(refused, silent=parses and not told))
    if _of(errors, Kind.DISCONNECTED):
        clauses.append("the connection broke off without an end")
    return clauses or ["the server delivered something else than the model generated"]


def loss_clauses(errors: Sequence[Finding]) -> list[str]:
    """What a server did to the texts, a clause each that wants "the server" before it."""
    found = _misrouted_groups(errors)
    dropped = _of(errors, Kind.DROPPED)
    if dropped:
        found.append(f"lost {_per_field(dropped, 'of')}")
    for kind, verb in (
        (Kind.GARBLED, "garbled"),
        (Kind.REORDERED, "reordered"),
        (Kind.DUPLICATED, "repeated or invented"),
    ):
        if some := _of(errors, kind):
            found.append(f"{verb} {_per_field(some, 'in')}")
    broken = _of(errors, Kind.INVALID_TOOL_ARGUMENTS)
    if broken and not found:
        found.append(f"broke the JSON of {field_words(broken[0].field)}")
    return found


def _misrouted_groups(errors: Sequence[Finding]) -> list[str]:
    groups: dict[tuple[str | None, str | None], list[Finding]] = {}
    for one in _of(errors, Kind.MISROUTED):
        groups.setdefault((one.field, one.delivered_in), []).append(one)
    words: list[str] = []
    for (field, where), group in groups.items():
        what = _amount(group)
        if field is None and (where or "").startswith(_SERVER_CALL):
            words.append(f"turned {what} into a call of a tool that does not exist")
        elif field is None:
            words.append(f"let {what} of message framing into {field_words(where)}")
        elif field == REASONING and where == CONTENT:
            words.append(f"sent {what} of reasoning to the user as answer")
        else:
            words.append(f"sent {what} of {field_words(field)} to {field_words(where)}")
    return words


def _refused_clause(refused: Sequence[Finding], *, silent: bool) -> str:
    first = refused[0]
    what = (
        "wrote a header that Harmony does not allow"
        if first.kind is Kind.BAD_HEADER
        else "emitted a token where only <|start|> may stand"
    )
    more = f", {len(refused)} times in all" if len(refused) > 1 else ""
    where = f"token {first.token_start}{more}" if first.sent else "not sent"
    return f"the model {what} ({where})" + (", and the server said nothing" if silent else "")


def _warnings(findings: Sequence[Finding], *, known: bool) -> list[str]:
    """Clauses of warnings; `known` when there is evidence that the texts are whole."""
    words: list[str] = []
    for kind, clause in (
        (Kind.UNSERVED, _unserved_clause(findings)),
        (Kind.TRUNCATED, "the answer was cut short"),
        (Kind.COUNT_MISMATCH, _count_clause(findings)),
        (Kind.INVALID_TOOL_ARGUMENTS, _arguments_clause(findings)),
        (Kind.PROTOCOL, f"{_WHOLE}the stream breaks its protocol"),
    ):
        if _of(findings, kind):
            words.append(clause)
    if words[-1].startswith(_WHOLE) and (len(words) > 1 or not known):
        words[-1] = words[-1].removeprefix(_WHOLE)
    return words


def _arguments_clause(findings: Sequence[Finding]) -> str:
    if any(one.generated is not None for one in _of(findings, Kind.INVALID_TOOL_ARGUMENTS)):
        return "the model generated tool arguments that are not JSON"
    return "tool arguments arrived that are not JSON"


def _unserved_clause(findings: Sequence[Finding]) -> str:
    found = _of(findings, Kind.UNSERVED)
    places = {one.delivered_in for one in found}
    if found and None not in places and len(places) == 1:
        return f"text for which no field is promised was delivered in {field_words(found[0].delivered_in)}"
    return "some generated text has no field and reached nobody"


def _count_clause(findings: Sequence[Finding]) -> str:
    found = _of(findings, Kind.COUNT_MISMATCH)
    if not found:
        return ""
    counted, seen = found[0].generated or "", found[0].delivered or ""
    if "cannot be told" in found[0].explanation:
        return f"the server told {seen} of {counted} tokens, so losses may be hidden"
    if "token ids" in found[0].explanation:
        return f"the server counted {counted} tokens and sent {seen} token ids"
    return f"the server counted {counted} tokens, of which about {seen} can be accounted for"


def _why(reading: Reading, findings: Sequence[Finding]) -> str:
    kinds = {one.kind for one in findings}
    rests = f"Evidence: {_rests(reading)}."
    if (stopped := rejection(reading)) is not None:
        return f"{_stopped_words(stopped)} {rests}"
    if (
        Kind.DISCONNECTED in kinds
        and not server_errors(reading)
        and reading.header.endpoint in reading.engine.silent
    ):
        return (
            "The server sent no error message, so what it failed on cannot be determined here; its log has "
            f"the traceback. {rests}"
        )
    if reading.choice.has_ids:
        if kinds & _REFUSALS:
            refused = next(one for one in findings if one.kind in _REFUSALS)
            return f"The model's tokens break the format: {refused.delivered}. {rests}"
        if kinds & _SERVING:
            broken = any(
                one.kind is Kind.INVALID_TOOL_ARGUMENTS and one.severity is Severity.ERROR for one in findings
            )
            json = " The arguments no longer parse as JSON." if broken else ""
            return f"The model's stream is well formed; the loss is the server's.{json} {rests}"
    if any(one.kind is Kind.MISROUTED and one.event_start == reading.stream.final_event for one in findings):
        return f"The final object has it so too: a header was misread, or written wrong. {rests}"
    if kinds & _SERVING:
        return f"The final object is whole; only the streamed deltas lost text. {rests}"
    return rests


def _stopped_words(stopped: Rejection) -> str:
    """Where the rejected token or header is: in the stream or not, which depends on what was rejected."""
    if stopped.header is not None:
        start = stopped.header[0]
        if stopped.missing is Missing.CERTAIN:
            return f"The rejected header starts at token {start} of the stream; the rest of it was not sent."
        ended = "; the <|message|> that ends it was not sent" if stopped.unsent else ""
        return f"The rejected header starts at token {start} of the stream{ended}."
    what = "header" if stopped.error.reason.in_header else "token"
    if stopped.missing is Missing.CERTAIN:
        return (
            f"The server sends nothing of the step in which its parser fails: the rejected {what} and the "
            "tokens before it in that step are not in the stream."
        )
    return f"The server does not send the {what} that its parser rejects: it is not in the stream."


def _of(findings: Sequence[Finding], kind: Kind) -> list[Finding]:
    return [one for one in findings if one.kind is kind]


def _amount(findings: Sequence[Finding]) -> str:
    """How much, in tokens where they are known, else in characters."""
    if all(one.token_start is not None and one.token_end is not None for one in findings):
        return _count(sum((one.token_end or 0) - (one.token_start or 0) for one in findings), "token")
    return _count(sum(len(one.generated or one.delivered or "") for one in findings), "character")


def _per_field(findings: Sequence[Finding], joint: str) -> str:
    """How much in which field, e.g. `2 tokens of the reasoning and 1 token of the answer (content)`."""
    groups: dict[str | None, list[Finding]] = {}
    for one in findings:
        groups.setdefault(one.field, []).append(one)
    words = [f"{_amount(group)} {joint} {field_words(field)}" for field, group in groups.items()]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
