"""A capture with stand-ins for all of its text, on both sides, so that the audit finds the same.

The tokens have stand-ins first. Delivered text has those of the characters of which it is a piece; where no
token tells, it is taken to be a piece of the server's final texts, or it has stand-ins of its own. What stays
is the published vocabulary (`vocabulary`) alone.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from inspector.analysis.alignment import embed_or_align
from inspector.analysis.prompt.prompt import prompt_of
from inspector.analysis.prompt.source import prompt_ids
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.capture import Capture, Event, EventKind, Header
from inspector.capture.errors import InspectorError
from inspector.inspection.inspection import Inspection, inspect
from inspector.inspection.masking.forms import FIRST_SPECIAL
from inspector.inspection.masking.logprobs import Logprobs, id_named
from inspector.inspection.masking.pieces import MaskedTexts
from inspector.inspection.masking.standins import Standins
from inspector.inspection.masking.vocabulary import (
    CHOSEN_NAMES,
    FIELD_OF_KEY,
    FREE,
    GRAMMAR,
    HEADER,
    ID_SETS,
    IDS,
    KEPT,
    KEYS,
    NAMES,
    TEMPLATE,
    WORDED,
)
from inspector.inspection.masking.words import Words
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript
from inspector.protocol.harmony.vocab import Marker, encode_plain
from inspector.protocol.wire.endpoints import DONE
from inspector.protocol.wire.stream import loads

_ATTEMPTS: Final = 6
"""Keys that are tried until the audit of the copy finds the same."""
_ROOT: Final = "response"
"""A name that leads to published names."""
_OWNER: Final = "functions."
_LEAST: Final = 8
"""Characters of a piece of a known text that count: shorter ones are everywhere."""


class MaskingFailed(InspectorError):
    """A capture for which no stand-ins were found that leave its findings as they are."""


def masked(capture: Capture, standins: Standins, *, name: str = "the capture") -> Capture:
    """The capture with stand-ins for its text; its audit gives the same findings, which is checked.

    Raises MaskingFailed where that does not succeed.
    """
    before = inspect(capture)
    expected = findings_of(before)
    with suppress(RecursionError):  # nested deeper than can be walked
        for attempt in range(_ATTEMPTS):
            tried = standins if not attempt else standins.another(attempt)
            copy = _Masking(capture, before.reading, tried).capture()
            if findings_of(inspect(copy)) == expected:
                return copy
    raise MaskingFailed(
        f"{name}: the text cannot be replaced without changing the findings; share its `audit --json` instead"
    )


def _defined(channel: str | None) -> str | None:
    """A channel that Harmony defines."""
    return channel if GRAMMAR.fullmatch(channel or "") else None


def findings_of(inspection: Inspection) -> tuple[object, ...]:
    """What the audit finds, without what it quotes."""
    prompt = prompt_of(inspection.reading)
    return (
        inspection.verdict.level,
        None if inspection.cause is None else inspection.cause.id,
        [choice.evidence for choice in inspection.reading.choices],
        [len(choice.tokens) for choice in inspection.reading.choices],
        [
            (
                finding.kind,
                finding.code,
                finding.severity,
                finding.field,
                finding.delivered_in,
                (finding.token_start, finding.token_end, finding.event_start, finding.event_end),
                (finding.choice, finding.sent),
                [finding.fact_row().get(key) for key in ("call", "counted", "seen")],
                _defined(finding.fact_row().get("channel")),
                finding.known_issues,
                None if cause is None else cause.id,
            )
            for finding, cause in zip(inspection.findings, inspection.causes, strict=True)
        ],
        None if prompt is None else (prompt.source, bool(prompt.unknown), prompt.identical),
        [
            (difference.code, difference.message, difference.request_message, difference.times)
            for difference in (() if prompt is None else prompt.differences)
        ],
    )


class _Masking:
    """Replaces the text of one capture."""

    def __init__(self, capture: Capture, reading: Reading, standins: Standins) -> None:
        self._capture = capture
        self._standins = standins
        self._known = MaskedTexts(standins)
        self._tokens: dict[int, tuple[Sequence[int], list[int]]] = {}
        self._next: defaultdict[int, int] = defaultdict(int)
        """How many tokens of each choice have been replaced in the events."""
        self._words = Words(self._known, standins)
        self._logprobs = Logprobs(
            self._tokens, self._words, standins, lambda value: self._value(value, _ROOT)
        )
        self._deltas: defaultdict[int, list[tuple[str, str, str]]] = defaultdict(list)
        """Field, text and stand-in of what each event delivered."""
        self._texts: dict[tuple[str, bool], str] = {}
        self._sequences: list[tuple[Sequence[int], list[int]]] = []
        for choice in reading.choices:
            self._ids_of(choice)
        self._names: dict[str, str] = {}
        """Functions that the response calls: the request and the prompt have the names of its tokens."""
        messages = (reading.stream.final_object or {}).get("input_messages")
        for name in _names_in([capture.header.request, messages]):
            if (standin := self._called(name)) is not None:
                self._names[name] = standin
        self._prompt = MaskedTexts(standins)
        if (prompt := prompt_ids(reading)) is not None:
            self._prompt.add(text_of(prompt.ids), text_of(self._sequence(prompt.ids)))
        for text in self._finals(reading):
            fixed = GRAMMAR if "<|" in text else None
            self._known.add(text, self._known.slice(text) or self._standins.text(text, fixed))
        for choice in reading.choices:
            self._deltas_of(choice)

    def capture(self) -> Capture:
        """The capture with stand-ins."""
        end = self._capture.end
        return replace(
            self._capture,
            header=self._header(self._capture.header),
            events=[self._event(event, number) for number, event in enumerate(self._capture.events)],
            end=None
            if end is None
            else replace(end, detail=self._words.masked(end.detail), unread=self._words.masked(end.unread)),
            notes=tuple(map(self._words.masked, self._capture.notes)),
        )

    # What is known before anything is replaced.

    def _ids_of(self, choice: ChoiceReading) -> None:
        ids = choice.tokens.ids
        if not ids:
            return
        standins = masked_ids(ids, choice.transcript, self._standins)
        self._tokens[choice.index] = ids, standins
        self._known.add(text_of(ids), text_of(standins))

    def _finals(self, reading: Reading) -> list[str]:
        """Whole texts of Responses, the longest first."""
        texts: set[str] = set()
        for choice in reading.choices:
            texts.update(choice.finals.values())
            texts.update(reading.stream.choice(choice.index).item_finals.values())
        messages = (reading.stream.final_object or {}).get("output_messages")
        for message in messages if isinstance(messages, list) else ():
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                    texts.add(text)
        return sorted(filter(None, texts), key=lambda text: (-len(text), text))

    def _deltas_of(self, choice: ChoiceReading) -> None:
        joined: dict[str, list[str]] = {}
        for delta in choice.deltas:
            joined.setdefault(delta.field, []).append(delta.text)
        standins = {}
        for field, texts in joined.items():
            text = "".join(texts)
            standins[field] = (
                self._name(text)
                if field.endswith(".name")
                else self._kept_of(choice, field, texts) or self._known.mapped(text)
            )
            self._known.add(text, standins[field])
        at: defaultdict[str, int] = defaultdict(int)
        for event, field, text in choice.deltas:
            start, end = at[field], at[field] + len(text)
            self._deltas[event].append((field, text, standins[field][start:end]))
            at[field] = end

    def _kept_of(self, choice: ChoiceReading, field: str, texts: Sequence[str]) -> str | None:
        """The stand-in of a field that delivers a text with gaps; None where it holds other text too."""
        generated = choice.generated()
        wholes = choice.finals if generated is None else generated.by_field()
        complete = wholes.get(field)
        standin = None if complete is None else self._known.slice(complete)
        if not complete or standin is None:
            return None
        gaps, rest = embed_or_align(complete, texts)
        if rest:
            return None
        parts, at = [], 0
        for start, end, _, _ in gaps:
            parts.append(standin[at:start])
            at = end
        joined = "".join([*parts, standin[at:]])
        return joined if len(joined) == sum(map(len, texts)) else None

    # What is replaced.

    def _header(self, header: Header) -> Header:
        texts = ("model", "server_version", "owned_by", "started_at", "source")
        return replace(
            header,
            **{key: self._value(getattr(header, key), key) for key in texts},
            request=self._value(header.request, _ROOT),
            script=None if header.script is None else tuple(self._sequence(header.script)),
            extra={self._text(key): self._value(value, "") for key, value in header.extra.items()},
        )

    def _event(self, event: Event, number: int) -> Event:
        event = event._replace(name=self._string(event.name, "event", -1))
        if event.data == DONE and event.kind is not EventKind.COMMENT:
            return event
        payload = None if event.kind is EventKind.COMMENT else loads(event.data)
        if payload is None or isinstance(payload, str):
            return event._replace(data=self._words.masked(event.data))
        root = _ROOT if isinstance(payload, dict) else "tokens" if isinstance(payload, list) else ""
        return event._replace(data=_dumped(self._value(payload, root, number), event.data))

    def _value(self, value: Any, key: str, event: int = -1, choice: int = 0) -> Any:
        """A value of JSON with stand-ins for its text; `key` is empty where no published name leads to it."""
        if isinstance(value, str):
            return self._string(value, key, event)
        key = "" if key in FREE else key
        if isinstance(value, Mapping):
            return self._object(value, key, event, choice)
        if isinstance(value, list | tuple):
            return self._list(value, key, event, choice)
        if key in {"matched_stop", "stop_reason", "token_id"} and type(value) is int:
            return self._standins.token(value)
        if not key and type(value) in {int, float}:
            return json.loads(self._text(json.dumps(value), event))
        return value

    def _list(self, value: Sequence[Any], key: str, event: int, choice: int) -> list[Any]:
        if key in IDS and value and all(type(item) is int for item in value):
            return self._ids(value, choice) if event >= 0 else self._sequence(value)
        if key == "logprobs" and event >= 0:
            return [self._logprobs.loose(item) for item in value]
        if key == "prompt_logprobs" and event >= 0:
            return [self._logprobs.by_id(item) for item in value]
        if key == "tools":  # a list, and no object by names
            key = "tool"
        if key == "input_messages":  # the prompt
            event = -1
        return [
            self._standins.token(item)
            if key in IDS | ID_SETS and type(item) is int
            else self._value(item, key, event, choice)
            for item in value
        ]

    def _object(self, value: Mapping[str, Any], key: str, event: int, choice: int) -> dict[str, Any]:
        if key == "logprobs" and event >= 0:
            return self._logprobs.masked(value, choice)
        if key == "logit_bias":
            return {
                str(self._standins.token(token_id))
                if (token_id := id_named(name)) is not None
                else self._text(name, event): item
                if isinstance(item, int | float)
                else self._value(item, "", event)
                for name, item in value.items()
            }
        if key in CHOSEN_NAMES or key == "tools":
            name_of = self._name if key == "tools" else self._text
            return {
                name_of(name, event): self._value(item, "property", event, choice)
                for name, item in value.items()
            }
        number = value.get("index") if key == "choices" else None
        choice = number if type(number) is int else choice
        masked_object: dict[str, Any] = {}
        for name, item in value.items():
            inner = name if key and name in KEYS else ""
            called = inner == "input" and isinstance(item, Mapping)  # the arguments of a call on Messages
            within = "" if called else inner
            masked_object[inner or self._text(name, event)] = self._value(item, within, event, choice)
        return masked_object

    def _string(self, text: str, key: str, event: int) -> str:
        if not text:
            return text
        if key in KEPT and (kept := KEPT[key].match(text)) is not None:
            return kept[0] + self._text(text[kept.end() :], event)
        deltas = self._deltas.get(event)
        if deltas:
            field = FIELD_OF_KEY.get(key, "")
            for delta in deltas:
                if delta[1] == text and field in delta[0]:
                    if key != "reasoning":  # `reasoning_content` says the same once more
                        deltas.remove(delta)
                    return delta[2]
        if key in NAMES:
            return self._name(text, event)
        return self._words.masked(text) if key in WORDED else self._text(text, event)

    def _text(self, text: str, event: int = -1) -> str:
        """The stand-in of any text: of the response in an event, else word for word as in the prompt."""
        key = text, event >= 0
        if key not in self._texts:
            self._texts[key] = self._of_response(text) if event >= 0 else self._of_request(text)
        return self._texts[key]

    def _of_response(self, text: str) -> str:
        standin = self._known.slice(text, replaced=True)
        return self._known.mapped(text, least=_LEAST) if standin is None else standin

    def _of_request(self, text: str) -> str:
        spelled = "<|" in text
        standin = self._prompt.slice(text) if spelled else None
        return standin or self._standins.words(text, GRAMMAR if spelled else TEMPLATE, self._names)

    def _name(self, text: str, event: int = -1) -> str:
        """The stand-in of a word of a header."""
        if GRAMMAR.fullmatch(text):
            return text
        owner = _OWNER if text.startswith(_OWNER) else ""
        if (standin := self._called(text[len(owner) :])) is not None:
            return owner + standin
        if event < 0:
            return owner + self._text(text[len(owner) :])
        return self._known.slice(text) or self._standins.text(text, GRAMMAR)

    def _called(self, name: str) -> str | None:
        """The stand-in of a name in the response, of a function that it calls if there is one."""
        for owner in (_OWNER, ""):
            if (standin := self._known.slice(owner + name, replaced=True)) is not None:
                return standin[len(owner) :]
        return None

    def _ids(self, ids: Sequence[int], choice: int) -> list[int]:
        """Token IDs of an event: the next ones of the choice."""
        own, standins = self._tokens.get(choice, ((), []))
        start = self._next[choice]
        if list(own[start : start + len(ids)]) == list(ids):
            self._next[choice] = start + len(ids)
            return standins[start : start + len(ids)]
        return self._sequence(ids)

    def _sequence(self, ids: Sequence[int]) -> list[int]:
        """Token IDs that are no event's: a prompt, a script."""
        for own, standins in [*self._tokens.values(), *self._sequences]:
            if list(own) == list(ids):
                return list(standins)
        self._sequences.append((ids, masked_prompt(ids, self._standins, self._names)))
        return list(self._sequences[-1][1])


def _names_in(value: Any) -> Iterator[str]:
    """What stands under `name`, at any depth."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += item.values()
            if isinstance(name := item.get("name"), str) and name and not GRAMMAR.fullmatch(name):
                yield name
        elif isinstance(item, list | tuple):
            pending += item


def _dumped(value: Any, before: str) -> str:
    """The value as JSON in the manner of the server."""
    compact = '": ' not in before
    separators = (",", ":") if compact else (", ", ": ")
    escaped = before.isascii()
    return json.dumps(value, ensure_ascii=escaped, separators=separators)


def masked_ids(ids: Sequence[int], transcript: Transcript, standins: Standins) -> list[int]:
    """A stand-in for each token of text; in headers and rejected runs words of the grammar stay."""
    masked = list(ids)
    for start, end, in_body in _runs(ids, transcript):
        masked[start:end] = standins.ids(ids[start:end], None if in_body else GRAMMAR)
    return masked


def masked_prompt(ids: Sequence[int], standins: Standins, names: Mapping[str, str]) -> list[int]:
    """A prompt with a stand-in for each word, the same one that the word has in the request."""
    transcript = Transcript()
    transcript.receive(HarmonyTracker(()).receive(ids), len(ids))
    masked: list[int] = []
    at = 0
    for start, end, in_body in _runs(ids, transcript):
        text = standins.words(text_of(ids[start:end]), TEMPLATE if in_body else HEADER, names)
        masked += [*ids[at:start], *encode_plain(text)]
        at = end
    return [*masked, *ids[at:]]


def _runs(ids: Sequence[int], transcript: Transcript) -> list[tuple[int, int, bool]]:
    """Tokens of text that stand together: start, end, and whether they are in a body."""
    body = bytearray(len(ids))
    for message in transcript.messages:
        if message.in_body:
            body[message.body : message.body_end] = b"\1" * (message.body_end - message.body)
    for rejected_run in transcript.rejected_runs:
        inside = False
        for place in range(max(rejected_run.at, 0), min(rejected_run.end, len(ids))):
            body[place] = inside
            inside = ids[place] == Marker.MESSAGE or (inside and ids[place] < FIRST_SPECIAL)
    runs: list[tuple[int, int, bool]] = []
    start = 0
    for place in range(len(ids) + 1):
        ends = place == len(ids) or not 0 <= ids[place] < FIRST_SPECIAL
        if ends or body[place] != body[start]:
            if start < place:
                runs.append((start, place, bool(body[start])))
            start = place + 1 if ends else place
    return runs
