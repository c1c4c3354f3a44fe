"""Every sentence about findings, from their codes and facts: explanations and titles.

Nothing decides by reading what this module writes.
"""

from typing import Final, assert_never

from inspector.analysis.audit.facts import (
    Disconnection,
    Implied,
    Missing,
    OpenMessage,
    ParserRejection,
    ServerRejection,
    TextWithoutField,
    TokenCounts,
    UnexplainedCount,
    UnofferedCall,
)
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import KINDS, Code
from inspector.analysis.audit.rejection import Rejection, UnsentKind
from inspector.analysis.audit.words import (
    counted,
    ended_words,
    field_words,
    finish_reason_words,
    harmony_words,
    quote,
    special_token_words,
    tokens_words,
)
from inspector.capture.capture import CLOSED_BY, ClosedBy
from inspector.capture.formats import listed

_OFFERED_NAMED: Final = 4
"""Tools of the request that a sentence names; more are counted."""
_IMPLIED: Final = {
    Implied.MESSAGE: "a whole message",
    Implied.HEADER_END: "the end of the open header",
    Implied.MESSAGE_END: "the stop token of the message before it",
    Implied.HEADER_WORDS: "the rest of the header",
}


def title(finding: Finding) -> str:
    """Kind and place, e.g. `dropped tokens 3–4`, `server error, event 5`."""
    label, at = KINDS[finding.kind].label, place(finding)
    if not at:
        return label
    if finding.token_start is None or finding.token_end is None:
        return f"{label}, {at}"
    if finding.token_end == finding.token_start + 1:
        label = label.removesuffix(" token")
    return f"{label} {at}" + ("" if finding.sent else ", not sent")


def place(finding: Finding) -> str:
    """Where a finding is, e.g. `tokens 3–4`, `event 5`; empty where it has no place."""
    if finding.token_start is not None and finding.token_end is not None:
        return _span("token", finding.token_start, finding.token_end)
    if finding.event_start is not None:
        return _span("event", finding.event_start, finding.event_end or finding.event_start + 1)
    return ""


def _span(unit: str, start: int, end: int) -> str:
    return f"{unit} {start:,}" if end - start == 1 else f"{unit}s {start:,}–{end - 1:,}"


def explain(finding: Finding) -> str:
    """What was found, in one or two sentences."""
    facts = finding.facts
    text = quote(finding.generated or finding.delivered or "")
    tokens = _token_words(finding)
    arguments = text if finding.generated else "empty arguments"
    field, arrived = field_words(finding.field), field_words(finding.delivered_in)
    match facts.code:
        case Code.TOKEN_REJECTED | Code.HEADER_REJECTED:
            return _rejected(finding, facts)
        case Code.PROMPT_REJECTED:
            return f"The prompt breaks the format before the completion begins: {facts.words}."
        case Code.SERVER_REJECTED_TOKEN | Code.SERVER_REJECTED_HEADER:
            return _rejected_by_server(finding, facts)
        case Code.TEXT_LOST:
            return f"{text}{tokens} was not delivered in {field}."
        case Code.TEXT_IN_OTHER_FIELD:
            by = ", according to the final object," if finding.by_final else ""
            return f"{text}{tokens} belongs in {field}{by} and was delivered in {arrived}."
        case Code.FRAMING_AS_TEXT:
            return f"{text}{tokens} is outside any message body, but was delivered as text in {arrived}."
        case Code.TEXT_REORDERED:
            return f"{text}{tokens} was delivered in {field} out of order."
        case Code.TEXT_CHANGED:
            return f"{text}{tokens} was delivered as {quote(finding.delivered or '')} in {field}."
        case Code.TEXT_REPEATED:
            span = tokens_words(finding.token_start or 0, finding.token_end or 0)
            return f"{text} was delivered in {field} once more than it was generated; it repeats {span}."
        case Code.TEXT_INVENTED:
            return f"{text} was delivered in {field}, but no token generated it there."
        case Code.EVENT_REPEATED:
            return _repeated(finding, sequence=facts.notice is not None)
        case Code.SEPARATOR_ADDED:
            added = "A line feed" if finding.delivered == "\n" else text
            return (
                f"{added} was delivered in {field} between two messages. No token generated it: this server adds one "
                "between messages."
            )
        case Code.NO_FIELD:
            return f"{text}{tokens} is in {_message(facts)}. The endpoint has no field for it; it was not delivered."
        case Code.NO_FIELD_DELIVERED:
            return f"{text}{tokens} is in {_message(facts)}. The endpoint has no field for it; it was delivered in {arrived}."
        case Code.REJECTED_SILENTLY:
            return (
                f"{text}{tokens} was rejected by the parser. The server reported no error, and the text was not "
                "delivered."
            )
        case (
            Code.TRANSCRIPT_UNPARSED
            | Code.TRANSCRIPT_STRIPPED
            | Code.TOKEN_IN_TEXT
            | Code.TOKEN_IN_NAME
            | Code.HEADER_WORD_IN_NAME
        ):
            return f"{_upper(harmony_words(finding, facts))}."
        case Code.CALL_LOST:
            return (
                f"The call of {quote(facts.name)} with {arguments}{tokens} was not delivered as a tool call."
            )
        case Code.CALL_LEFT_OUT:
            return (
                f"The call of {quote(facts.name)} with {arguments}{tokens} was left out: the request has "
                "parallel_tool_calls: false, so the response has no field for a second call."
            )
        case Code.CALL_AS_TEXT:
            return (
                f"The call of {quote(facts.name)} with {arguments}{tokens} was delivered as text in {arrived}, not "
                "as a tool call."
            )
        case Code.CALL_RENAMED:
            by = " according to the final object" if finding.by_final else ""
            name = quote(finding.generated or "")
            return f"Tool call {facts.call + 1} is named {name}{by}, but was delivered as {quote(finding.delivered or '')}."
        case Code.CALL_NAME_LOST:
            name = quote(finding.generated or "")
            return f"The name {name} of tool call {facts.call + 1} was not delivered, although its arguments were."
        case Code.CALL_NOT_OFFERED:
            return f"The response calls {quote(facts.name)}, but the request offers {_offered(facts)}."
        case Code.CALL_INDEX_UNNAMED:
            return f"Arguments were streamed for tool call index {facts.index}, which was never opened with a name."
        case Code.CALL_INDEX_OUT_OF_PLACE:
            return f"Tool call {facts.call + 1} was delivered under index {facts.index}, out of sequence."
        case Code.ARGUMENTS_BROKEN:
            by = "The final object has valid JSON" if finding.by_final else "The model generated valid JSON"
            return f"{by}, but {field} arrived as invalid JSON: {quote(finding.delivered or '')}."
        case Code.ARGUMENTS_GENERATED_INVALID:
            also = ", in the final object as well" if finding.by_final else ""
            closed_by = (
                "The arguments are not valid JSON" if finding.by_final else "The model generated invalid JSON"
            )
            return f"{closed_by}{also}: {text}."
        case Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN:
            return f"{_upper(field)} are not valid JSON as delivered: {text}. Without token IDs the origin is unknown."
        case Code.FINAL_TEXT_NOT_STREAMED:
            return f"{text} is in the final object, but was not streamed in {field}."
        case Code.FINAL_LACKS_TEXT:
            return f"{text} was streamed in {field}, but the final object does not have it there."
        case Code.FINAL_LACKS_ITEM:
            return f"{text} was streamed in {field}, but the final object has no such item."
        case Code.FINAL_DONE_DIFFERS:
            return f"The .done text of {field} differs from the final object."
        case Code.FINAL_CALL_OF_SPECIAL_TOKEN:
            return (
                f"{quote(facts.detail)} was delivered as a call of {quote(facts.name)}. A special token is "
                "not a tool name: the server misread the header, or the model wrote a malformed one."
            )
        case Code.FINAL_FUNCTION_AS_MCP:
            return (
                f"The call of the function {quote(facts.name)} with {quote(facts.detail)} was delivered as "
                "an mcp_call, which no client runs as a function."
            )
        case Code.CALL_WITHOUT_EVENTS:
            return f"The call of {quote(facts.name)} is in the final object, but no event of the stream reported it."
        case Code.SPECIAL_TOKEN_IN_BODY:
            return f"{_upper(special_token_words(finding, facts))}."
        case Code.CHANNEL_UNKNOWN:
            if facts.channel is None:
                return f"The message{tokens} has no channel; Harmony defines analysis, commentary and final."
            named = quote(facts.channel)
            return f"The message{tokens} is on channel {named}; Harmony defines only analysis, commentary and final."
        case Code.ROLE_UNKNOWN:
            return f"The header of the message{tokens} begins with {quote(facts.role)}, which is neither a role nor a tool."
        case (
            Code.ENDED_IN_REASONING
            | Code.ENDED_WITH_EMPTY_ANSWER
            | Code.ENDED_WITHOUT_TEXT
            | Code.ENDED_WITH_UNSHOWN_CALL
        ):
            return f"The response {ended_words(facts)}."
        case Code.INCOMPLETE_BELOW_LIMIT:
            return (
                f"The server reports the response as incomplete ({facts.reason}), but it has {facts.counted:,} of "
                f"{facts.limit:,} tokens and no output item."
            )
        case Code.SERVER_ERROR:
            return f"The response reports an error: {quote((finding.delivered or '').rstrip('.'), 200)}."
        case Code.CUT:
            return f"The connection ended before {facts.detail}{_words(facts)}."
        case Code.CLOSED_BY_CLIENT | Code.CLOSED_BY_RECORDER:
            return f"{_upper(closed_words(facts))} before {facts.detail}."
        case Code.CUT_AFTER_ERROR:
            return f"The connection was closed after the error{_words(facts)}."
        case Code.INCOMPLETE:
            return f"The server reports the response as incomplete: {facts.reason or 'no reason given'}."
        case Code.LIMIT_REACHED:
            return "The response stops at its token limit (finish_reason: length)."
        case Code.LIMIT_REACHED_UNREPORTED:
            return (
                f"The response used all {facts.limit:,} tokens of max_output_tokens, but its status is completed: it was "
                "most likely cut off (vLLM up to 0.23 does not report that)."
            )
        case Code.OPEN_AT_END:
            return _open_at_end(finding, facts)
        case Code.TEXT_WITHOUT_IDS:
            return (
                f"{text} was delivered in {field_words(finding.field)}, but no token ID accounts for it: the server "
                "added it, or left out its IDs. A token count (usage) would tell which."
            )
        case Code.NO_FINISH_REASON:
            return "No event has a finish_reason, so clients cannot tell whether the response is complete."
        case Code.NO_DONE:
            return "The stream has a finish_reason, but not the event that ends it."
        case Code.COUNT_ABOVE_SENT | Code.COUNT_ABOVE_LOGPROBS | Code.COUNT_BELOW_SENT:
            unknown = "" if facts.code is Code.COUNT_BELOW_SENT else "; the others are unknown"
            return f"The server {counted_and_sent(facts)}{unknown}."
        case Code.COUNT_UNEXPLAINED if finding.reconstructed:
            return _beyond_final(facts)
        case Code.COUNT_UNEXPLAINED:
            missing = facts.counted - facts.seen
            return (
                f"The server counted {facts.counted:,} tokens. The delivered texts and their framing account for about "
                f"{facts.seen:,} (an estimate). The other {missing:,} are lost text, or framing between messages "
                "that the deltas merge."
            )
        case Code.OUT_OF_PROTOCOL:
            repeats = f" ({facts.times:,} times)" if facts.times > 1 else ""
            return f"{_upper(facts.detail)}{repeats}."
        case _:
            assert_never(facts.code)


def _offered(facts: UnofferedCall) -> str:
    names = facts.offered
    if not names:
        return "no tools"
    parts = [quote(name) for name in names[:_OFFERED_NAMED]]
    unnamed = (facts.times or len(names)) - len(parts)
    if unnamed:
        parts.append(counted(unnamed, "other"))
    return f"only {listed(parts)}"


def _beyond_final(facts: UnexplainedCount) -> str:
    """What the server's count has beyond the messages of its final object, and where it may be missing."""
    missing = facts.counted - facts.seen
    amount_open = counted(missing, "token")
    counts = (
        f"The server counted {facts.counted:,} tokens, but the messages of its final object encode to only "
        f"{facts.seen:,}. The other {amount_open} may be in a header, or before, between or after the messages."
    )
    if not facts.fits:
        return counts
    return f"{counts} This would fit: {' or '.join(quote(text) for text in facts.fits)}."


def _token_words(finding: Finding) -> str:
    if finding.token_start is None or finding.token_end is None:
        return ""
    return f" ({tokens_words(finding.token_start, finding.token_end)})"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def closed_words(facts: Disconnection) -> str:
    """Who closed the connection, as a clause."""
    return CLOSED_BY[ClosedBy.CLIENT if facts.code is Code.CLOSED_BY_CLIENT else ClosedBy.RECORDER]


def _words(facts: Disconnection) -> str:
    return f" ({facts.words})" if facts.words else ""


def sent_as(facts: TokenCounts) -> str:
    """What the server sent of its tokens."""
    return "logprob entries" if facts.logprobs else "token IDs"


def counted_and_sent(facts: TokenCounts) -> str:
    """The server's count and what it sent, after "the server"."""
    return f"counted {facts.counted:,} tokens and sent {facts.seen:,} {sent_as(facts)}"


def unended(missing: bool) -> str:
    """What follows the mention of a rejected header if the token that ends it is missing."""
    return "; the <|message|> that ends it was not sent" if missing else ""


def _message(facts: TextWithoutField) -> str:
    parts = [f"role {quote(facts.role or '')}"] if facts.role not in {None, "assistant"} else []
    parts.append(f"channel {quote(facts.channel)}" if facts.channel else "no channel")
    if facts.recipient:
        parts.append(f"recipient {quote(facts.recipient)}")
    return f"a message with {listed(parts)}"


def _repeated(finding: Finding, *, sequence: bool) -> str:
    event = finding.event_start or 0
    proof = "its sequence_number is the same" if sequence else "the server counted its tokens once"
    return f"Events {event - 1:,} and {event:,} are one event that arrived twice: {proof}."


def _open_at_end(finding: Finding, facts: OpenMessage) -> str:
    place = "header" if facts.in_header else "body"
    inside = f"the {place} of a message on the {facts.channel} channel" if facts.channel else f"a {place}"
    why = finish_reason_words(facts.finish_reason)
    if facts.finish_reason == "length":
        why = f"the token limit was reached ({why})"
    return f"The stream ends inside {inside}{_token_words(finding)}; {why}."


def _rejected(finding: Finding, facts: ParserRejection) -> str:
    resumed = (
        f"Parsing resumes at token {facts.resumes_at:,}."
        if facts.resumes_at is not None
        else "No <|start|> follows, so parsing never resumes."
    )
    if facts.code is Code.HEADER_REJECTED:
        blamed = f"{quote(facts.quoted)} in the header" if facts.quoted else "The header"
        return f"{blamed} {quote(finding.generated or '')}{_token_words(finding)} is rejected: {facts.words}. {resumed}"
    expected = "the parser expects <|start|> here" if facts.between else "the parser rejects it here"
    return (
        f"Token {finding.token_start:,} {quote(finding.generated or str(facts.token_id))}: {expected} "
        f"({facts.words}). {resumed}"
    )


def _rejected_by_server(finding: Finding, facts: ServerRejection) -> str:
    if facts.header_sent and facts.missing is Missing.CERTAIN:
        begun = quote(finding.generated or "")
        return (
            f"The header that begins at token {finding.token_start:,} is rejected: {facts.words}. Only {begun} of it "
            "was sent."
        )
    if facts.header_sent:
        blamed = f"{quote(facts.quoted)} in the header" if facts.quoted else "The header"
        return (
            f"{blamed} {quote(finding.generated or '')} (from token {finding.token_start:,}) is rejected: "
            f"{facts.words}. The header is in the stream{unended(not facts.ended)}.{_missing(facts)}"
        )
    if facts.header_sent is False:
        blamed = f" with {quote(facts.quoted)}" if facts.quoted else ""
        sentence = f"The parser rejected a header{blamed}, which was not sent"
    else:
        text = f" {quote(finding.generated)}" if finding.generated else ""
        sentence = (
            f"The parser expected <|start|> and got token ID {facts.token_id}{text}, which was not sent"
        )
    return f"{sentence}: {facts.words}.{_missing(facts)}"


def _missing(facts: ServerRejection) -> str:
    match facts.missing:
        case Missing.NONE:
            return ""
        case Missing.POSSIBLE:
            return " The server sends several tokens per step, so other tokens of the failing step may be missing too."
        case Missing.CERTAIN:
            implied_parts = " and ".join(_IMPLIED[implied] for implied in facts.implied or ())
            return f" Tokens before it were not sent either: at least {implied_parts}."
        case _:
            assert_never(facts.missing)


def unsent_words(stopped: Rejection) -> dict[UnsentKind, str]:
    """What the cells of a rejection say when they are pointed at."""
    implied_parts = " and ".join(_IMPLIED[implied] for implied in stopped.implied)
    return {
        UnsentKind.GAP: f"tokens of this step were not sent: at least {implied_parts}"
        if implied_parts
        else "",
        UnsentKind.TOKEN: "not sent, the parser stopped here",
        UnsentKind.HEADER: "not sent, the parser rejected this header",
    }
