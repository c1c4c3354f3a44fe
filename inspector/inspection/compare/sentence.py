"""The sentence that sums up a comparison, by rules: which side is at fault, and where it begins."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, assert_never

from inspector.analysis.audit import KINDS, Finding, FindingSide, Kind, Rejection, Severity, kinds_of
from inspector.analysis.audit.clauses import loss_clauses
from inspector.analysis.audit.missing_ids import ids_hint
from inspector.analysis.audit.verdict import Level
from inspector.analysis.audit.words import field_words, quote
from inspector.analysis.prompt import first_difference, known_ids
from inspector.analysis.reading import Reading
from inspector.capture.formats import listed
from inspector.inspection.compare.comparison import ChoiceComparison, Divergence, Outcome
from inspector.inspection.compare.joining import JoinedBy
from inspector.inspection.compare.matching import FindingPairs
from inspector.inspection.compare.passing import Passing, PassingOutcome
from inspector.inspection.compare.settings import Setting
from inspector.inspection.inspection import Inspection
from inspector.protocol.harmony.text import text_of

_SERVERS: Final = kinds_of(FindingSide.TEXT, FindingSide.ABORT)
"""Kinds that a server causes, whatever the model emitted."""

_MODELS: Final = kinds_of(FindingSide.MODEL)
_BROKEN_OFF: Final = frozenset({Kind.SERVER_ERROR, Kind.DISCONNECTED, Kind.ABORTED})

_BY_IDS: Final = "Compared by the token IDs of both sides."
_BY_FINALS: Final = (
    "Compared by the final objects. Without token IDs, text missing on both sides cannot be detected."
)


class Judgement(NamedTuple):
    """What the comparison says."""

    outcome: Outcome
    sentence: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Everything that the sentence depends on."""

    left: Inspection
    right: Inspection
    choices: Sequence[ChoiceComparison]
    findings: FindingPairs
    settings: Sequence[Setting]

    @property
    def by_token(self) -> bool:
        """True when both sides have ids."""
        return all(choice.tokens is not None for choice in self.choices)

    @property
    def apart(self) -> list[str]:
        """Fields that were delivered with other texts."""
        unequal = {pair.field for choice in self.choices for pair in choice.delivered if pair.equal is False}
        return [field_words(field) for field in sorted(unequal)]

    @property
    def shared(self) -> str:
        """What both servers did wrong."""
        return _clauses([finding for finding, _ in self.findings.both if finding.severity is Severity.ERROR])


def labels(left: Inspection, right: Inspection) -> tuple[str, str]:
    """Names of the sides: their versions if these differ."""
    left_version, right_version = left.reading.server_version, right.reading.server_version
    if left_version and right_version and left_version != right_version:
        return left_version, right_version
    return "the left server", "the right server"


def judge(pair: Pair) -> Judgement:
    """The outcome in words: tokens first, as a different delivery is the server's only if they are equal."""
    same_tokens = [choice.same_generated for choice in pair.choices]
    if (judgement := _nothing_delivered(pair)) is not None:
        return judgement
    if None in same_tokens or (False in same_tokens and not pair.by_token):
        return _unknown(pair, same_tokens)
    if False in same_tokens:
        if (cut := _gave_up(pair)) is not None:
            return cut
        return _unknown(pair, same_tokens) if _may_be_the_same(pair) else _other_tokens(pair)
    if pair.findings.equal and not pair.apart:
        return _same_judgement(pair)
    if (judgement := _stopped_apart(pair)) is not None:
        return judgement
    subject = "The tokens are the same" if pair.by_token else "The servers' final texts are the same"
    return Judgement(Outcome.DELIVERY, f"{subject}; {_delivery_words(pair)}.", _delivery_why(pair))


def judge_gateway(
    server_side: Inspection,
    client_side: Inspection,
    passed: Passing,
    joined_by: JoinedBy,
    *,
    server_first: bool,
) -> Judgement:
    """At which hop a response of which both sides of a gateway are known lost something."""
    gateway = client_side.reading.gateway
    name = "The gateway" if gateway is None else gateway.label
    of_server = server_side.verdict
    match passed.outcome:
        case PassingOutcome.SAME:
            at = f"{name} passed the response on with the same texts"
            words = f" ({passed.words})" if passed.words else ""
            server = "" if of_server.level is Level.CLEAN else f" Before it: {of_server.sentence}"
            sentence = f"{at}{words}.{server}"
        case PassingOutcome.REJECTED:
            sentence = f"{name} rejected the request without asking the server: {passed.words}."
        case PassingOutcome.ERROR:
            sentence = f"{name} turned the response into an error: {passed.words}."
        case PassingOutcome.LOST:
            sentence = f"{name} lost a part of the response: {passed.words}."
        case PassingOutcome.CHANGED:
            sentence = f"{name} changed the response: {passed.words}."
        case _:
            assert_never(passed.outcome)
    left, right = ("server", "gateway") if server_first else ("gateway", "server")
    why = f"Joined by {joined_by}: left from the {left}, right from the {right}."
    if passed.outcome is not PassingOutcome.SAME:
        why += f" The server's response: {of_server.sentence}"
    same = passed.outcome is PassingOutcome.SAME
    return Judgement(Outcome.SAME if same else Outcome.DELIVERY, sentence, why)


def _same_judgement(pair: Pair) -> Judgement:
    subject = "The tokens are the same" if pair.by_token else "The servers' final texts are the same"
    if not (pair.left.reading.spec.delivers and pair.right.reading.spec.delivers):
        return Judgement(
            Outcome.SAME, f"{subject}.", "A list of token IDs contains no delivered text to compare."
        )
    shared = f"; both servers {pair.shared}" if pair.shared else ""
    why = _BY_IDS if pair.by_token else _BY_FINALS
    if shared and pair.left.reading.server_version != pair.right.reading.server_version:
        why = f"The version makes no difference here. {why}"
    return Judgement(Outcome.SAME, f"{subject}, and so is the delivered text{shared}.", why)


def _delivery_words(pair: Pair) -> str:
    """Who lost what; errors of one side only come first."""
    names = labels(pair.left, pair.right)
    left_clauses, right_clauses = (
        _clauses(_faults(errors)) for errors in (pair.findings.errors_left, pair.findings.errors_right)
    )
    if left_clauses and right_clauses:
        return f"{names[0]} {left_clauses}, and {names[1]} {right_clauses}"
    if left_clauses or right_clauses:
        return f"only {names[0] if left_clauses else names[1]} {left_clauses or right_clauses}"
    if pair.apart:
        return f"the delivery differs in {listed(pair.apart)}, but neither server lost anything"
    one_sided = (*pair.findings.only_left, *pair.findings.only_right)
    return f"the delivered texts are the same too, and only the findings differ ({_kinds(one_sided)})"


def _faults(errors: Sequence[Finding]) -> list[Finding]:
    """Errors of the server. Equal tokens contain the model's errors on both sides, reported or not."""
    return [finding for finding in errors if finding.kind not in _MODELS]


def _delivery_why(pair: Pair) -> str:
    endpoints = [inspection.reading.header.endpoint for inspection in (pair.left, pair.right)]
    if endpoints[0] is not endpoints[1]:
        return (
            f"The endpoints ({listed([str(endpoint) for endpoint in endpoints])}) have different fields: "
            "compare the findings of each side."
        )
    left_faults, right_faults = (
        _faults(errors) for errors in (pair.findings.errors_left, pair.findings.errors_right)
    )
    if left_faults and right_faults:
        fault = "Each server has its own fault."
    elif left_faults or right_faults:
        fault = "The model did the same on both sides, so the fault is the server's."
    else:
        fault = "The servers handle the same tokens differently."
    if pair.shared:
        fault += f" Both servers {pair.shared}."
    return f"{fault} {_BY_IDS if pair.by_token else _BY_FINALS}"


def _may_be_the_same(pair: Pair) -> bool:
    """Whether IDs that a server did not send may be all that differs."""
    left_missing, right_missing = (side.transmission.ids_missing for side in (pair.left, pair.right))
    if left_missing and right_missing:
        return True
    if not (left_missing or right_missing):
        return False
    fewer, more = (pair.left, pair.right) if left_missing else (pair.right, pair.left)
    return all(
        _is_within(part.tokens.ids, whole.tokens.ids)
        for part, whole in zip(fewer.reading.choices, more.reading.choices, strict=False)
    )


def _is_within(part: Sequence[int], whole: Sequence[int]) -> bool:
    """Whether `part` is `whole` with some left out."""
    rest = iter(whole)
    return all(token_id in rest for token_id in part)


def _gave_up(pair: Pair) -> Judgement | None:
    """Streams that agree until one server stops: its later tokens are unknown, not different."""
    place = next(choice.divergence for choice in pair.choices if choice.divergence is not None)
    cut = [
        name
        for name, inspection in zip(labels(pair.left, pair.right), (pair.left, pair.right), strict=True)
        if _token(inspection, place) is None
        and any(finding.kind in _BROKEN_OFF for finding in inspection.findings)
    ]
    if len(cut) != 1 or sum(choice.same_generated is False for choice in pair.choices) != 1:
        return None
    why = f"The tokens of {cut[0]} from token {place.token:,} on are unknown, not different."
    errors = (*pair.findings.errors_left, *pair.findings.errors_right)
    if not errors and any(
        finding.kind is Kind.ABORTED for finding in (*pair.left.findings, *pair.right.findings)
    ):
        sentence = (
            f"The tokens are the same up to token {place.token:,}, where {cut[0]} was left by its client."
        )
        return Judgement(Outcome.UNKNOWN, sentence, why)
    rejected = [
        next((finding.delivered for finding in one_sided if finding.kind in _MODELS), None)
        for one_sided in (pair.findings.only_left, pair.findings.only_right)
    ]
    if None not in rejected and rejected[0] != rejected[1]:
        left, right = (quote(words or "") for words in rejected)
        why += (
            f" The parser errors differ: {left} on the left, {right} on the right. "
            f"{cause(pair.left.reading, pair.right.reading, pair.settings)}"
        )
    elif any(rejected):
        why += f" The other stream shows the model's format error: {next(filter(None, rejected))}."
    else:
        why += f" {_delivery_why(pair)}"
    return Judgement(
        Outcome.DELIVERY,
        f"The tokens are the same up to token {place.token:,}, where {cut[0]} stops; "
        f"{_delivery_words(pair)}.",
        why,
    )


def _stopped_apart(pair: Pair) -> Judgement | None:
    """Streams with the same sent tokens that both end at a rejection, but not at the same one."""
    left, right = pair.left.rejection, pair.right.rejection
    if left is None or right is None or left.choice != right.choice or _rejected(left) == _rejected(right):
        return None
    choice = f" of choice {left.choice}" if left.choice else ""
    headers = [rejection.error.reason.in_header for rejection in (left, right)]
    parts = "headers" if all(headers) else "tokens or headers" if any(headers) else "tokens"
    sentence = (
        f"The tokens sent are the same up to token {left.sent:,}{choice}, where both servers stop at "
        f"different rejected {parts}: {_rejected(left)} on the left, {_rejected(right)} on the right"
    )
    unsent = f"Neither server sent the rejected {parts}." if left.unsent and right.unsent else ""
    why = (cause(pair.left.reading, pair.right.reading, pair.settings), unsent, _BY_IDS)
    return Judgement(
        Outcome.TOKENS,
        "; ".join([sentence, *_also(pair, _SERVERS - _BROKEN_OFF)]) + ".",
        " ".join(filter(None, why)),
    )


def _rejected(stopped: Rejection) -> str:
    token_id = stopped.error.token_id
    if token_id is not None:
        return quote(text_of([token_id]) or str(token_id), 24)
    return (
        f"a header with {quote(stopped.error.quoted, 24)}" if stopped.error.quoted else quote(stopped.words)
    )


def _also(pair: Pair, kinds: Collection[Kind]) -> list[str]:
    """What each server did besides, a clause for each that did something."""
    errors = (pair.findings.errors_left, pair.findings.errors_right)
    return [
        f"{name} also {words}"
        for name, one_sided in zip(labels(pair.left, pair.right), errors, strict=True)
        if (words := _clauses([finding for finding in one_sided if finding.kind in kinds]))
    ]


def _other_tokens(pair: Pair) -> Judgement:
    place = next(choice.divergence for choice in pair.choices if choice.divergence is not None)
    sentence = "; ".join([_divergence_words(pair, place), *_also(pair, _SERVERS)])
    return Judgement(
        Outcome.TOKENS, f"{sentence}.", cause(pair.left.reading, pair.right.reading, pair.settings)
    )


def _divergence_words(pair: Pair, place: Divergence) -> str:
    left, right = (_token(inspection, place) for inspection in (pair.left, pair.right))
    token = f"token {place.token:,}" + (f" of choice {place.choice}" if place.choice else "")
    if left is None or right is None:
        short, long = ("left", "right") if left is None else ("right", "left")
        return (
            f"The tokens are the same, but the {short} stream ends before {token}; the {long} one continues"
        )
    return f"The tokens differ from {token} on: {left} on the left, {right} on the right"


def _token(inspection: Inspection, place: Divergence) -> str | None:
    choice = next((choice for choice in inspection.reading.choices if choice.index == place.choice), None)
    if choice is None or place.token >= len(choice.tokens):
        return None
    token_id = choice.tokens.ids[place.token]
    return quote(text_of([token_id]) or str(token_id), 24)


def _nothing_delivered(pair: Pair) -> Judgement | None:
    """Responses of which one failed before its first token: there is nothing to compare it with."""
    names = ("left", "right")
    empty = [
        (name, inspection)
        for name, inspection in zip(names, (pair.left, pair.right), strict=True)
        if any(finding.kind in _BROKEN_OFF for finding in inspection.findings)
        and not any(choice.tokens or choice.deltas or choice.finals for choice in inspection.reading.choices)
    ]
    if not empty or any(choice.same_generated is not None for choice in pair.choices):
        return None
    subject = "Neither server" if len(empty) == 2 else f"The {empty[0][0]} server"
    verb = "delivered anything" if len(empty) == 2 else "delivered nothing"
    return Judgement(
        Outcome.UNKNOWN,
        f"{subject} {verb}, so there is nothing to compare.",
        " ".join(f"{name.capitalize()}: {inspection.verdict.sentence}" for name, inspection in empty),
    )


def _unknown(pair: Pair, same_tokens: Sequence[bool | None]) -> Judgement:
    unequal = [
        field_pair.field
        for choice in pair.choices
        for field_pair in choice.generated
        if field_pair.equal is False
    ]
    if len(pair.left.reading.choices) != len(pair.right.reading.choices):
        subject = "The two responses have different numbers of choices"
    elif None in same_tokens or not unequal or pair.by_token:
        subject = "It is unknown whether the tokens are the same"
    else:
        fields = listed([field_words(field) for field in dict.fromkeys(unequal)])
        subject = f"The final texts differ in {fields}, and it is unknown whether model or server caused this"
    texts = (
        f"the delivered texts differ in {listed(pair.apart)}"
        if pair.apart
        else "the delivered texts are the same"
    )
    blind = {
        name: inspection.reading
        for name, inspection in (("left", pair.left), ("right", pair.right))
        if inspection.transmission.ids_missing
        or not all(choice.has_ids for choice in inspection.reading.choices)
    }
    lacks = "do not have all token IDs" if len(blind) == 2 else "does not have all token IDs"
    if not pair.by_token:
        lacks = f"{'has' if len(blind) == 1 else 'have'} no token IDs"
    why = (
        f"The {' and the '.join(blind)} capture {lacks}. "
        + " ".join(dict.fromkeys(map(ids_hint, blind.values())))
        if blind
        else "Compare responses to the same request."
    )
    return Judgement(Outcome.UNKNOWN, f"{subject}; {texts}.", why)


def _clauses(errors: Sequence[Finding]) -> str:
    """Errors as what a server did, e.g. `lost 2 tokens of the reasoning and closed the connection early`."""
    clauses = loss_clauses(errors)
    kinds = {finding.kind for finding in errors}
    if Kind.SERVER_ERROR in kinds:
        clauses.append("sent an error")
    if Kind.DISCONNECTED in kinds:
        clauses.append("closed the connection early")
    if errors and not clauses:
        clauses.append(f"failed with {_kinds(errors)}")
    return listed(clauses)


def _kinds(findings: Sequence[Finding]) -> str:
    return listed(sorted({KINDS[finding.kind].label for finding in findings}))


_SAMPLING: Final = frozenset(
    {
        "temperature",
        "top_p",
        "top_k",
        "min_p",
        "seed",
        "n",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "logit_bias",
        "stop",
        "stop_token_ids",
        "ignore_eos",
        "min_tokens",
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "bad_words",
        "allowed_token_ids",
    }
)
_PROMPT: Final = frozenset(
    {
        "messages",
        "input",
        "prompt",
        "instructions",
        "tools",
        "tool_choice",
        "reasoning",
        "reasoning_effort",
        "include_reasoning",
        "chat_template",
        "chat_template_kwargs",
        "documents",
        "previous_response_id",
        "response_format",
    }
)


def cause(left: Reading, right: Reading, settings: Sequence[Setting]) -> str:
    """One or two sentences on what differs before the first token, the strongest reason first."""
    model = next((setting for setting in settings if setting.name == "model"), None)
    if model is not None and model.left is not None and model.right is not None:
        return f"The models differ: {model.left} and {model.right}."
    requests_known = left.header.request and right.header.request  # unknown on one side is no difference
    keys = [
        _key(setting.name) for setting in settings if requests_known and setting.name.startswith("request.")
    ]
    keys = list(dict.fromkeys(keys))
    prompt = [key for key in keys if key in _PROMPT]
    left_ids, right_ids = known_ids(left), known_ids(right)
    prompts_known = left_ids is not None and right_ids is not None
    if prompt:
        return f"The requests differ in {listed(prompt)}."
    if (
        left_ids is not None
        and right_ids is not None
        and (first := first_difference(left_ids, right_ids)) is not None
    ):
        sentence = (
            "The requests are the same, but the prompt token IDs differ: check template and system message."
        )
        return f"{sentence} {first.sentence}"
    template = (
        " The prompt token IDs are the same, so the template is not the cause." if prompts_known else ""
    )
    sampling = [key for key in keys if key in _SAMPLING]
    if sampling:
        return f"The requests use different sampling parameters ({listed(sampling)}).{template}"
    if not requests_known:
        return f"A capture lacks its request, so sampling, template or model may differ.{template}"
    temperature = left.header.request.get("temperature")
    if temperature == 0 and type(temperature) in {int, float}:
        return (
            "The requests are the same and greedy (temperature 0), so the model files, the template or the "
            f"numerics of the two servers differ.{template}"
        )
    sampled_at = "the default temperature" if temperature is None else f"temperature {temperature}"
    return (
        f"The requests are the same and sample at {sampled_at}, which explains the difference. "
        f"Use temperature 0 to compare the servers.{template}"
    )


def _key(name: str) -> str:
    return name.split(".")[1].partition("[")[0]
