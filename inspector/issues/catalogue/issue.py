"""One issue of the catalogue: the keys of an entry of known_issues.yaml, with their types."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import force_setattr

from inspector.analysis.audit import Code, Kind
from inspector.capture.capture import Endpoint
from inspector.files.tables import Identifier, Row, Sentence, Several, Text, Verbatim
from inspector.issues.catalogue.predicates import OfFinding, OfResponse
from inspector.issues.catalogue.schema import (
    AnyCase,
    Edge,
    EngineName,
    Expression,
    Hint,
    MessagePart,
    Pattern,
    Program,
    Version,
    ViolationName,
)
from inspector.issues.catalogue.versions import Range
from inspector.protocol.engines import DEFAULT, Engine
from inspector.protocol.harmony.violations import Violation


class Side(StrEnum):
    """Who is at fault."""

    SERVER = "server parser"
    """vLLM's serving code or the Harmony library inside it."""
    MODEL = "model output"
    """The tokens that were sampled, whatever made the model sample them."""
    FILES = "model files"
    """Files beside the weights: generation_config.json and the like."""
    TEMPLATE = "template or fine-tune"
    CLIENT = "client"
    GATEWAY = "gateway"
    """A proxy between server and client that changes responses."""
    CONFIGURATION = "configuration"
    """Flags and environment of the server."""


class Confidence(StrEnum):
    """How sure the catalogue is of an entry."""

    HIGH = "high"
    """Several sources, or reproduced."""
    MEDIUM = "medium"
    """One source, or an inference that `basis` names."""
    LOW = "low"
    """Unconfirmed."""


class Rate(StrEnum):
    """What share of the responses has the issue."""

    MOST = "most"
    FEW = "few"


class EntryTexts(StrEnum):
    """Some of an entry's texts."""

    ALL = "all"
    MAY_MATCH = "may_match"


class RequestSetting(StrEnum):
    """What a request says under a key."""

    SET = "set"
    """A value that is not empty."""
    FALSE = "false"
    ABSENT = "absent"
    """No such key, or null, 0 or empty."""


class Observation(StrEnum):
    """What a check of a server can show that disproves an issue on it."""

    ANSWER = "answer"
    """It answered."""
    ALL_TOKEN_IDS = "all token ids"
    """A chat stream had the ID of every token that the server counted."""
    FORCED_CALL = "forced call"
    """The model made no tool call by itself, and made one with `tool_choice: required`."""


class Step(Row, frozen=True, kw_only=True):
    """One thing to do, and the situations in which it makes sense; an empty set is any."""

    text: Sentence = field(default="", name="step")
    """The sentence; absent with `upgrade` or `until`, which make one."""
    upgrade: Version = ""
    """The release of vLLM that the step asks for."""
    why: Text = ""
    """The rest of the sentence that asks for it."""
    until: Text = ""
    """What helps until the upgrade; shown beside one only."""
    token_ids: bool | None = None
    """Whether the capture has token IDs; where that is not known, it has none."""
    captured: bool | None = None
    """Whether there is a capture, which shows what the response has."""
    answered: bool | None = None
    """Whether the client got an answer or a call, and nothing was lost; dropped where that is not known."""
    endpoints: frozenset[Endpoint] = frozenset()
    """The endpoint; a step is kept if it is not known, unless it is for those that nothing parses."""
    programs: frozenset[Program] = frozenset()
    """The servers whose flags, releases or code the step is about; empty where it helps with any."""
    when: tuple[OfResponse, ...] = ()
    """Rare conditions of the response, all of which must hold."""
    measured: bool = False
    """An upgrade that was measured on streams that the table of upgrades leaves out, as unstreamed ones."""

    def __post_init__(self) -> None:
        text = self.text
        if self.until:
            text = f"Until then, {self.until}."
        elif self.upgrade and not text:
            text = upgrade_text(self.upgrade, self.why)
        doubled = self.text not in ("", text) or bool(self.until and self.upgrade)
        if not text or doubled or (self.why and not self.upgrade):
            raise ValueError("a step is one of `step`, `until` and `upgrade`, which may have `why`")
        force_setattr(self, "text", text)


def upgrade_text(release: str, why: str = "", *, engine: Engine = DEFAULT) -> str:
    """The sentence that asks for a release; `why` is the rest of it."""
    return f"Upgrade to {engine.labelled(release)} or newer{f', {why}' if why else ''}."


class TokenForm(Row, frozen=True, kw_only=True, dict=True):
    """How an issue looks in the tokens: a violation of the grammar, or a message that the parser accepts."""

    violation_names: frozenset[ViolationName] = field(default=frozenset(), name="violations")
    """One of them."""
    message: Mapping[MessagePart, Expression] = {}
    """Found in role, channel, recipient, content_type or body of one message, in the text of its header or in
    the special token that ends it (`stop`); what is absent is ''."""
    alone: bool = False
    """The completion has no other message; with a violation, none at all."""

    def __post_init__(self) -> None:
        if bool(self.violation_names) is bool(self.message):
            raise ValueError("a token form is a violation or a message")

    @cached_property
    def violations(self) -> frozenset[Violation]:
        """The violations of these names."""
        return frozenset(Violation[name.upper()] for name in self.violation_names)


class FindingForm(Row, frozen=True, kw_only=True):
    """How an issue looks in the findings; every part that is given must hold for one finding."""

    kinds: Annotated[frozenset[Kind], Meta(min_length=1)]
    """The finding has one of these kinds."""
    codes: frozenset[Code] = frozenset()
    """It has one of these codes; empty for any."""
    engines: frozenset[EngineName] = frozenset()
    """The server is one of these; empty for any."""
    field: Expression | None = None
    """Found in the name of the finding's field."""
    delivered_in: Expression | None = None
    """Found in the name of the field that its text was delivered in."""
    generated: Expression | None = None
    """Found in the generated text."""
    delivered: Expression | None = None
    """Found in the delivered text."""
    message: Mapping[MessagePart, Expression] = {}
    """Like the token form's, for the message of the finding's first token."""
    whole: bool | None = None
    """Whether the finding covers the whole body of its message."""
    error_reported: bool | None = None
    """Whether the server reported an error to the client."""
    streamed: bool | None = None
    """Whether the response was streamed as server-sent events."""
    when: tuple[OfFinding, ...] = ()
    """Rare conditions of the finding, all of which must hold."""


class TextForm(Row, frozen=True, kw_only=True):
    """Generated texts of one kind; every part that is given must hold."""

    field: Expression | None = None
    """Found in the name of the field that delivers the text."""
    message: Mapping[MessagePart, Expression] = {}
    """Like the token form's, for the message of the text."""
    edge: Edge | None = None
    """The text at this edge of its message's body, which came in one event with the framing there."""
    last: bool | None = None
    """Whether no later message of the choice has text for the same field."""
    open: bool | None = None
    """Whether the response ends inside its message."""


class Issue(Row, frozen=True, kw_only=True, dict=True):
    """One entry of the catalogue."""

    id: Identifier
    """Lower-case words joined by hyphens."""
    title: Text
    """What happens, in one clause."""
    symptoms: tuple[Text, ...] = ()
    """What users say who have it, in plain words; they rank the closest entries and match nothing."""
    sides: Several[Side]
    """Who is at fault, likeliest first."""
    cause: Sentence
    """Why it happens, in a short paragraph."""
    sentences_and_steps: Several[Sentence | Step] = field(name="steps")
    """What to do, best first: a sentence, or a mapping with the situation in which it makes sense."""
    measured_as: Identifier = ""
    """The issue whose measured release counts for this one too: the same fault, seen with less evidence."""
    confidence: Confidence
    """How well the issue itself is established."""
    basis: Sentence
    """The evidence for the entry."""
    links: tuple[Text, ...] = ()
    """Issues, pull requests and threads about it."""
    patterns: tuple[Pattern, ...] = ()
    """Error text, on one line, that this issue produces."""
    may_match: tuple[Pattern, ...] = ()
    """Error text that this issue can produce too, and that others produce more often."""
    hints: tuple[Hint, ...] = ()
    """Words elsewhere in a text, in upper or lower case, that support this issue."""
    needs: tuple[AnyCase, ...] = ()
    """Words of which the text must have one for `patterns` and `may_match` to count."""
    unless: tuple[AnyCase, ...] = ()
    """Words of another program or of a healthy response; the entry is ruled out by any of them."""
    in_server: EntryTexts | None = None
    """Texts that any program may print: they count only in a frame, log line or error payload of vLLM."""
    any_server: bool = False
    """The text counts regardless of the server that the input names."""
    settle: Text = ""
    """One command that shows whether it is this issue."""
    general: bool = False
    """The text only wraps other errors: any more precise entry comes first."""
    accuses: bool = False
    """It blames hardware, a checkpoint, flags or client code; one malformed message is not enough."""
    before_parser: bool = False
    """It spoils what the parser gets: errors of the parser after its message follow from it."""
    when: tuple[OfFinding, ...] = ()
    """Rare conditions; a finding for which one does not hold has another cause."""
    tokens: tuple[TokenForm, ...] = ()
    """How it looks in the tokens: any of these forms."""
    findings: tuple[FindingForm, ...] = ()
    """How it looks in the findings: any of these forms."""
    loses_all: tuple[TextForm, ...] = ()
    """Texts of which such a server delivers nothing in their field: one that arrives disproves it."""
    keeps_all: tuple[TextForm, ...] = ()
    """Texts that it delivers: one of which nothing arrives disproves it."""
    request: Mapping[str, RequestSetting] = {}
    """Request keys that must be so for the issue to arise."""
    endpoints: frozenset[Endpoint] = frozenset()
    """Endpoints where the issue exists; empty for all."""
    engines: frozenset[EngineName] = frozenset()
    """Engines that have the issue; empty for all."""
    affected: Mapping[Program, Range] = {}
    """Versions by program; empty where no version is known to be free of it."""
    fixed_in: Mapping[Program, Version] = {}
    """The first fixed version by program, according to the sources."""
    disproved_by: frozenset[Observation] = frozenset()
    """What `doctor` may observe of a server that does not have the issue."""
    rate: Rate | None = None
    """The share of the responses that it affects."""
    experiment: Text = ""
    """A command whose result separates this issue from those that look the same."""
    examples: tuple[Verbatim, ...] = ()
    """Error text as reported."""
    shares_text_with: tuple[Identifier, ...] = ()
    """Ids of issues that produce the same text and are likelier if only the text is known."""
    server_text: tuple[Verbatim, ...] = ()
    """Texts in vLLM's source that produce the message; a test compares their releases with `affected`."""
    shows: tuple[Verbatim, ...] = ()
    """Harmony text, after `<|start|>assistant`, of completions that have the token form."""
    shows_not: tuple[Verbatim, ...] = ()
    """The same of similar completions that do not have it."""
    must_match: tuple[Verbatim, ...] = ()
    """Texts, shortened, whose first match must be this issue."""
    must_not_match: tuple[Verbatim, ...] = ()
    """Similar texts that must not match it."""

    def __post_init__(self) -> None:
        if self.tokens and not (self.shows and self.shows_not):
            raise ValueError(
                "tokens need `shows` and `shows_not`: a stream that has the form and one that has not"
            )
        if not (self.patterns or self.may_match or self.tokens or self.findings or self.hints or self.settle):
            raise ValueError("nothing can lead to it: give patterns, hints, tokens, findings or `settle`")

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """What to do, best first; `steps.steps_for` chooses those for a situation."""
        return tuple(Step(text=step) if isinstance(step, str) else step for step in self.sentences_and_steps)
