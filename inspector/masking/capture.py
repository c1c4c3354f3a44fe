"""A capture with stand-ins for all of its text, on both sides, so that the audit finds the same.

The tokens have stand-ins first. Delivered text has those of the characters of which it is a piece; where no
token tells, it is taken to be a piece of the server's final texts, or it has stand-ins of its own.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum, auto
from functools import partial
from typing import Any, Final

from inspector.alignment import embed_or_align
from inspector.capture import Capture, Event, EventKind
from inspector.errors import InspectorError
from inspector.harmony.text import text_of
from inspector.inspection import Inspection, inspect
from inspector.masking.keys import (
    CHOSEN_NAMES,
    FIELD_OF_KEY,
    ID_SETS,
    IDS,
    KEPT,
    KEPT_OF_ERRORS,
    KEPT_WORDS,
    NAMES,
    OF_USERS,
    PARTS,
    WORD,
)
from inspector.masking.logprobs import Logprobs
from inspector.masking.pieces import Known
from inspector.masking.sequences import GRAMMAR, masked_ids, transcript_of
from inspector.masking.standins import Standins
from inspector.masking.words import Words
from inspector.reading import ChoiceReading, Reading
from inspector.wire.endpoints import DONE
from inspector.wire.stream import loads

__all__ = ["MaskingFailed", "findings_of", "masked"]

_ATTEMPTS: Final = 6


class _Place(Enum):
    """What a value of JSON belongs to."""

    EVENT = auto()
    """What the server says, in which an error may follow."""
    PART = auto()
    """A request, or what a model or a tool wrote."""
    ERROR = auto()
    """The server's own words: what they quote is replaced."""
    USER = auto()
    """JSON that a user or a model made: keys are text too."""


class MaskingFailed(InspectorError):
    """A capture for which no stand-ins were found that leave its findings as they are."""


def masked(capture: Capture, standins: Standins, *, name: str = "the capture") -> Capture:
    """The capture with stand-ins for its text; its audit gives the same findings, which is checked.

    Raises MaskingFailed where that does not succeed.
    """
    before = inspect(capture)
    wanted = findings_of(before)
    with suppress(RecursionError):  # nested deeper than can be walked
        for attempt in range(_ATTEMPTS):
            one = standins if not attempt else standins.another(attempt)
            found = _Masking(capture, before.reading, one).capture()
            if findings_of(inspect(found)) == wanted:
                return found
    raise MaskingFailed(
        f"{name}: the text cannot be replaced without changing the findings; share its `audit --json` instead"
    )


def findings_of(seen: Inspection) -> tuple[object, ...]:
    """What the audit finds, without what it quotes."""
    return (
        seen.verdict.level,
        None if seen.cause is None else seen.cause.id,
        [choice.evidence for choice in seen.reading.choices],
        [len(choice.tokens) for choice in seen.reading.choices],
        [
            (
                one.kind,
                one.code,
                one.severity,
                one.field,
                one.delivered_in,
                (one.token_start, one.token_end, one.event_start, one.event_end),
                (one.choice, one.sent, one.facts.call, one.facts.counted, one.facts.seen),
                one.facts.channel if GRAMMAR.fullmatch(one.facts.channel or "") else None,
                one.known_issues,
                None if cause is None else cause.id,
            )
            for one, cause in zip(seen.findings, seen.causes, strict=True)
        ],
    )


class _Masking:
    """Replaces the text of one capture."""

    def __init__(self, capture: Capture, reading: Reading, standins: Standins) -> None:
        self._capture = capture
        self._standins = standins
        self._known = Known(standins)
        self._tokens: dict[int, tuple[Sequence[int], list[int]]] = {}
        self._next: defaultdict[int, int] = defaultdict(int)
        """How many tokens of each choice have been replaced in the events."""
        self._words = Words(self._known, standins)
        self._logprobs = Logprobs(self._tokens, self._words, standins)
        self._deltas: defaultdict[int, list[tuple[str, str, str]]] = defaultdict(list)
        """Field, text and stand-in of what each event delivered."""
        for choice in reading.choices:
            self._ids_of(choice)
        prompt = reading.stream.prompt_ids
        if prompt:
            self._known.quote(text_of(prompt), text_of(masked_ids(prompt, transcript_of(prompt), standins)))
        for text in self._finals(reading):
            self._known.add(text, self._known.slice(text) or self._text(text))
        for choice in reading.choices:
            self._deltas_of(choice)
        self._request(capture.header.request)

    def capture(self) -> Capture:
        """The capture with stand-ins."""
        header = self._capture.header
        end = self._capture.end
        script = header.script
        return replace(
            self._capture,
            header=replace(
                header,
                request=self._value(header.request, "request", _Place.PART),
                script=None if script is None else tuple(self._sequence(script)),
                extra={
                    self._key(key): self._value(value, key, _Place.PART)
                    for key, value in header.extra.items()
                },
            ),
            events=[self._event(event, number) for number, event in enumerate(self._capture.events)],
            end=None if end is None else replace(end, detail=self._words.masked(end.detail)),
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
        found: set[str] = set()
        for choice in reading.choices:
            found.update(choice.finals.values())
            found.update(reading.stream.choice(choice.index).item_finals.values())
        messages = (reading.stream.final_object or {}).get("output_messages")
        for message in messages if isinstance(messages, list) else ():
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else ():
                if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                    found.add(text)
        return sorted(filter(None, found), key=lambda text: (-len(text), text))

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
        told = choice.generated()
        wholes = choice.finals if told is None else told.by_field()
        whole = wholes.get(field)
        standin = None if whole is None else self._known.slice(whole)
        if not whole or standin is None:
            return None
        gaps, rest = embed_or_align(whole, texts)
        if rest:
            return None
        parts, at = [], 0
        for start, end, _, _ in gaps:
            parts.append(standin[at:start])
            at = end
        found = "".join([*parts, standin[at:]])
        return found if len(found) == sum(map(len, texts)) else None

    def _request(self, value: Any) -> None:
        """Remember the texts of the request: errors quote them."""
        pending = [("", value)]
        while pending:
            key, one = pending.pop()
            if isinstance(one, str) and key not in KEPT:
                self._known.quote(one, self._text(one))
            elif isinstance(one, Mapping):
                pending.extend(one.items())
            elif isinstance(one, list | tuple):
                pending.extend((key, inner) for inner in one)

    # What is replaced.

    def _event(self, event: Event, number: int) -> Event:
        event = event._replace(name=self._key(event.name))
        if event.kind is EventKind.COMMENT:
            return event._replace(data=self._words.masked(event.data))
        if event.data == DONE or not event.data:
            return event
        payload = loads(event.data)
        if payload is None or isinstance(payload, str):
            failed = event.kind is EventKind.BODY and (self._capture.header.status or 200) >= 400
            data = self._words.masked(event.data) if failed else self._text(event.data)
            return event._replace(data=data)
        return event._replace(data=_dumped(self._value(payload, "", _Place.EVENT, number), event.data))

    def _value(self, value: Any, key: str, place: _Place, event: int = -1, choice: int = 0) -> Any:
        """Any value of JSON with stand-ins for its text."""
        if isinstance(value, str):
            return self._string(value, key, place, event)
        if isinstance(value, Mapping):
            return self._object(value, key, place, event, choice)
        if isinstance(value, list | tuple):
            return self._list(value, key, place, event, choice)
        if key == "stop_reason" and type(value) is int:
            return self._standins.token(value)
        return value

    def _list(self, value: Sequence[Any], key: str, place: _Place, event: int, choice: int) -> list[Any]:
        if (key in IDS or key in {"", "prompt"}) and value and all(type(one) is int for one in value):
            own = event >= 0 and key != "prompt_token_ids"
            return self._ids(value, choice) if own else self._sequence(value)
        if key in ID_SETS:
            return [
                self._standins.token(one) if type(one) is int else self._value(one, key, place, event, choice)
                for one in value
            ]
        if key == "logprobs" and event >= 0:
            return [self._logprobs.loose(one) for one in value]
        if key == "prompt_logprobs" and event >= 0:
            return [self._logprobs.by_id(one) for one in value]
        return [self._value(one, key, place, event, choice) for one in value]

    def _object(
        self, value: Mapping[str, Any], key: str, place: _Place, event: int, choice: int
    ) -> dict[str, Any]:
        inner = partial(self._value, event=event, choice=choice)
        if key == "logprobs" and event >= 0:
            return self._logprobs.masked(value, choice)
        if key == "logit_bias":
            return {
                str(self._standins.token(int(one)) if one.isdecimal() else one): bias
                for one, bias in value.items()
            }
        if place is _Place.USER or key in OF_USERS or (place is _Place.ERROR and key == "input"):
            return {self._text(one): inner(item, "", _Place.USER) for one, item in value.items()}
        if key in CHOSEN_NAMES:
            return {self._text(one): inner(item, "property", place) for one, item in value.items()}
        number = value.get("index") if key == "choices" else None
        choice = number if type(number) is int else choice
        if place is _Place.EVENT and "error" in (value.get("object"), value.get("type")):
            place = _Place.ERROR
        return {
            self._key(one): self._value(item, one, _inside(one, item, place), event, choice)
            for one, item in value.items()
        }

    def _string(self, text: str, key: str, place: _Place, event: int) -> str:
        if not text:
            return text
        if place is _Place.ERROR:
            kept = key in KEPT_OF_ERRORS and WORD.fullmatch(text)
            return text if kept else self._text(text) if key == "input" else self._words.masked(text)
        users = place is _Place.USER or key in OF_USERS
        if not users and ((key in KEPT and WORD.fullmatch(text)) or text in KEPT_WORDS.get(key, ())):
            return text
        told = self._deltas.get(event)
        if told:
            field = FIELD_OF_KEY.get(key, "")
            for one in told:
                if one[1] == text and field in one[0]:
                    if key != "reasoning":  # `reasoning_content` says the same once more
                        told.remove(one)
                    return one[2]
        if key in NAMES and not users:
            return self._name(text)
        return self._known.mapped(text, least=8) if event >= 0 else self._text(text)

    def _text(self, text: str) -> str:
        exact = self._known.exact(text)
        if exact is not None:
            return exact
        return self._standins.text(text, GRAMMAR if "<|" in text else None)

    def _key(self, key: str) -> str:
        return key if WORD.fullmatch(key) else self._text(key)

    def _name(self, text: str) -> str:
        if GRAMMAR.fullmatch(text):
            return text
        if (found := self._known.slice(text)) is not None:
            return found
        if "<" in text or " " in text:
            return self._standins.text(text, GRAMMAR)
        owner, dot, name = text.rpartition(".")
        if dot and owner != "functions":
            return self._standins.name(text, GRAMMAR)
        return f"{owner}{dot}{self._known.slice(name) or self._standins.name(name, GRAMMAR)}"

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
        for own, standins in self._tokens.values():
            if list(own) == list(ids):
                return list(standins)
        return masked_ids(ids, transcript_of(ids), self._standins)


def _inside(key: str, value: Any, place: _Place) -> _Place:
    """What the value of a key belongs to."""
    if place is not _Place.EVENT:
        return place
    if key in {"error", "detail"} and value is not None:
        return _Place.ERROR
    return _Place.PART if key in PARTS else place


def _dumped(value: Any, before: str) -> str:
    """The value as JSON in the manner of the server."""
    compact = '": ' not in before
    separators = (",", ":") if compact else (", ", ": ")
    escaped = before.isascii()
    return json.dumps(value, ensure_ascii=escaped, separators=separators)
