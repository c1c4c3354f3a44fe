"""What the token strip of the dashboard receives, whole and as increments: the one description of both.

Spans are half-open and count cells. `python -m tools.make_payload_types` writes these types as
pages/ui/strip/model/payload.d.ts, against which the JavaScript is checked.
"""

from typing import Literal, NotRequired, TypeAlias, TypedDict

__all__ = [
    "Block",
    "BlockChange",
    "CellFate",
    "CellSpan",
    "Cells",
    "Columns",
    "Entry",
    "Events",
    "FateChange",
    "FateRun",
    "FindingChange",
    "FindingRow",
    "Head",
    "Increment",
    "IssueRow",
    "KindRow",
    "Lane",
    "LaneChange",
    "LogprobColumns",
    "LogprobRow",
    "PaceRow",
    "Payload",
    "Piece",
    "Pipeline",
    "PipelineChange",
    "ReconstructionRow",
    "Selected",
    "Sign",
    "StreamState",
    "Tables",
    "Unit",
    "UnsentCell",
    "VerdictRow",
]

Unit: TypeAlias = Literal["token", "piece"]
"""What a cell is: a token, or a delivered piece of text where no token ids are known."""

Entry: TypeAlias = tuple[str | None, str]
"""A token of the vocabulary: its text, None for a part of a character, and its bytes as hex."""

CellFate: TypeAlias = Literal[
    "framing", "delivered", "misrouted", "lost", "left_out", "rejected", "unsent", "unknown"
]
"""What became of a cell. Framing is never delivered; an unsent cell is one that the server did not send."""

Sign: TypeAlias = Literal["", "reordered", "garbled", "unserved", "added", "duplicated", "separator"]
"""What is special about text: in another order or with other characters than generated, generated for no
field of the client, or delivered without tokens of its own."""

FateRun: TypeAlias = tuple[int, int, CellFate, int | None, int | None, Sign]
"""Neighbouring cells of one fate: start, end, fate, the lane that they were generated for, the lane that they
arrived in, and what is special about them."""

Piece: TypeAlias = tuple[int, int, str | None, Sign]
"""Text in a lane: the cells from start to end, or text that stands before cell start where both are the same.
The text is None where it is that of the cells."""

_From = TypedDict("_From", {"from": int})


class Events(TypedDict):
    """The events that brought the cells, as columns."""

    index: list[int]
    """Number of each event in the capture; -1 when it is not known."""
    start: list[int]
    """First cell that it brought."""
    at: list[float] | None
    """Seconds from the request; None when some are not known."""


class Block(TypedDict):
    """Cells of one message, of one refused run, or of one field where no token ids are known."""

    kind: Literal["message", "refused", "field"]
    start: int
    body: int
    """First cell of the body."""
    end: int
    role: str | None
    channel: str | None
    """The channel of a message, the name of a field."""
    recipient: str | None
    content_type: str | None
    in_body: NotRequired[bool]
    """False for a message that ends inside its header."""
    complete: bool
    reason: str
    """The parser's words on a refused run."""
    state: NotRequired[str]
    """State of the parser at a refused run."""
    culprit: NotRequired[tuple[int, int] | None]
    """Cells that the parser rejected."""
    quoted: NotRequired[bool]
    """Whether the words are those of the server's own error."""
    message: NotRequired[int | None]
    """Number of the message on its side of a comparison; elsewhere messages are counted as they stand."""
    continued: NotRequired[bool]
    """True for the rest of a message that an earlier block of the comparison began."""


class BlockChange(_From):
    """Blocks that follow the first `from` ones, which stay."""

    items: list[Block]


class Lane(TypedDict):
    """A field of the client."""

    field: str
    label: str
    pieces: list[Piece]
    """All of its text, in the order of arrival."""


class Pipeline(TypedDict):
    """What a server made of the cells."""

    server: str
    """Empty for a list of token IDs, which no server delivered."""
    per_event: int | None
    """Tokens of the fullest event; None where that was not measured."""
    lanes: list[Lane]
    """In the order in which they appear in the stream."""
    fates: list[FateRun]
    """They cover every cell once."""


class FateChange(_From):
    """Fates that follow the first `from` ones, which stay."""

    items: list[FateRun]


class LaneChange(_From):
    """A field of the client with the pieces that follow its first `from` ones, which stay."""

    field: str
    label: str
    pieces: list[Piece]


class PipelineChange(TypedDict):
    """What an audit adds to a `Pipeline`, or changes at its end."""

    server: str
    per_event: int | None
    lanes: list[LaneChange]
    """All lanes."""
    fates: FateChange


class UnsentCell(TypedDict):
    """A cell that stands for what the server never sent: its error names it, or its count has it."""

    at: int
    """The cell."""
    kind: Literal["gap", "token", "header"]
    id: int | None
    text: str
    label: str
    """The words in a cell without text."""
    words: str
    """What it is, in a sentence."""


class IssueRow(TypedDict):
    """A known issue that a finding belongs to."""

    id: str
    title: str
    side: str
    fix: str


class KindRow(TypedDict):
    """A kind of finding, as the page needs it."""

    label: str
    """As a title says it."""
    marks: bool
    """True when the cells of its findings themselves are wrong."""
    side: str
    """Whose doing it is, as a `Side`."""
    of_delivery: bool
    """True when it is about the text that arrived; others say nothing against what was delivered."""


class Tables(TypedDict):
    """What is the same for every capture."""

    kinds: dict[str, KindRow]
    """The kinds of finding; differences of captures have others."""
    special_tokens: list[int]
    """IDs of the special tokens that frame messages."""


class CellSpan(TypedDict, total=False):
    """Where a finding lies, given where cells are not tokens; then it counts, not its tokens."""

    cell_start: int | None
    cell_end: int | None


class FindingRow(CellSpan):
    """A finding, or a difference of two captures."""

    kind: str
    severity: str
    title: str
    line: str
    explanation: str
    field: str | None
    token_start: int | None
    token_end: int | None
    event_start: int | None
    event_end: int | None
    generated: str | None
    delivered: str | None
    delivered_in: str | None
    choice: int
    sent: bool
    known_issues: list[IssueRow]


class FindingChange(_From):
    """Findings that follow the first `from` ones, which stay."""

    items: list[FindingRow]


class Columns(TypedDict):
    """Columns of cells: of a whole stream, or of those that are new."""

    count: int
    """Cells of the stream then."""
    ids: list[int | None] | None
    """Token ids; None for pieces."""
    vocab: dict[str, Entry]
    """The distinct ids; those outside the vocabulary have no entry."""
    texts: dict[str, str]
    """Texts by cell where the vocabulary does not have them: of pieces, and around split characters."""
    events: Events
    unsent: list[UnsentCell]


class Cells(Columns):
    """A whole stream."""

    unit: Unit
    blocks: list[Block]


class ReconstructionRow(TypedDict, total=False):
    """Whether the cells are tokens that nobody sent, as the final object of Responses tells them."""

    reconstructed: bool
    uncertain: list[tuple[int, int]]
    """Spans of reconstructed tokens whose ID is one of several that fit."""


class LogprobColumns(TypedDict):
    """Log probabilities as the server told them."""

    values: list[float | None]
    """By cell; None where the server told none."""
    top: dict[str, list[tuple[str, float]]]
    """By cell the likeliest alternatives: text and log probability."""


class LogprobRow(TypedDict, total=False):
    """Log probabilities, where a capture has them."""

    logprobs: LogprobColumns


class Payload(Cells, Tables, ReconstructionRow, LogprobRow):
    """Everything that the strip shows of one choice of a capture, or of two captures compared."""

    key: str
    """Identity of what is shown; the same key keeps place and selection."""
    sent: int
    """Cells that the server sent; those after them are `unsent`."""
    hidden: int
    """Cells of a comparison that are folded away."""
    pipelines: list[Pipeline]
    """The picture of the stream; of a comparison two."""
    findings: list[FindingRow]
    first_at: float | None
    last_at: float | None
    finish: str | None
    evidence: str


class StreamState(TypedDict):
    """Where a growing stream is."""

    events: int
    """Events of the stream then: of two states the one with fewer is the older."""
    state: str
    channel: str | None
    recipient: str | None
    message: int | None


class PaceRow(TypedDict):
    """Figures of a run so far; times in seconds."""

    tokens: int
    events: int
    tokens_per_s: float | None
    first_token_s: float | None
    last_token_s: float | None
    gap_p50_s: float | None
    gap_p95_s: float | None


class VerdictRow(TypedDict):
    """The verdict on a run so far."""

    level: str
    sentence: str
    why: str
    known: str


class Increment(_From, Columns, ReconstructionRow):
    """What changes when a run grows: columns of the cells after the first `from`, and what else is new."""

    unit: Unit | None
    """None while no cell is known."""
    blocks: BlockChange
    pipelines: NotRequired[list[PipelineChange]]
    """What the picture has more, when an audit has told it."""
    findings: NotRequired[FindingChange]
    """The findings, when an audit has told them."""
    last_at: NotRequired[float | None]
    finish: NotRequired[str | None]
    now: NotRequired[StreamState]
    pace: NotRequired[PaceRow]
    verdict: NotRequired[VerdictRow]
    audited: NotRequired[int]
    """Tokens that the audit saw."""
    more: NotRequired[bool]
    """True when another increment follows at once."""


class Head(TypedDict):
    """What comes with a payload: its identity, and what the page wants to be selected."""

    digest: str
    """Another one means another payload."""
    nonce: int
    """Another one means a new wish."""
    token: int | None
    finding: int | None
    to: int | None
    """The other end of a range that begins or ends at the token."""
    view: str | None
    """`client` for the response as a client shows it; None for the tokens."""
    feed: str | None
    """Address of the increments of a growing run."""
    live: bool
    """True on the page of live runs, whose token IDs and headers are shown at first."""


class Selected(TypedDict):
    """What the strip tells the page: where the user is in it."""

    key: str
    token: int | None
    finding: int | None
    to: int | None
    """The other end of the chosen range."""
    view: str | None
    at: int
    """Milliseconds of the browser's clock."""
