"""What the catalogue knows about one issue: the keys of an entry of known_issues.yaml, with their types."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from msgspec import Meta, field
from msgspec.structs import force_setattr

from inspector.analysis.audit import Code, Kind, Severity
from inspector.capture.capture import Endpoint
from inspector.files.tables import Identifier, Row, Sentence, Several, Text, Verbatim
from inspector.issues.schema import (
    AnyCase,
    EngineName,
    Expression,
    Hint,
    MessagePart,
    Pattern,
    Program,
    Version,
    ViolationName,
)
from inspector.issues.versions import Range
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
    CONFIGURATION = "configuration"
    """Flags and environment of the server."""


class Confidence(StrEnum):
    """How sure the catalogue is of an entry."""

    HIGH = "high"
    """Several sources, or reproduced."""
    MEDIUM = "medium"
    """One source, or an inference that `basis` names."""
    LOW = "low"
    """Hearsay."""


class Rate(StrEnum):
    """On what share of the answers the issue shows."""

    MOST = "most"
    FEW = "few"


class Texts(StrEnum):
    """Some of an entry's texts."""

    ALL = "all"
    MAY_MATCH = "may_match"


class Asked(StrEnum):
    """What a request says under a key."""

    SET = "set"
    """A value that is not empty."""
    FALSE = "false"
    ABSENT = "absent"
    """No such key, or null, 0 or empty."""


class Ended(StrEnum):
    """Why a response ended, according to the server."""

    LENGTH = "length"
    """The token budget was used up."""
    STOP = "stop"
    """The model ended its turn."""
    UNKNOWN = "unknown"


class Shown(StrEnum):
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
    """The sentence; of `upgrade` and `until` it is made."""
    upgrade: Version = ""
    """The release of vLLM that the step asks for."""
    why: Text = ""
    """The rest of the sentence that asks for it."""
    until: Text = ""
    """What helps until the upgrade, and is said beside one only."""
    ended: frozenset[Ended] = frozenset()
    token_ids: bool | None = None
    """Whether the capture has token IDs; where that is not known, it has none."""
    ids_asked: bool | None = None
    """Whether the request asks for token IDs; where it is not known, it does not."""
    captured: bool | None = None
    """Whether there is a capture, which shows what the response has."""
    tools: bool | None = None
    """Whether the request offers tools; kept where that is not known."""
    endpoints: frozenset[Endpoint] = frozenset()
    """Kept where the endpoint is not known."""
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
    """Found in role, channel, recipient, content_type or body of one message; what is absent is ''."""
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
    codes: frozenset[Code] = frozenset()
    severity: Severity | None = None
    field: Expression | None = None
    delivered_in: Expression | None = None
    generated: Expression | None = None
    delivered: Expression | None = None
    message: Mapping[MessagePart, Expression] = {}
    """Like the token form's, for the message of the finding's first token."""
    whole: bool | None = None
    """Whether the finding covers the whole body of its message."""
    open: bool | None = None
    """Whether the response ends inside the message of the finding's first token."""
    crowded: bool | None = None
    """Whether an event at the finding brought several tokens."""
    inner: bool | None = None
    """Whether text of the choice is missing inside a message that goes on after it."""
    whole_step: bool | None = None
    """Whether a delta of the choice brought the text of several tokens."""
    second_copy: bool | None = None
    """Whether the finding's text stands elsewhere in what was delivered."""
    boundary: bool | None = None
    """Whether such an event holds tokens of more than one message, or of header and body."""
    told: bool | None = None
    """Whether the server told the client of an error."""
    streamed: bool | None = None
    cut: bool | None = None
    """Whether the connection broke off without an end."""
    ended: frozenset[Ended] = frozenset()
    """How the response ended, as the server told it; empty for any."""


class Issue(Row, frozen=True, kw_only=True, dict=True):
    """One entry of the catalogue."""

    id: Identifier
    title: Text
    sides: Several[Side]
    """Likeliest first."""
    cause: Sentence
    sentences_and_steps: Several[Sentence | Step] = field(name="steps")
    measured_as: Identifier = ""
    """The issue whose measured release counts for this one: the same fault, seen with less evidence."""
    confidence: Confidence
    basis: Sentence
    """What the entry rests on."""
    links: tuple[Text, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    """Error text that this issue makes."""
    may_match: tuple[Pattern, ...] = ()
    """Error text that this issue can make too, and that others make more often."""
    hints: tuple[Hint, ...] = ()
    """Words elsewhere in a text, in upper or lower case, that speak for this issue."""
    needs: tuple[AnyCase, ...] = ()
    """Words of which the text must have one for `patterns` and `may_match` to count."""
    unless: tuple[AnyCase, ...] = ()
    """Words that speak of another program or of a healthy response; nothing leads to the entry then."""
    in_server: Texts | None = None
    """Texts that count in a vLLM frame, log line or error payload only; any program may print them."""
    any_server: bool = False
    """The text counts whatever server is behind it."""
    settle: Text = ""
    """The one command that shows whether it is this issue."""
    general: bool = False
    """The text only carries or summarises other issues: any more precise entry goes before it."""
    accuses: bool = False
    """Hardware, files, flags or the client's code are at fault, of which one malformed message is no sign."""
    tokens_lost: bool = False
    """The parser missed tokens: ruled out where the IDs that were sent hold what it rejected."""
    tokens: tuple[TokenForm, ...] = ()
    findings: tuple[FindingForm, ...] = ()
    request: Mapping[str, Asked] = {}
    """Request keys that must be so for the issue to arise."""
    endpoints: frozenset[Endpoint] = frozenset()
    """Endpoints where the issue exists; empty for all."""
    engines: frozenset[EngineName] = frozenset()
    """Engines that have the issue; empty for all."""
    affected: Mapping[Program, Range] = {}
    """Versions by program; empty where no version is known to be free of it."""
    fixed_in: Mapping[Program, Version] = {}
    disproved_by: frozenset[Shown] = frozenset()
    """What `doctor` may see of a server that cannot have the issue then."""
    rate: Rate | None = None
    experiment: Text = ""
    """A command whose result tells this issue from those that look the same."""
    examples: tuple[Verbatim, ...] = ()
    """Error text as it was seen."""
    shares_text_with: tuple[Identifier, ...] = ()
    """Ids that make the same text and are likelier when nothing but the text is known."""
    server_text: tuple[Verbatim, ...] = ()
    """Texts of vLLM's source that make the message; a test compares their releases with `affected`."""
    shows: tuple[Verbatim, ...] = ()
    """Harmony text of completions that have the token form."""
    shows_not: tuple[Verbatim, ...] = ()
    """Harmony text of completions that look alike and have it not."""
    must_match: tuple[Verbatim, ...] = ()
    """Texts, shortened, that must lead here."""
    must_not_match: tuple[Verbatim, ...] = ()
    """Texts that look alike and must not lead here."""

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
        return tuple(Step(text=one) if isinstance(one, str) else one for one in self.sentences_and_steps)
