"""The clauses of verdicts, from findings: what the server did to the texts, what the model wrote, what is odd.

As in `wording`, nothing decides by reading what this module writes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from inspector.analysis.audit.facts import (
    BelowLimit,
    CallAsText,
    CallWithoutEvents,
    Disconnection,
    EndWithoutAnswer,
    Facts,
    HarmonyText,
    MistakenCall,
    OpenMessage,
    SpecialToken,
    TokenCounts,
    UndeliveredCall,
    UnexplainedCount,
    UnofferedCall,
)
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import KINDS, TRANSCRIPTS, Code, Kind
from inspector.analysis.audit.wording import closed_words, counted_and_sent, sent_as
from inspector.analysis.audit.words import (
    amount,
    below_limit_words,
    counted,
    ended_words,
    field_words,
    harmony_words,
    inside,
    joined,
    per_field,
    quote,
    special_token_words,
)
from inspector.capture.deltas import CONTENT, REASONING, tool_index

_F = TypeVar("_F", bound=Facts)

_LOST: Final = {
    Kind.DROPPED: ("lost", "of"),
    Kind.GARBLED: ("garbled", "in"),
    Kind.REORDERED: ("reordered", "in"),
    Kind.DUPLICATED: ("repeated or invented", "in"),
}
_SURPLUS: Final = {Code.TEXT_REPEATED: "repeated", Code.TEXT_INVENTED: "invented"}
"""More exact verbs, where all findings of the kind have the code."""

_CALLS_NAMED: Final = 2
"""Lost tool calls that a clause names; more are counted."""

_SHOWN: Final = 2
"""Fields with Harmony that a clause names."""

LOSSES: Final = (Kind.MISROUTED, *_LOST)
"""The order in which a clause mentions losses."""


def error_clause(
    words: str, *, status: int | None, code: int | None = None, streamed: bool = True, parsing: bool = False
) -> str:
    """What became of the response with an error, by what arrived: a gateway may have sent it.

    `status` is that of an answer with an error status; `code` the one that an error body has, for a capture
    without status. An error of the server's parser (`parsing`) is not the request's fault, although vLLM sends
    it with status 400 up to 0.17.
    """
    quoted = f"“{words.rstrip('.')}”"
    http_code = code if status is None else status
    if http_code is not None:
        verb = "was rejected" if http_code < 500 and not parsing else "failed"
        return f"the request {verb} ({'code' if status is None else 'HTTP'} {http_code}): {quoted}"
    return f"the stream ended with an error: {quoted}" if streamed else f"the response is an error: {quoted}"


def loss_clauses(errors: Sequence[Finding]) -> list[str]:
    """What a server did to the texts, each a clause after "the server"."""
    clauses = _misrouted(errors)
    clauses += _unparsed(errors)
    for kind, (verb, preposition) in _LOST.items():
        if group := _of(errors, kind):
            exact = {_SURPLUS.get(finding.code, verb) for finding in group}
            clauses.append(
                f"{exact.pop() if len(exact) == 1 else verb} {joined([*per_field(_texts(group), preposition), *_calls(group)])}"
            )
    broken = _of(errors, Kind.INVALID_TOOL_ARGUMENTS)
    if broken and not clauses:
        clauses.append(f"broke the JSON of {field_words(broken[0].field)}")
    return clauses


def _texts(findings: Sequence[Finding]) -> list[Finding]:
    return [
        finding for finding in findings if not isinstance(finding.facts, UndeliveredCall | CallWithoutEvents)
    ]


def _calls(findings: Sequence[Finding]) -> list[str]:
    """The tool calls that were not delivered at all, by number and name; only their count if they are many."""
    calls = [
        (tool_index(finding.field or "") or 0, finding.facts.name)
        for finding in findings
        if isinstance(finding.facts, UndeliveredCall | CallWithoutEvents)
    ]
    if len(calls) > _CALLS_NAMED:
        return [counted(len(calls), "tool call")]
    return [f"tool call {number + 1} ({quote(name)})" for number, name in calls]


def _of_type(findings: Sequence[Finding], facts: type[_F]) -> list[_F]:
    """The facts of a type, in the order of their findings."""
    return [finding.facts for finding in findings if isinstance(finding.facts, facts)]


def _misrouted(errors: Sequence[Finding]) -> list[str]:
    groups: dict[tuple[str | None, str | None], list[Finding]] = {}
    words: list[str] = []
    misrouted = _of(errors, Kind.MISROUTED)
    if calls := [finding for finding in misrouted if finding.code is Code.CALL_AS_TEXT]:
        as_text = f"as text in {field_words(calls[0].delivered_in)}, not as {_a_call(calls)}"
        words.append(f"delivered {joined(_call_names(calls))} {as_text}")
    for finding in misrouted:
        if finding.code is Code.CALL_AS_TEXT:
            continue
        groups.setdefault((finding.field, finding.delivered_in), []).append(finding)
    for (origin, destination), group in groups.items():
        if origin is None:
            words.append(
                f"delivered {amount(group)} outside any message body as text in {field_words(destination)}"
            )
        elif origin == REASONING and destination == CONTENT:
            words.append(f"leaked {amount(group, 'reasoning')} into the answer")
        else:
            words.append(f"delivered {amount(group)} of {field_words(origin)} in {field_words(destination)}")
    return words


def _unparsed(errors: Sequence[Finding]) -> list[str]:
    transcripts = [finding for finding in errors if finding.code in TRANSCRIPTS]
    return [
        f"passed Harmony through unparsed in {field_words(finding.field)}{inside(finding.facts)}"
        for finding in transcripts[:1]
        if isinstance(finding.facts, HarmonyText)
    ]


def _harmony(findings: Sequence[Finding]) -> str:
    return joined(
        [
            harmony_words(finding, finding.facts)
            for finding in findings[:_SHOWN]
            if isinstance(finding.facts, HarmonyText)
        ]
    )


def model_clause(rejected: Sequence[Finding]) -> str:
    """What the model wrote that the parser rejects, a clause after "the model"."""
    first = rejected[0]
    clause = (
        "wrote a header that Harmony does not allow"
        if first.kind is Kind.BAD_HEADER
        else "emitted a token where only <|start|> is allowed"
    )
    repeats = f", {len(rejected):,} times in total" if len(rejected) > 1 else ""
    return f"{clause} (token {first.token_start:,}{repeats})" if first.sent else f"{clause} (not sent)"


def warning_clause(kind: Kind, findings: Sequence[Finding]) -> str:
    """What the warnings of a kind amount to, a whole clause; `findings` are those of the kind, at least one."""
    return KINDS[kind].clause or _WRITTEN[kind](findings)


def _repeated_events(findings: Sequence[Finding]) -> str:
    if len(findings) > 1:
        return f"{counted(len(findings), 'event')} arrived twice"
    return f"event {(findings[0].event_start or 1) - 1:,} arrived twice"


def _no_tool_names(findings: Sequence[Finding]) -> str:
    names = list(dict.fromkeys(quote(call.name) for call in _of_type(findings, MistakenCall)))
    if len(names) > _CALLS_NAMED:
        return f"the response has {counted(len(names), 'call')} whose names contain special tokens"
    return f"the response has a call of {joined(names)}, which contains a special token"


def _unserved(findings: Sequence[Finding]) -> str:
    places = {finding.delivered_in for finding in findings}
    if None not in places and len(places) == 1:
        return f"text for which the endpoint has no field was delivered in {field_words(findings[0].delivered_in)}"
    if all(finding.code in {Code.NO_FIELD, Code.NO_FIELD_DELIVERED} for finding in findings):
        return "some generated text was not delivered, because the endpoint has no field for it"
    return "some generated text was not delivered"


def _call_names(findings: Sequence[Finding]) -> list[str]:
    names = list(dict.fromkeys(quote(call.name) for call in _of_type(findings, CallAsText)))
    if len(names) > _CALLS_NAMED:
        return [counted(len(findings), "tool call")]
    return [f"the call of {name}" for name in names]


def _a_call(findings: Sequence[Finding]) -> str:
    return "a tool call" if len(findings) == 1 else "tool calls"


def _added(findings: Sequence[Finding]) -> str:
    noun = "line feed" if all(finding.delivered == "\n" for finding in findings) else "separator"
    groups: dict[str | None, int] = {}
    for finding in findings:
        groups[finding.field] = groups.get(finding.field, 0) + 1
    places = [
        f"{counted(number, noun)} between messages of {field_words(field)}"
        for field, number in groups.items()
    ]
    return f"the server added {joined(places)}"


def _truncated(findings: Sequence[Finding]) -> str:
    match findings[0].facts:
        case BelowLimit() as facts:
            return below_limit_words(facts)
        case OpenMessage(in_header=True, finish_reason="stop"):
            return "the response ends inside a header (finish_reason: stop)"
        case OpenMessage(in_header=in_header, finish_reason=None):
            return f"the tokens end inside a {'header' if in_header else 'message'}"
        case _:
            return "the response was cut short"


def _count_mismatch(findings: Sequence[Finding]) -> str:
    if all_counts := _of_type(findings, TokenCounts):
        counts = all_counts[0]
        if counts.code is Code.COUNT_BELOW_SENT:
            return f"the server {counted_and_sent(counts)}"
        return f"the server sent {counts.seen:,} of {counts.counted:,} {sent_as(counts)}, so losses may be hidden"
    unexplained = _of_type(findings, UnexplainedCount)[0]
    if findings[0].reconstructed:
        surplus = counted(unexplained.counted - unexplained.seen, "token")
        return f"the server counted {surplus} more than its final object accounts for"
    return (
        f"the server counted {unexplained.counted:,} tokens, but its texts account for about "
        f"{unexplained.seen:,}"
    )


def _invalid_arguments(findings: Sequence[Finding]) -> str:
    if findings[0].code is Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN:
        return "the tool arguments are not valid JSON as delivered"
    return "the model generated tool arguments that are not valid JSON"


def _lost(findings: Sequence[Finding]) -> str:
    return f"the server {joined(loss_clauses(findings))}"


def _rejected(findings: Sequence[Finding]) -> str:
    return f"the model {model_clause(findings)}"


def _no_answer(findings: Sequence[Finding]) -> str:
    return f"the response {ended_words(_of_type(findings, EndWithoutAnswer)[0])}"


def _unoffered(findings: Sequence[Finding]) -> str:
    names = list(dict.fromkeys(quote(call.name) for call in _of_type(findings, UnofferedCall)))
    if len(names) > _CALLS_NAMED:
        return f"the response calls {counted(len(names), 'tool')} that the request does not offer"
    tools = "a tool" if len(names) == 1 else "tools"
    return f"the response calls {joined(names)}, {tools} that the request does not offer"


def _special_token(findings: Sequence[Finding]) -> str:
    return special_token_words(findings[0], _of_type(findings, SpecialToken)[0])


def _server_error(findings: Sequence[Finding]) -> str:
    return error_clause(findings[0].delivered or "", status=None)


def _aborted(findings: Sequence[Finding]) -> str:
    return f"{closed_words(_of_type(findings, Disconnection)[0])} before the response ended"


def _without_ids(findings: Sequence[Finding]) -> str:
    words = joined(per_field(findings, "in"))
    return f"no token ID accounts for {words}: the server added the text, or left out its IDs"


def _protocol(findings: Sequence[Finding]) -> str:
    if all(finding.code is Code.NO_FINISH_REASON for finding in findings):
        return "the response has no finish_reason"
    return "the stream violates the streaming protocol"


_WRITTEN: Final[Mapping[Kind, Callable[[Sequence[Finding]], str]]] = {
    Kind.UNSERVED: _unserved,
    Kind.ADDED: _added,
    Kind.TRUNCATED: _truncated,
    Kind.COUNT_MISMATCH: _count_mismatch,
    Kind.INVALID_TOOL_ARGUMENTS: _invalid_arguments,
    Kind.DROPPED: _lost,
    Kind.MISROUTED: _lost,
    Kind.GARBLED: _lost,
    Kind.REORDERED: _lost,
    Kind.DUPLICATED: _lost,
    Kind.UNEXPECTED_TOKEN: _rejected,
    Kind.BAD_HEADER: _rejected,
    Kind.NO_ANSWER: _no_answer,
    Kind.SPECIAL_TOKEN_IN_BODY: _special_token,
    Kind.SERVER_ERROR: _server_error,
    Kind.UNOFFERED_CALL: _unoffered,
    Kind.ABORTED: _aborted,
    Kind.PROTOCOL: _protocol,
    Kind.TEXT_WITHOUT_IDS: _without_ids,
    Kind.HARMONY_AS_TEXT: _harmony,
}
"""What is written from the findings of a kind; the other kinds have a clause in `KINDS`."""


NEUTRAL: Final[Mapping[Code, Callable[[Sequence[Finding]], str]]] = {
    Code.EVENT_REPEATED: _repeated_events,
    Code.FINAL_CALL_OF_SPECIAL_TOKEN: _no_tool_names,
    Code.TOKEN_IN_TEXT: _harmony,
    Code.TOKEN_IN_NAME: _harmony,
    Code.HEADER_WORD_IN_NAME: _harmony,
}
"""Errors of delivered text that may not be the server's fault, each with its clause."""


def _of(findings: Sequence[Finding], kind: Kind) -> list[Finding]:
    return [finding for finding in findings if finding.kind is kind]
