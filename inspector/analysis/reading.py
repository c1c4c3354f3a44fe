"""From the events of a capture to its tokens, messages and deltas; live streams are read as they grow."""

import copy
import re
from collections.abc import Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple

from inspector.capture.bounds import TOKENS
from inspector.capture.capture import Capture, End, Event, EventKind, Header
from inspector.capture.collector import collector_paused
from inspector.capture.deltas import (
    Delta,
    Texts,
    by_field,
    texts_of,
)
from inspector.capture.formats import clip, count
from inspector.capture.tokens import Token, Tokens
from inspector.protocol.engines import EXTENSIONS, UNKNOWN, Engine, engine_of, gateway_of
from inspector.protocol.harmony.contract import Expected, expect
from inspector.protocol.harmony.events import shifted
from inspector.protocol.harmony.reconstruction import Reconstruction
from inspector.protocol.harmony.text import text_of, texts
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript
from inspector.protocol.harmony.vocab import Marker, encode
from inspector.protocol.wire.endpoints import EndpointSpec, spec_of
from inspector.protocol.wire.excerpt import Excerpt, excerpt_of, is_recorded
from inspector.protocol.wire.final_messages import reconstructed
from inspector.protocol.wire.repeats import repeated_events
from inspector.protocol.wire.stream import Stream, StreamChoice

_GPT_OSS: Final = re.compile(r"gpt[-_ ]?oss", re.IGNORECASE)
_MODEL_SHOWN: Final = 80
_FRAMING: Final = frozenset({Marker.START, Marker.CHANNEL})
"""A Harmony completion has one of these; other models use most of these IDs for other tokens."""
_WORD_LENGTH: Final = 3
"""Characters of a token that another vocabulary hardly has in the same text by chance."""


class Evidence(StrEnum):
    """Source of the generated tokens, strongest first."""

    TOKEN_IDS = "token ids"
    """Token IDs in the stream itself (`return_token_ids`)."""
    GIVEN_IDS = "given ids"
    """Token IDs supplied by the caller: the lab's script, a ground truth run."""
    LOGPROBS = "logprobs"
    FINAL_OBJECT_AND_COUNT = "final object and token count"
    """The server's own final texts, which account for every token that it counted (Responses)."""
    FINAL_OBJECT = "final object"
    """Only the server's own final texts, compared with its deltas; no token is known."""
    USAGE = "usage"
    """Only the server's token counts."""
    NONE = "none"

    @property
    def words(self) -> str:
        """What users read; the value is what `--json` contains."""
        match self:
            case Evidence.TOKEN_IDS:
                return "token IDs"
            case Evidence.GIVEN_IDS:
                return "token IDs from another source"
            case Evidence.NONE:
                return "delivered text only"
            case _:
                return str(self)


@dataclass(slots=True)
class ChoiceReading:
    """One completion of the response: its tokens, and what was delivered."""

    index: int
    evidence: Evidence
    tokens: Tokens
    transcript: Transcript
    expected: Expected
    deltas: Sequence[Delta]
    finals: dict[str, str]
    """Whole texts by field that the server sent apart from the deltas (Responses)."""
    finish_reason: str | None
    reconstruction: Reconstruction | None = None
    """The tokens according to the final object, where no IDs are known (Responses)."""
    rebuilt: "ChoiceReading | None" = None
    """This choice with the reconstructed tokens, where the server's count confirms them."""
    reconstructed: bool = False
    """True for `rebuilt` itself: its tokens were inferred, not received, and have no events."""
    _grouped: tuple[int, dict[str, list[Delta]]] = field(default=(0, {}), init=False)
    """Deltas by field, after their number: a live stream gets more."""
    _delivered: tuple[int, Texts] | None = field(default=None, init=False)
    """The delivered texts, after the number of their deltas."""

    @property
    def has_ids(self) -> bool:
        """True when the generated side is known token by token."""
        has_tokens = self.evidence in {Evidence.TOKEN_IDS, Evidence.GIVEN_IDS, Evidence.LOGPROBS}
        return has_tokens or self.reconstructed

    @property
    def has_finals(self) -> bool:
        """True when the server's final texts are the evidence."""
        return self.evidence in {Evidence.FINAL_OBJECT_AND_COUNT, Evidence.FINAL_OBJECT}

    def apart(self) -> "ChoiceReading":
        """A copy that does not grow with the stream; the few messages and rejections are copied too."""
        transcript = copy.copy(self.transcript)
        transcript.messages = [copy.copy(message) for message in transcript.messages]
        transcript.rejected_runs = [copy.copy(rejected_run) for rejected_run in transcript.rejected_runs]
        return replace(
            self,
            tokens=Tokens(list(self.tokens.ids), list(self.tokens.events)),
            transcript=transcript,
            deltas=list(self.deltas),
            finals=dict(self.finals),
        )

    def generated(self) -> Texts | None:
        """What a client should get according to the tokens; None when no IDs are known."""
        if not self.has_ids:
            return None
        return self.expected.generated(self.tokens.ids)

    def deltas_by_field(self) -> Mapping[str, Sequence[Delta]]:
        """The deltas of each field, in order of arrival."""
        count = len(self.deltas)
        if self._grouped[0] != count:
            self._grouped = count, by_field(self.deltas)
        return self._grouped[1]

    def delivered(self) -> Texts:
        """What the client got, according to the deltas alone."""
        count = len(self.deltas)
        if self._delivered is None or self._delivered[0] != count:
            self._delivered = count, texts_of(self.deltas_by_field())
        return self._delivered[1]


@dataclass(slots=True, repr=False)
class Reading:
    """Everything in a capture, read once; findings, metrics and rows are computed from it."""

    header: Header
    events: Sequence[Event]
    end: End | None
    notes: tuple[str, ...]
    stream: Stream
    choices: list[ChoiceReading]
    ended: bool
    """False while a live stream is still growing."""
    repeats: frozenset[int] = frozenset()
    """Numbers of events that arrived twice; their second copies are not read."""

    def __repr__(self) -> str:
        return f"<Reading: {self.spec.endpoint}, {len(self.events):,} events, {self.token_count:,} tokens>"

    def apart(self) -> "Reading":
        """A copy that does not grow with the stream; its events are still those of the stream."""
        stream = copy.copy(self.stream)
        stream.errors, stream.notices = list(stream.errors), dict(stream.notices)
        return replace(self, stream=stream, choices=[choice.apart() for choice in self.choices])

    @property
    def stopped(self) -> bool:
        """True if the user ended the request before the response had ended."""
        return self.end is not None and self.end.stopped and self.stream.terminal_event is None

    @property
    def hides_reasoning(self) -> bool:
        """Whether the request asks for a response without the reasoning (`include_reasoning: false`)."""
        return self.header.request.get("include_reasoning") is False

    def broke_off(self, choice: ChoiceReading) -> bool:
        """Whether known tokens of a choice may be behind the end of its stream: they did not come with it."""
        return (
            choice.evidence is Evidence.GIVEN_IDS
            and choice.finish_reason is None
            and self.stream.terminal_event is None
            and not self.stream.bodies
        )

    @property
    def token_count(self) -> int:
        """Tokens of all choices whose IDs were sent or could be reconstructed."""
        return sum(len((choice.rebuilt or choice).tokens) for choice in self.choices)

    @property
    def unread(self) -> str:
        """One sentence on what was not read because of a bound; empty when everything was."""
        if self.end is not None and self.end.unread:
            return self.end.unread
        if any(choice.tokens.cut for choice in self.choices):
            return f"The response has more than {TOKENS:,} token IDs, the most that is read."
        if self.stream.unread_choices:
            return f"Only the first {len(self.choices):,} choices of the response were read."
        return ""

    @property
    def foreign(self) -> str:
        """One sentence if the tokens are those of another model or of another response; empty otherwise."""
        given, counted = self.choice, self.stream.counted
        if given.evidence is Evidence.GIVEN_IDS and len(self.choices) == 1 and not self.broke_off(given):
            # In all 21,032 responses of the matrix with a count it is that of the sampled tokens.
            if counted is not None and counted != len(given.tokens):
                ids = count(len(given.tokens), "token ID")
                counts = f"{count(counted, 'token')}, and {ids} were given"
                return f"The server counted {counts}, so nothing was checked."
            return ""
        model = self.header.model or self.stream.model or ""
        if not self.spec.delivers or _GPT_OSS.search(model) or not all(map(_is_foreign, self.choices)):
            return ""
        named = f" of the model {clip(model, _MODEL_SHOWN)!r}" if model else ""
        return f"The tokens{named} are not Harmony, the format of gpt-oss, so nothing was checked."

    @property
    def excerpt(self) -> Excerpt | None:
        """What the file lacks of the response, or may lack, and no server need have lost.

        None for a recording, which knows how the connection ended, and for a response from its beginning to
        its end.
        """
        if not self.spec.delivers:
            return Excerpt.END if self.header.excerpt else None
        streamed = self.ended and not self.stream.bodies
        if not streamed or is_recorded(self.header, self.end):
            return None
        if (excerpt := excerpt_of(self.header, self.events, self.end)) is not None:
            return excerpt
        finished = all(choice.finish_reason is not None for choice in self.choices)
        reported = finished or self.stream.errors or self.stream.terminal_event is not None
        return None if reported else Excerpt.END

    @property
    def choice(self) -> ChoiceReading:
        """The first choice."""
        return self.choices[0]

    @property
    def spec(self) -> EndpointSpec:
        """The row of its endpoint."""
        return spec_of(self.header.endpoint)

    @property
    def engine(self) -> Engine:
        """The server, front end or hosted service that sent it; `UNKNOWN` without a sign of any server."""
        return _engine_of(self.header, self.stream)

    @property
    def gateway(self) -> Engine | None:
        """The proxy between, where the response names one."""
        return gateway_of(self.stream)

    @property
    def server_version(self) -> str | None:
        """The server's version, from /version or `system_fingerprint` (`vllm-0.32.0-...`)."""
        return self.header.server_version or self.engine.version_of(self.stream.fingerprint)

    @property
    def model(self) -> Any:
        """The model's name in the capture, else in the response, else in the request."""
        return self.header.model or self.stream.model or self.header.request.get("model")

    @property
    def server_label(self) -> str:
        """The server's name and version, e.g. `vLLM 0.13.0`; a list of token IDs has none."""
        if not self.spec.delivers:
            return "no server"
        label = self.engine.labelled(self.server_version)
        if self.engine is UNKNOWN and self.stream.provider:
            label = clip(self.stream.provider, _MODEL_SHOWN)
        lab = self.header.extra.get("lab")
        through = lab.get("through") if isinstance(lab, dict) else None
        if self.gateway is not None and not isinstance(through, str):
            through = self.gateway.label
        return f"{label}, through {clip(through, _MODEL_SHOWN)}" if isinstance(through, str) else label

    def arrival_s(self, event: int) -> float | None:
        """Arrival of an event in seconds from the request, if known."""
        return self.events[event].at_s if 0 <= event < len(self.events) else None

    def arrivals_s(self, events: Sequence[int]) -> list[float] | None:
        """Arrivals of events in seconds from the request; None unless all of them are known."""
        in_range = events and min(events) >= 0 and max(events) < len(self.events)
        times = [at for event in events if (at := self.events[event].at_s) is not None] if in_range else []
        return times if in_range and len(times) == len(events) else None

    def token(self, index: int, choice: int = 0) -> Token:
        """One token as a value."""
        tokens = self.choices[choice].tokens
        event = tokens.events[index]
        return Token(index=index, id=tokens.ids[index], event=event, arrival_s=self.arrival_s(event))


UNFINISHED: Final = (
    "The recording has no last line: it still grows, or its recorder was stopped before the response ended."
)
"""The note of a capture that was read before its end."""


class _Fold(NamedTuple):
    """One choice's transcript as it grows, and what it is computed from."""

    tokens: Tokens
    prompt_ids: Sequence[int] | None
    """The prompt's IDs in the stream."""
    tracker: HarmonyTracker
    transcript: Transcript


class Reader:
    """Reads events as they come; `reading()` may be asked at any time.

    `truth` are token IDs known from outside the stream, which replace the stream's own. `events` is the
    sequence that the events are appended to, by default a new list.
    """

    def __init__(
        self,
        header: Header,
        *,
        truth: Sequence[int] | None = None,
        events: MutableSequence[Event] | None = None,
        repeats: frozenset[int] = frozenset(),
    ) -> None:
        self.header = header
        self._repeats = repeats
        self.stream = Stream(extensions=EXTENSIONS)
        self.events: MutableSequence[Event] = [] if events is None else events
        self._wire = spec_of(header.endpoint).reader(self.stream)
        self._truth: Tokens | None = None
        if truth is not None:
            self._truth = Tokens()
            self._truth.extend(truth, -1)
        self._folds: dict[int, _Fold] = {}
        self._rebuilt: tuple[int, Reconstruction | None, _Fold | None] | None = None
        """The event of the final object, and the tokens and messages reconstructed from it."""

    def receive(self, events: Sequence[Event]) -> None:
        """Read some more events."""
        if self._repeats:
            read = [
                event if at not in self._repeats else event._replace(kind=EventKind.COMMENT)
                for at, event in enumerate(events, len(self.events))
            ]
            self._wire.receive(read)
        else:
            self._wire.receive(events)
        self.events.extend(events)

    def reading(self, *, end: End | None = None, notes: tuple[str, ...] = (), ended: bool = False) -> Reading:
        """What has been read so far."""
        if ended and not self._repeats and (repeats := repeated_events(self.events, self.stream)):
            truth = None if self._truth is None else self._truth.ids
            reader = Reader(self.header, truth=truth, repeats=repeats)
            reader.receive(self.events)
            return reader.reading(end=end, notes=notes, ended=True)
        if not self.stream.choices:
            self.stream.choice(0)
        choices = [self._choice(self.stream.choices[index]) for index in sorted(self.stream.choices)]
        return Reading(
            header=self.header,
            events=self.events,
            end=end,
            notes=notes,
            stream=self.stream,
            choices=choices,
            ended=ended,
            repeats=self._repeats,
        )

    def _choice(self, choice: StreamChoice) -> ChoiceReading:
        evidence, tokens = self._evidence(choice)
        has_ids = evidence in {Evidence.TOKEN_IDS, Evidence.GIVEN_IDS, Evidence.LOGPROBS}
        reconstruction, again = (None, None) if has_ids else self._reconstructed()
        if again is not None:
            evidence = Evidence.FINAL_OBJECT_AND_COUNT
        fold = self._folds.get(choice.index)
        if fold is None or fold.tokens is not tokens or fold.prompt_ids is not self.stream.prompt_ids:
            prompt = _prompt(self.header.request, self.stream.prompt_ids, tokens)
            fold = _Fold(tokens, self.stream.prompt_ids, HarmonyTracker(prompt), Transcript())
            if tokens:  # before the first token nothing is certain, not even how the prompt ends
                self._folds[choice.index] = fold
        transcript = fold.transcript
        contract = _engine_of(self.header, self.stream).contract
        new = tokens.ids[transcript.count :] if transcript.count else tokens.ids
        if new:
            transcript.receive(fold.tracker.receive(new), len(tokens.ids))
        reading = ChoiceReading(
            index=choice.index,
            evidence=evidence,
            tokens=tokens,
            transcript=transcript,
            expected=expect(transcript, contract, last_id=tokens.ids[-1] if tokens else None),
            deltas=choice.deltas,
            finals=choice.item_finals if self.stream.final_event is None else choice.finals,
            finish_reason=choice.finish_reason,
            reconstruction=reconstruction,
        )
        if again is not None:
            reading.rebuilt = replace(
                reading,
                tokens=again.tokens,
                transcript=again.transcript,
                expected=expect(again.transcript),
                reconstructed=True,
            )
        return reading

    def _reconstructed(self) -> tuple[Reconstruction | None, "_Fold | None"]:
        """The tokens according to the final object, and their messages if the count confirms them."""
        stream = self.stream
        if stream.final_object is None or stream.final_event is None or stream.final_status == "failed":
            return None, None
        if self._rebuilt is None or self._rebuilt[0] != stream.final_event:
            reconstruction = reconstructed(
                stream.final_object, limit=self.header.request.get("max_output_tokens")
            )
            fold = None if reconstruction is None or not reconstruction.confirmed else _folded(reconstruction)
            self._rebuilt = stream.final_event, reconstruction, fold
        return self._rebuilt[1:]

    def _has_all(self, tokens: Tokens) -> bool:
        """Whether logprobs are evidence: they are all, or their server leaves out none for what it drops."""
        engine = _engine_of(self.header, self.stream)
        return not engine.logprobs_of_text or self.stream.counted == len(tokens)

    def _evidence(self, choice: StreamChoice) -> tuple[Evidence, Tokens]:
        if self._truth is not None and choice.index == 0:
            return Evidence.GIVEN_IDS, self._truth
        if choice.tokens:
            return Evidence.TOKEN_IDS, choice.tokens
        if choice.logprob_tokens and choice.logprobs_whole and self._has_all(choice.logprob_tokens):
            return Evidence.LOGPROBS, choice.logprob_tokens
        # A body is its own final object: comparing it with itself proves nothing.
        ended = self.stream.final_event is not None and not self.stream.bodies
        if ended or choice.item_finals:
            return Evidence.FINAL_OBJECT, choice.tokens
        return (Evidence.NONE if self.stream.counted is None else Evidence.USAGE), choice.tokens


def _engine_of(header: Header, stream: Stream) -> Engine:
    return engine_of(
        owned_by=header.owned_by,
        version=header.server_version,
        # A recorder of this program asks every server for token IDs, so its requests tell nothing.
        request=header.request if header.started_at is None else None,
        model=header.model,
        stream=stream,
    )


def read(capture: Capture, *, truth: Sequence[int] | None = None) -> Reading:
    """Read a whole capture; `truth` are token IDs known from outside it (see `Reader`)."""
    reader = Reader(capture.header, truth=truth)
    with collector_paused():
        reader.receive(capture.events)
        growing = capture.unfinished and reader.stream.terminal_event is None
        notes = (*capture.notes, UNFINISHED) if growing else capture.notes
        return reader.reading(end=capture.end, notes=notes, ended=not growing)


def _is_foreign(choice: ChoiceReading) -> bool:
    """Whether sent tokens have neither a Harmony message nor the text that was delivered."""
    ids = choice.tokens.ids
    if choice.evidence not in {Evidence.TOKEN_IDS, Evidence.LOGPROBS} or not ids:
        return False
    if any(message.in_body for message in choice.transcript.messages):
        return False
    if not _FRAMING.isdisjoint(ids):
        return False
    # Logprob entries name tokens by their text, which tokens of any vocabulary have.
    if choice.evidence is Evidence.LOGPROBS:
        return True
    delivered = "".join(delta.text for delta in choice.deltas)
    words = {text for text in texts(ids) if len(text.strip()) >= _WORD_LENGTH}
    if not delivered or not words:
        return bool(delivered) and text_of(ids) != delivered
    return 2 * sum(word in delivered for word in words) < len(words)


def _prompt(request: Any, prompt_ids: Sequence[int] | None, tokens: Tokens) -> Sequence[int] | None:
    """IDs that the completion continues, as far as they matter to its grammar; None for the usual."""
    prompt = prompt_ids
    requested = request.get("prompt")
    if (
        prompt is None
        and isinstance(requested, list)
        and requested
        and all(type(item) is int for item in requested)
    ):
        prompt = requested
    if prompt is None and isinstance(requested, str) and Marker.START.text in requested:
        prompt = encode(requested[requested.rindex(Marker.START.text) :])
    if prompt is not None and Marker.START in prompt:
        return prompt
    # No Harmony prompt is known: a stream that begins with <|start|> has its own role.
    return () if tokens.ids and tokens.ids[0] == Marker.START else None


def _folded(reconstruction: Reconstruction) -> _Fold:
    """The messages of reconstructed tokens, turn by turn: tool results are in the prompt of a later turn."""
    tokens, transcript, tracker = Tokens(), Transcript(), HarmonyTracker()
    tokens.extend(reconstruction.ids, -1)
    for start, end in zip(
        reconstruction.turns, (*reconstruction.turns[1:], len(reconstruction.ids)), strict=True
    ):
        tracker = HarmonyTracker()
        transcript.receive([shifted(event, start) for event in tracker.receive(tokens.ids[start:end])], end)
    return _Fold(tokens, None, tracker, transcript)
