"""Log probabilities of the strip's cells, and the likeliest alternatives."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from inspector.analysis.reading import ChoiceReading, Reading
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE
from inspector.protocol.wire.stream import loads
from inspector.views.payload import Cells, LogprobColumns
from inspector.views.strip.findings import event_of_cells

_PROBED: Final = 64
"""Leading events that are searched for logprobs; without any there, a capture has none."""
_CELLS_AT_MOST: Final = 20_000
_ALTERNATIVES_AT_MOST: Final = 5
_TEXT_AT_MOST: Final = 64
_MARKS: Final = ('"logprobs":{', '"logprobs": {', '"logprobs":[{', '"logprobs": [{')
_ID_PREFIX: Final = "token_id:"
_DIGITS: Final = len(str(VOCABULARY_SIZE))


class _Entry(NamedTuple):
    """What a server reports for one token."""

    text: str
    logprob: float
    alternatives: Sequence[tuple[str, float]]


def logprobs(reading: Reading, choice: ChoiceReading, cells: Cells) -> LogprobColumns | None:
    """Log probabilities by cell; None if the capture has none."""
    if not any(_has_logprobs(event.data) for event in islice(reading.events, _PROBED)):
        return None
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, event in enumerate(islice(event_of_cells(cells), _CELLS_AT_MOST)):
        places[event].append(place)
    values: list[float | None] = [None] * min(cells["count"], _CELLS_AT_MOST)
    top: dict[str, list[tuple[str, float]]] = {}
    for event, cells_of_event in places.items():
        if event < 0 or not _has_logprobs(reading.events[event].data):
            continue
        after = -1  # servers omit some tokens, so entries are matched by their text, in order
        for entry in _entries(reading.events[event].data, choice.index):
            match = next(
                (place for place in cells_of_event if place > after and _text(cells, place) == entry.text),
                None,
            )
            if match is None:
                continue
            after = match
            values[match] = entry.logprob
            if entry.alternatives:
                top[str(match)] = list(entry.alternatives)
    return {"values": values, "top": top} if any(value is not None for value in values) else None


def _has_logprobs(data: str) -> bool:
    return any(mark in data for mark in _MARKS)


def _text(cells: Cells, place: int) -> str | None:
    own = cells["texts"].get(str(place))
    if own is not None or cells["ids"] is None:
        return own
    entry = cells["vocab"].get(str(cells["ids"][place]))
    return None if entry is None else entry[0]


def _entries(data: str, choice: int) -> Iterator[_Entry]:
    """The entries of an event for one choice, of chat, completions or Responses."""
    body = loads(data)
    if not isinstance(body, dict):
        return
    if isinstance(own := body.get("logprobs"), list):
        yield from _listed(own)
        return
    choices = body.get("choices")
    for choice_body in choices if isinstance(choices, list) else ():
        if not isinstance(choice_body, dict) or choice_body.get("index", 0) != choice:
            continue
        reported = choice_body.get("logprobs")
        if not isinstance(reported, dict):
            continue
        if isinstance(content := reported.get("content"), list):
            yield from _listed(content)
        else:
            yield from _columns(reported)


def _listed(entries: Sequence[Any]) -> Iterator[_Entry]:
    for entry in entries:
        if isinstance(entry, dict) and (pair := _text_and_logprob(entry.get("token"), entry.get("logprob"))):
            top = entry.get("top_logprobs")
            rows = [row for row in top if isinstance(row, dict)] if isinstance(top, list) else []
            yield _Entry(
                *pair, _alternatives(pair[0], ((row.get("token"), row.get("logprob")) for row in rows))
            )


def _columns(reported: Mapping[str, Any]) -> Iterator[_Entry]:
    tokens, values, top = (reported.get(name) for name in ("tokens", "token_logprobs", "top_logprobs"))
    if not isinstance(tokens, list) or not isinstance(values, list):
        return
    for place, (token, value) in enumerate(zip(tokens, values, strict=False)):
        if pair := _text_and_logprob(token, value):
            row = top[place] if isinstance(top, list) and place < len(top) else None
            yield _Entry(*pair, _alternatives(pair[0], row.items() if isinstance(row, dict) else ()))


def _text_and_logprob(token: object, value: object) -> tuple[str, float] | None:
    if not isinstance(token, str) or not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return (_token_text(token), float(value)) if -1e5 < value <= 0 else None


def _alternatives(text: str, rows: Any) -> list[tuple[str, float]]:
    """The likeliest alternatives, without the token itself."""
    pairs = [
        pair
        for token, value in rows
        if (pair := _text_and_logprob(token, value)) is not None and pair[0] != text
    ]
    pairs.sort(key=lambda pair: -pair[1])
    return [(alternative[:_TEXT_AT_MOST], value) for alternative, value in pairs[:_ALTERNATIVES_AT_MOST]]


def _token_text(token: str) -> str:
    """The text of a token, also where the server names its ID instead."""
    digits = token.removeprefix(_ID_PREFIX)
    if digits == token or not digits.isascii() or not digits.isdigit() or len(digits) > _DIGITS:
        return token
    return text_of([int(digits)]) if int(digits) < VOCABULARY_SIZE else token
