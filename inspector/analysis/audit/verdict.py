"""The verdict: a one-sentence summary of the findings and their evidence, by rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple, assert_never

from inspector.analysis.audit.clauses import (
    LOSSES,
    NEUTRAL,
    error_clause,
    loss_clauses,
    model_clause,
    warning_clause,
)
from inspector.analysis.audit.facts import HarmonyText, Missing, OpenMessage
from inspector.analysis.audit.fields import FieldState, field_texts
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import KINDS, TRANSCRIPTS, Code, FindingSide, Kind, Severity
from inspector.analysis.audit.missing_ids import IdsGap, evidence_hint, ids_hint
from inspector.analysis.audit.outcome import ResponseOutcome, response_outcome
from inspector.analysis.audit.rejection import Rejection
from inspector.analysis.audit.stream_checks import Transmission, transmission_of
from inspector.analysis.audit.wording import unended
from inspector.analysis.audit.words import counted, field_words, joined, quote
from inspector.analysis.reading import Evidence, Reading
from inspector.capture.deltas import REASONING
from inspector.capture.formats import clip, listed
from inspector.protocol.engines import Engine
from inspector.protocol.harmony.reconstruction import Certainty, Reconstruction
from inspector.protocol.wire.excerpt import Excerpt
from inspector.protocol.wire.stream import ServerError


class Level(StrEnum):
    """The worst that was found; `unknown` when the evidence allows no verdict."""

    CLEAN = "clean"
    WARNING = "warning"
    ERROR = "error"
    UNKNOWN = "unknown"


class Clause(NamedTuple):
    """One statement of a verdict, and the findings that it is about."""

    words: str
    """A whole sentence without its full stop."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What happened, in words."""

    level: Level
    sentence: str
    """Who did what."""
    why: str
    """Whose fault it is, and what it was checked against."""
    blame: str = ""
    """The sentence of `why` that says whose fault it is, its first; empty where the evidence does not settle it."""
    outcome: ResponseOutcome = ResponseOutcome.UNKNOWN
    """What became of the response; a response may be complete and have errors of the model."""
    known: str = ""
    """The likeliest known issue and its first step; empty when none is known."""
    clauses: tuple[Clause, ...] = field(default=(), compare=False, repr=False)
    """All clauses, worst first; the sentence consists of the first ones."""


_SHOWN: Final = 3
_MESSAGE_SHOWN: Final = 120
_OTHER_MODELS: Final = "This program checks the streams of gpt-oss models; other models have other tokens."
_OTHER_RESPONSE: Final = (
    "Give the token IDs of this response, all of them: another sampling has other tokens."
)
_HTTP_ERROR: Final = 400
_LOST_ANSWERS: Final = frozenset({Code.TEXT_LOST, Code.CALL_LOST, Code.REJECTED_SILENTLY})
_CUT_SHORT: Final = frozenset({Kind.SERVER_ERROR, Kind.DISCONNECTED, Kind.ABORTED})
_BY_PARSER: Final = frozenset({Code.SERVER_REJECTED_TOKEN, Code.SERVER_REJECTED_HEADER})
_BLIND: Final = frozenset({Evidence.NONE, Evidence.USAGE})
_STREAMED_SINCE: Final = "0.12"
"""First release of vLLM whose streams have the messages of the final object with their texts."""
_WITHOUT_TEXT: Final = "web_search_call"
"""The item of a tool of the server that does not have what the model wrote to it."""
_GAPS: Final[Mapping[IdsGap, str]] = {
    IdsGap.COUNTED: "No loss found, but the server sent only some of its token IDs.",
    IdsGap.HIDDEN: "The server leaves out token IDs that the request hides, so lost text cannot be detected.",
    IdsGap.CHUNKS: "Some chunks of the stream have no token IDs, so lost text cannot be detected.",
    IdsGap.UNEXPLAINED: "Some delivered text has no token IDs, so lost text cannot be detected.",
    IdsGap.RELEASE: "No loss found, but the server sent only some of its token IDs.",
}
_ANALYSIS: Final = "analysis"
_DROPPED_BY: Final = "vLLM before 0.14, Dynamo before June 2026, llama.cpp and vllm-mlx"
"""Who does not deliver a call on that channel: vLLM issue 27641, Dynamo pull request 10366, vllm-mlx pull request 562."""
_LEFT: Final = frozenset({Code.TOKEN_IN_TEXT, Code.TOKEN_IN_NAME, Code.HEADER_WORD_IN_NAME})
_SEPARATES: Final = "separate_reasoning"
"""The key with which SGLang is asked to leave the reasoning in the content."""
_EXCERPTS: Final[Mapping[Excerpt, str]] = {
    Excerpt.BEGINNING: "An excerpt: its first event is not the first of a response",
    Excerpt.INSIDE: "An excerpt: parts of the stream are left out",
    Excerpt.END: "An excerpt, or a stream that broke off: the response does not end here",
}
_UNPRINTED: Final = "An excerpt: the token that ends a turn was not printed"
_EXCERPT_WHY: Final = (
    "To find out more, record the response with `python -m inspector record`, which keeps all of it and how its "
    "connection ended."
)
_BY_COUNT: Final = "Another text of as many tokens cannot be ruled out."
_WARNINGS: Final = (
    Kind.ABORTED,
    Kind.UNSERVED,
    Kind.TRUNCATED,
    Kind.COUNT_MISMATCH,
    Kind.INVALID_TOOL_ARGUMENTS,
    Kind.SPECIAL_TOKEN_IN_BODY,
    Kind.UNOFFERED_CALL,
    Kind.HARMONY_AS_TEXT,
    Kind.NO_ANSWER,
    Kind.ADDED,
    Kind.UNKNOWN_HEADER,
    Kind.PROTOCOL,
)
"""The order in which a verdict mentions warnings."""


def verdict(
    reading: Reading, findings: Sequence[Finding], transmission: Transmission | None = None
) -> Verdict:
    """The verdict of a reading with its findings; `transmission` is computed where it is not passed."""
    transmission = transmission_of(reading) if transmission is None else transmission
    judged = _verdict(reading, findings, transmission)
    outcome = response_outcome(reading, findings, proven=transmission.covered)
    state = _unended(reading)
    if not state or judged.level in {Level.CLEAN, Level.UNKNOWN}:
        return replace(judged, outcome=outcome)
    return replace(judged, outcome=outcome, why=f"{state}. {judged.why}", blame="")


def _excerpt(reading: Reading, excerpt: Excerpt) -> str:
    return _EXCERPTS[excerpt] if reading.spec.delivers else _UNPRINTED


def _unended(reading: Reading) -> str:
    """The state of a response that did not end, or whose recording did not; empty for others."""
    if reading.excerpt is not None and not reading.unread:
        return _excerpt(reading, reading.excerpt)
    unfinished = not reading.ended and reading.stream.terminal_event is None
    if not (reading.stopped or unfinished) or reading.unread:
        return ""
    count = len(reading.choice.tokens)
    after = f" after {counted(count, 'token')}" if count else ""
    return f"{'Stopped by you' if reading.stopped else 'Unfinished'}{after}"


def _verdict(reading: Reading, findings: Sequence[Finding], transmission: Transmission) -> Verdict:
    """The verdict without its outcome; the order is that of what each step needs to be true.

    Without a completely read response of a known model nothing can be said. A finding stands without evidence
    of the whole response. The absence of findings needs it, so what that evidence lacks comes before "clean".
    """
    if reading.unread:
        why = "A difference may be in the part that was not read, so there is no verdict."
        return Verdict(level=Level.UNKNOWN, sentence=reading.unread, why=why)
    if foreign := reading.foreign:
        given = reading.choice.evidence is Evidence.GIVEN_IDS
        return Verdict(level=Level.UNKNOWN, sentence=foreign, why=_OTHER_RESPONSE if given else _OTHER_MODELS)
    if statements := _clauses(reading, findings, transmission.errors):
        if transmission.covered and all(finding.kind is Kind.PROTOCOL for finding in findings):
            first = statements[0]
            statements[0] = first._replace(words=f"the texts are complete, but {first.words}")
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        model, server = _at_fault(reading, findings, errors)
        blame = _blame(model=model, server=server, gateway=reading.gateway)
        gateway = reading.gateway if server else None
        other_fault = (
            ""
            if gateway is None
            else f" To tell server and proxy apart, ask the server without {gateway.label}."
        )
        return Verdict(
            level=Level.ERROR if errors else Level.WARNING,
            sentence=" ".join(
                f"{clause.words[0].upper()}{clause.words[1:]}." for clause in statements[:_SHOWN]
            ),
            why=f"{blame} {_why(reading, findings, transmission)}{other_fault}".lstrip(),
            blame=blame,
            clauses=tuple(statements),
        )
    if reading.excerpt is not None:
        no_loss = (
            "nothing wrong was found in it"
            if transmission.gap or not (reading.choice.has_ids and reading.spec.delivers)
            else "nothing was lost until then"
        )
        return Verdict(
            level=Level.UNKNOWN,
            sentence=f"{_excerpt(reading, reading.excerpt)}; {no_loss}.",
            why=_EXCERPT_WHY,
        )
    blind = [choice for choice in reading.choices if choice.evidence in _BLIND]
    unproven = reading.stream.final_object is not None or reading.choice.evidence is Evidence.FINAL_OBJECT
    if unproven and not reading.choice.has_ids and reading.choice.rebuilt is None:
        arrived = reading.stream.final_object is not None
        return Verdict(
            level=Level.UNKNOWN,
            sentence=_unproven(reading, arrived=arrived),
            why=_why_unproven(reading, reading.choice.reconstruction)
            if arrived
            else "The final object has not arrived.",
        )
    if blind:
        of_choice = "" if len(blind) == len(reading.choices) else f" for choice {blind[0].index}"
        return Verdict(
            level=Level.UNKNOWN,
            sentence=f"This capture has no token evidence{of_choice}, so lost text cannot be detected.",
            why=evidence_hint(reading),
        )
    if transmission.gap is not None:
        sentence = _GAPS[transmission.gap]
        return Verdict(level=Level.UNKNOWN, sentence=sentence, why=evidence_hint(reading))
    checked = _checked(reading, transmission.errors)
    if reading.choice.evidence is Evidence.FINAL_OBJECT_AND_COUNT:
        return Verdict(level=Level.UNKNOWN, sentence=_count_agrees(reading), why=f"{checked} {_BY_COUNT}")
    if state := _unended(reading):
        level = Level.CLEAN if reading.stopped else Level.UNKNOWN
        return Verdict(level=level, sentence=f"{state}; nothing was lost until then.", why=checked)
    return Verdict(level=Level.CLEAN, sentence=_clean(reading), why=f"{checked}{_elsewhere(reading)}")


def _count_agrees(reading: Reading) -> str:
    texts = (
        "The texts of the response"
        if reading.stream.bodies
        else "The deltas match the final object, whose texts"
    )
    return f"{texts} encode to as many tokens as the server counted."


def _clauses(
    reading: Reading, findings: Sequence[Finding], server_errors: Sequence[ServerError]
) -> list[Clause]:
    """What happened, worst first: an error that the client saw, a loss, tokens that break the format."""
    if not findings:
        return []
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    first, *rest = _errors(reading, errors, server_errors) if errors else _warnings(findings)
    if _nothing_delivered(reading, findings):
        first = first._replace(words=f"the client received no answer and no tool call: {first.words}")
    return [first, *rest]


def _nothing_delivered(reading: Reading, findings: Sequence[Finding]) -> bool:
    """Whether the whole answer is lost, without an error from the server."""
    kinds = {finding.kind for finding in findings}
    lost = any(finding.code in _LOST_ANSWERS and finding.field != REASONING for finding in findings)
    if reading.spec.raw or not lost or not reading.ended or not kinds.isdisjoint(_CUT_SHORT):
        return False
    return not any(
        delivered.content.strip()
        or delivered.tool_calls
        or any(delivered.other.values())
        or any(field != REASONING for field in choice.finals)
        for choice in reading.choices
        for delivered in (choice.delivered(),)
    )


def _code_of_body(errors: Sequence[ServerError]) -> int | None:
    """The code in an error body: vLLM writes the HTTP status there, which a saved body does not show."""
    codes = (error.code for error in errors)
    return next((code for code in codes if type(code) is int and _HTTP_ERROR <= code < 600), None)


def _errors(
    reading: Reading, errors: Sequence[Finding], server_errors: Sequence[ServerError]
) -> list[Clause]:
    statements: list[Clause] = []
    reported = [finding for finding in errors if finding.kind is Kind.SERVER_ERROR]
    if reported:
        message = (reported[0].delivered or "").strip()
        clipped = clip(message, _MESSAGE_SHOWN)
        status = reading.header.status
        error_status = status if status is not None and status >= _HTTP_ERROR else None
        streamed = reported[0].event_start not in reading.stream.bodies
        code = None if streamed else _code_of_body(server_errors)
        parsing = any(finding.code in _BY_PARSER for finding in errors)
        words = error_clause(clipped, status=error_status, code=code, streamed=streamed, parsing=parsing)
        statements.append(Clause(words, tuple(reported)))
    for neutral, clause_words in NEUTRAL.items():
        if group := tuple(error for error in errors if error.code is neutral):
            statements.append(Clause(clause_words(group), group))
    text = [
        error for error in errors if KINDS[error.kind].side is FindingSide.TEXT and error.code not in NEUTRAL
    ]
    text = text or [finding for finding in errors if finding.kind is Kind.INVALID_TOOL_ARGUMENTS]
    if lost := loss_clauses(text):
        sender = "the server" if reading.gateway is None else "the server or the proxy"
        text.sort(key=lambda finding: LOSSES.index(finding.kind) if finding.kind in LOSSES else len(LOSSES))
        statements.append(Clause(f"{sender} {joined(lost[:_SHOWN])}", tuple(text)))
    prompt = [finding for finding in errors if finding.code is Code.PROMPT_REJECTED]
    if prompt:
        statements.append(Clause("the prompt breaks the format before the completion begins", tuple(prompt)))
    rejected = [
        finding
        for finding in errors
        if KINDS[finding.kind].side is FindingSide.MODEL and finding not in prompt
    ]
    if rejected:
        parses = reading.spec.parsed
        silent = ", and the server did not report it" if parses and not reported else ""
        statements.append(Clause(f"the model {model_clause(rejected)}{silent}", tuple(rejected)))
    cut = [finding for finding in errors if finding.kind is Kind.DISCONNECTED]
    if cut:
        statements.append(Clause(KINDS[Kind.DISCONNECTED].clause, tuple(cut)))
    return statements or _warnings(errors)


def _warnings(findings: Sequence[Finding]) -> list[Clause]:
    order = [*_WARNINGS, *(kind for kind in Kind if kind not in _WARNINGS)]
    groups = {kind: tuple(finding for finding in findings if finding.kind is kind) for kind in order}
    return [Clause(warning_clause(kind, group), group) for kind, group in groups.items() if group]


def _unproven(reading: Reading, *, arrived: bool) -> str:
    if not arrived:
        return "The response has not ended, so whether it is complete is unknown."
    if reading.stream.bodies:  # a response that is not streamed has no deltas
        return "Whether this response is complete is unknown."
    return "The deltas match the final object, but it is unknown whether that is complete."


def _clean(reading: Reading) -> str:
    choice = reading.choice
    if not reading.spec.delivers:
        return f"The tokens are well-formed Harmony: {counted(len(choice.transcript.messages), 'message')}."
    fieldless = [
        row.field
        for choice in reading.choices
        if not choice.has_ids or any(segment.field is None for segment in choice.expected.segments)
        for row in field_texts(reading, choice, (), ids_missing=False)
        if row.state is FieldState.NO_FIELD
    ]
    if fieldless:
        fields = listed([field_words(field) for field in dict.fromkeys(fieldless)])
        return f"Everything that the model generated was delivered; text without an API field arrived in {fields}."
    return "Everything that the model generated was delivered, each text in its field."


def _elsewhere(reading: Reading) -> str:
    """What other servers would make of a response that is whole here: some know calls on commentary only."""
    names = [
        call.name
        for choice in reading.choices
        if choice.has_ids
        for call in choice.expected.calls
        if choice.transcript.messages[call.message].header.channel == _ANALYSIS
    ]
    if not names:
        return ""
    return f" The call of {quote(names[0])} is on the analysis channel: {_DROPPED_BY} drop or refuse it."


def _checked(reading: Reading, errors: Sequence[ServerError]) -> str:
    """What the verdict was checked against."""
    evidence, count = reading.choice.evidence, len(reading.choice.tokens)
    match evidence:
        case Evidence.TOKEN_IDS:
            return f"Checked against {counted(count, 'token ID')}."
        case Evidence.GIVEN_IDS:
            return f"Checked against {counted(count, 'token ID')} known from outside the stream."
        case Evidence.LOGPROBS:
            return f"Checked against {counted(count, 'logprob entry', 'logprob entries')}."
        case Evidence.FINAL_OBJECT_AND_COUNT:
            reconstruction = reading.choice.reconstruction
            number = 0 if reconstruction is None else reconstruction.counted or 0
            if reading.stream.bodies:
                return f"Checked against the server's count of {counted(number, 'token')}."
            return f"Checked against the server's final object and its count of {counted(number, 'token')}."
        case Evidence.FINAL_OBJECT:
            return "Checked against the server's final object; text missing there too cannot be detected."
        case Evidence.USAGE:
            return "No token IDs: only the delivered text and the server's token counts are known."
        case Evidence.NONE:
            if reading.stream.bodies and not reading.choice.deltas and errors:
                return "Nothing but the error is known."
            return "No token IDs: only the delivered text is known."
        case _:
            assert_never(evidence)


def _why_unproven(reading: Reading, reconstruction: Reconstruction | None) -> str:
    """Why a final object that equals the deltas does not settle it, and what would."""
    if reading.stream.counted is None:
        return "The final object has no token count (usage) to check it against."
    if reconstruction is None:
        return _missing_texts(reading)
    if reconstruction.missing and reconstruction.certainty is Certainty.DIFFERS:
        way = "more" if reconstruction.missing > 0 else "fewer"
        header_word = next((fit.what for fit in reconstruction.fits if fit.untold), None)
        if header_word is not None:
            return (
                f"The server counted {counted(reconstruction.missing, 'token')} more than its texts encode to. “{header_word}” in a "
                f"header would explain it. {_to_find_out(reading)}"
            )
        return (
            f"The server counted {counted(abs(reconstruction.missing), 'token')} {way} than the {len(reconstruction.ids):,} that its texts "
            "encode to; a model may sample other tokens for the same text."
        )
    return (
        "A text contains U+FFFD in place of a truncated character, which takes one to three tokens, so the server's "
        f"count does not rule out that other text is missing. Token IDs would. {reading.engine.ids_hint()}"
    )


def _missing_texts(reading: Reading) -> str:
    """Why neither messages nor items say what the model wrote, and what would."""
    final = reading.stream.final_object or {}
    output = final.get("output")
    items = output if isinstance(output, list) else []
    messages = final.get("output_messages")
    if any(isinstance(item, dict) and item.get("type") == _WITHOUT_TEXT for item in items):
        omitted = f"the {_WITHOUT_TEXT} item does not have the text that the model wrote to the tool"
    elif messages:
        omitted = "the items are not the same messages in the same order"
    else:
        omitted = "the items do not tell what the model wrote to the tools of the server"
    if not messages:
        return f"{omitted[0].upper()}{omitted[1:]}. {_to_find_out(reading)}"
    return f"The messages in `output_messages` have no texts, and {omitted}. {_to_find_out(reading)}"


def _to_find_out(reading: Reading) -> str:
    """How to get the messages with their texts."""
    messages = (reading.stream.final_object or {}).get("output_messages")
    if not messages and reading.header.request.get("enable_response_messages") is not True:
        return reading.engine.asking(reading.spec)
    if not messages:
        return (
            "The request asks for the messages (`enable_response_messages`), but the response has none. To find "
            "out, send it to a release that returns them."
        )
    if reading.stream.bodies:
        release = reading.engine.or_newer(_STREAMED_SINCE, reading.server_version)
        return (
            "vLLM up to 0.19 leaves them empty in responses that are not streamed. To find out, send the request "
            f"with `stream: true`{f', to {release}' if release else ''}."
        )
    return "vLLM up to 0.11 leaves them empty. To find out, send the request to a newer release."


def _why(reading: Reading, findings: Sequence[Finding], transmission: Transmission) -> str:
    """Whose doing it is and how that is known, from the strongest evidence to the weakest.

    First what the server says itself: its parser's words, or its silence. Then what token IDs show, of the
    model before the server, as a broken stream explains a loss after it. Then what the texts alone show.
    """
    kinds = {finding.kind for finding in findings}
    checked = _checked(reading, transmission.errors)
    if transmission.rejection is not None:
        return f"{_rejection_words(transmission.rejection, streamed=not reading.stream.bodies)} {checked}"
    if (
        Kind.DISCONNECTED in kinds
        and not transmission.errors
        and reading.header.endpoint in reading.engine.silent
    ):
        return (
            "The server sent no error message, so the cause cannot be determined here; its log has "
            f"the traceback. {checked}"
        )
    texts = [finding for finding in findings if KINDS[finding.kind].side is FindingSide.TEXT]
    if texts and all(finding.code is Code.EVENT_REPEATED for finding in texts):
        return f"The server, or a proxy in front of it, sent it again; the model did not. {checked}"
    lost = bool(texts)
    if reading.choice.has_ids:
        rejected = next(
            (finding for finding in findings if KINDS[finding.kind].side is FindingSide.MODEL), None
        )
        if rejected is not None:
            breaks = "prompt breaks" if rejected.code is Code.PROMPT_REJECTED else "model's tokens break"
            return f"The {breaks} the format: {rejected.delivered}. {checked}"
        if lost:
            if _header_as_text(findings):
                return f"The model's stream ends inside a header, whose text is not for the client. {checked}"
            return f"The model's stream is well formed. {checked}"
    codes = {finding.code for finding in findings}
    if codes & TRANSCRIPTS:
        return f"{_of_transcript(reading, findings)}{checked}"
    if left := codes & _LEFT:
        possible_causes = (
            "The server let it through, or the model wrote it as text"
            if left == {Code.TOKEN_IN_TEXT}
            else "The server misread a header, or the model wrote a malformed one"
        )
        return f"{possible_causes}: token IDs show which. {checked} {ids_hint(reading)}"
    if _misfiled_at_the_end(reading, findings):
        return f"The final object has it too: the server misread a header, or the model wrote a malformed one. {checked}"
    if kinds == {Kind.ABORTED} and reading.choice.has_ids:
        return f"Nothing was lost until then. {checked}"
    if kinds and kinds <= {Kind.SPECIAL_TOKEN_IN_BODY, Kind.NO_ANSWER, Kind.ADDED}:
        complete = reading.choice.has_ids or reading.choice.evidence is Evidence.FINAL_OBJECT_AND_COUNT
        return f"Nothing was lost. {checked}" if complete else checked
    if lost and reading.stream.bodies:
        return f"The items of the response do not agree with the channels of its messages. {checked}"
    if lost:
        return f"The final object is complete; only the streamed deltas lost text. {checked}"
    return checked


def _of_transcript(reading: Reading, findings: Sequence[Finding]) -> str:
    """What the messages in a delivered text show of the model, and whether the request asks for them."""
    if reading.header.request.get(_SEPARATES) is False:
        return f"The request asks for it with `{_SEPARATES}: false`. "
    well_formed = {
        finding.facts.well_formed for finding in findings if isinstance(finding.facts, HarmonyText)
    }
    if False in well_formed:
        return "What the model wrote breaks the format too. "
    return "What the model wrote is well-formed. " if True in well_formed else ""


def _at_fault(reading: Reading, findings: Sequence[Finding], errors: Sequence[Finding]) -> tuple[bool, bool]:
    """Whether errors are the model's and the server's; neither if a proxy, the prompt or a header may be."""
    codes = {finding.code for finding in findings}
    if Code.PROMPT_REJECTED in codes or _header_as_text(findings) or _misfiled_at_the_end(reading, findings):
        return False, False
    if codes & TRANSCRIPTS and reading.header.request.get(_SEPARATES) is False:
        return False, False
    sides = {KINDS[finding.kind].side for finding in errors if finding.code not in NEUTRAL}
    model = FindingSide.MODEL in sides
    server = FindingSide.TEXT in sides or Code.REJECTED_SILENTLY in codes
    return model, server


def _blame(*, model: bool, server: bool, gateway: Engine | None) -> str:
    """Whose fault it is, one sentence; empty for nobody's."""
    server_s = "server's" if gateway is None else "server's or the proxy's"
    if model:
        return f"The model's and the {server_s} fault." if server else "The model's fault."
    return f"The {server_s} fault." if server else ""


def _header_as_text(findings: Sequence[Finding]) -> bool:
    """Whether all that is wrong with the texts is that the header in which the stream ends was delivered."""
    texts = [finding for finding in findings if KINDS[finding.kind].side is FindingSide.TEXT]
    in_header = any(
        isinstance(finding.facts, OpenMessage) and finding.facts.in_header for finding in findings
    )
    return in_header and bool(texts) and all(finding.code is Code.FRAMING_AS_TEXT for finding in texts)


def _misfiled_at_the_end(reading: Reading, findings: Sequence[Finding]) -> bool:
    """Whether the final object has a text in the wrong field too."""
    final = reading.stream.final_event
    return final is not None and any(
        finding.kind is Kind.MISROUTED and finding.event_start == final for finding in findings
    )


def _rejection_words(rejection: Rejection, *, streamed: bool) -> str:
    """Where the rejected token or header is: in the stream or not, which depends on what was rejected."""
    if not streamed and not rejection.sent:
        return "The response was not streamed: where its parser fails, the server sends no token of it."
    if rejection.header is not None:
        start = rejection.header[0]
        if rejection.missing is Missing.CERTAIN:
            return (
                f"The rejected header starts at token {start:,} of the stream; the rest of it was not sent."
            )
        return (
            f"The rejected header starts at token {start:,} of the stream{unended(bool(rejection.unsent))}."
        )
    rejected_part = "header" if rejection.error.reason.in_header else "token"
    if rejection.missing is Missing.CERTAIN:
        return (
            f"The server sends nothing of the step in which its parser fails: the rejected {rejected_part} and the "
            "tokens before it in that step are not in the stream."
        )
    return f"The server does not send the {rejected_part} that its parser rejects: it is not in the stream."
