"""The scripts: Harmony streams with what a correct server must deliver, read from `scripts.yaml`.

The file's own comments describe its keys. This module turns text into token ids and says what is
expected; it does not judge a server (`score`) and does not ask one (`record`).
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from msgspec import Meta, field

from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.files.tables import Identifier, Row, Sentence, read_table
from inspector.protocol.harmony import vocab
from inspector.protocol.wire.endpoints import asked_endpoints

DEFAULT_FILE: Final = Path(__file__).with_name("scripts.yaml")

ENDPOINTS: Final = tuple(asked_endpoints())
"""Endpoints that the lab asks."""

STOPS: Final = frozenset({200002, 199999, 200012})
"""Ids that end generation unless the request says ignore_eos: the model's generation config."""

_INSERT: Final = re.compile(r"<#(\d+)>|<plain:(.*?)(?<=\|>)>|<count:(\d+)>", re.DOTALL)


class ScriptClass(StrEnum):
    """What a stream is an example of."""

    TEXT = "text"
    CALLS = "calls"
    CUT = "cut off"
    ENDS = "ends of messages"
    """What is unusual or malformed stands around the end of a message."""
    HEADERS = "headers"
    """It stands in a header."""
    BODIES = "bodies"
    """It stands in a body: special tokens that are text there, half a character."""
    TOOLS = "server-side tools"

    @property
    def words(self) -> str:
        """The name for users; the value is that of `--json` and scripts.yaml."""
        match self:
            case ScriptClass.CALLS:
                return "tool calls"
            case ScriptClass.ENDS:
                return "unusual ends"
            case ScriptClass.HEADERS:
                return "unusual headers"
            case ScriptClass.BODIES:
                return "unusual bodies"
            case ScriptClass.TEXT | ScriptClass.CUT | ScriptClass.TOOLS:
                return self.value


class ScriptPiece(NamedTuple):
    """Some text of one field."""

    text: str
    required: bool
    """False for text that no field is promised for: it may be delivered or not."""


class ToolCall(NamedTuple):
    """A function call that must be delivered."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a correct server delivers in the fields of chat and Responses."""

    reasoning: tuple[ScriptPiece, ...] = ()
    content: tuple[ScriptPiece, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    stray: str = ""
    """Text outside any message: some field must have it, or an error must report it."""
    finish: str = ""
    """`length` where the client must be told that the stream was cut."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """One stream of the file."""

    name: str
    sentence: str
    turns: tuple[tuple[int, ...], ...]
    """Token ids a turn; one turn unless the server runs tools itself."""
    well_formed: bool
    example_of: ScriptClass = ScriptClass.TEXT
    stops_early: bool = False
    """The ids go on after a stop token, and the server must not sample those."""
    expect: Expectation = Expectation()
    request: Mapping[str, Any] = dataclasses.field(default_factory=dict, hash=False)
    tools: tuple[str, ...] = ()
    built_in: tuple[str, ...] = ()
    stream: bool = True
    """False for the unstreamed twin of a script."""
    endpoints: tuple[Endpoint, ...] = ENDPOINTS
    issues: tuple[str, ...] = ()

    @property
    def sampled(self) -> tuple[int, ...]:
        """The ids that a server samples: of one turn up to a stop token or the budget, of several all."""
        if len(self.turns) > 1:
            return tuple(token_id for turn in self.turns for token_id in turn)
        ids = self.turns[0]
        if not self.request.get("ignore_eos"):
            stop = next((place + 1 for place, token_id in enumerate(ids) if token_id in STOPS), len(ids))
            ids = ids[:stop]
        return ids[: self.request.get("max_tokens", len(ids))]


class _Optional(Row, frozen=True):
    may: str


class _Call(Row, frozen=True):
    name: str
    arguments: str


class _Expected(Row, frozen=True, kw_only=True):
    reasoning: tuple[str | _Optional, ...] = ()
    content: tuple[str | _Optional, ...] = ()
    tool_calls: tuple[_Call, ...] = ()


class _Entry(Row, frozen=True, kw_only=True):
    """A script as the file has it."""

    name: Annotated[str, Meta(pattern=r"\A[a-z0-9_]+\Z")]
    sentence: Sentence
    example_of: ScriptClass = field(name="class")
    text: tuple[str, ...] = ()
    turns: tuple[tuple[str, ...], ...] = ()
    well_formed: bool
    stops_early: bool = False
    expect: _Expected
    stray: str = ""
    request: Mapping[str, Any] = {}
    finish: Literal["", "length"] = ""
    tools: tuple[str, ...] = ()
    built_in: tuple[str, ...] = ()
    endpoints: tuple[Endpoint, ...] = ENDPOINTS
    issues: tuple[Identifier, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.text) is bool(self.turns):
            raise ValueError("a script has `text` or `turns`")


@cache
def load(path: Path = DEFAULT_FILE) -> tuple[Script, ...]:
    """The scripts of a file, in its order; raises LabError that names what is wrong with it."""
    scripts = [_script(entry) for entry in read_table(path, tuple[_Entry, ...], error=LabError)]
    scripts += [
        replace(
            script,
            name=f"{script.name}_unstreamed",
            sentence=f"{script.sentence} Not streamed.",
            stream=False,
        )
        for script in scripts
        if script.built_in
    ]
    names = [script.name for script in scripts]
    if doubled := {name for name in names if names.count(name) > 1}:
        raise LabError(f"{path}: several scripts are named {min(doubled)}")
    return tuple(scripts)


def named(names: Sequence[str], scripts: Sequence[Script] | None = None) -> list[Script]:
    """The scripts of these names, all without names; raises LabError for an unknown name."""
    scripts = load() if scripts is None else scripts
    scripts_by_name = {script.name: script for script in scripts}
    if unknown := [name for name in names if name not in scripts_by_name]:
        raise LabError(f"no script named {unknown[0]}; 'lab scripts' lists them")
    return [scripts_by_name[name] for name in names] if names else list(scripts)


def tokens_of(text: str) -> tuple[int, ...]:
    """Token ids of a script's text with its markers and insertions."""
    ids: list[int] = []
    end = 0
    for insertion in _INSERT.finditer(text):
        ids += vocab.encode(text[end : insertion.start()])
        token_id, plain, count = insertion.groups()
        if token_id:
            ids.append(int(token_id))
        elif plain:
            ids += vocab.encoding().encode(plain, disallowed_special=())
        else:
            ids += vocab.encode(_numbers(int(count)))
        end = insertion.end()
    return (*ids, *vocab.encode(text[end:]))


def _script(entry: _Entry) -> Script:
    turns = tuple(tokens_of("".join(turn)) for turn in entry.turns or (entry.text,))
    budget = {"max_tokens": len(turns[0])} if entry.request.get("ignore_eos") else {}
    expect = entry.expect
    return Script(
        name=entry.name,
        sentence=entry.sentence,
        turns=turns,
        well_formed=entry.well_formed,
        example_of=entry.example_of,
        stops_early=entry.stops_early,
        expect=Expectation(
            reasoning=_pieces(expect.reasoning),
            content=_pieces(expect.content),
            tool_calls=tuple(ToolCall(call.name, _filled(call.arguments)) for call in expect.tool_calls),
            stray=entry.stray,
            finish=entry.finish,
        ),
        request={**entry.request, **budget},
        tools=entry.tools,
        built_in=entry.built_in,
        endpoints=entry.endpoints,
        issues=entry.issues,
    )


def _pieces(entries: Sequence[str | _Optional]) -> tuple[ScriptPiece, ...]:
    return tuple(
        ScriptPiece(_filled(entry), required=True)
        if isinstance(entry, str)
        else ScriptPiece(_filled(entry.may), required=False)
        for entry in entries
    )


def _filled(text: str) -> str:
    return re.sub(r"<count:(\d+)>", lambda match: _numbers(int(match[1])), text)


def _numbers(last: int) -> str:
    return " ".join(str(number) for number in range(1, last + 1))
