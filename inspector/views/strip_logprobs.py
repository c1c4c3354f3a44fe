"""Log probabilities of the strip's cells, and what else the model might have written there."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from inspector.analysis.reading import ChoiceReading, Reading
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE
from inspector.protocol.wire.stream import loads
from inspector.views.payload import Cells, LogprobColumns
from inspector.views.placing import event_of_cells

_PROBED: Final = 64
"""Events among which a capture with logprobs has some."""
_CELLS_AT_MOST: Final = 20_000
_ALTERNATIVES_AT_MOST: Final = 5
_TEXT_AT_MOST: Final = 64
_MARKS: Final = ('"logprobs":{', '"logprobs": {', '"logprobs":[{', '"logprobs": [{')
_NAMED: Final = "token_id:"
_DIGITS: Final = len(str(VOCABULARY_SIZE))


class _Entry(NamedTuple):
    """What a server says of one token."""

    text: str
    logprob: float
    others: Sequence[tuple[str, float]]


def logprobs(reading: Reading, choice: ChoiceReading, cells: Cells) -> LogprobColumns | None:
    """By cell; None where the capture has none."""
    if not any(_tells(event.data) for event in islice(reading.events, _PROBED)):
        return None
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, event in enumerate(islice(event_of_cells(cells), _CELLS_AT_MOST)):
        places[event].append(place)
    values: list[float | None] = [None] * min(cells["count"], _CELLS_AT_MOST)
    top: dict[str, list[tuple[str, float]]] = {}
    for event, mine in places.items():
        if event < 0 or not _tells(reading.events[event].data):
            continue
        after = -1  # servers omit some tokens, so entries are matched by their text, in order
        for entry in _entries(reading.events[event].data, choice.index):
            found = next((one for one in mine if one > after and _text(cells, one) == entry.text), None)
            if found is None:
                continue
            after = found
            values[found] = entry.logprob
            if entry.others:
                top[str(found)] = list(entry.others)
    return {"values": values, "top": top} if any(value is not None for value in values) else None


def _tells(data: str) -> bool:
    return any(mark in data for mark in _MARKS)


def _text(cells: Cells, place: int) -> str | None:
    own = cells["texts"].get(str(place))
    if own is not None or cells["ids"] is None or cells["vocab"] is None:
        return own
    entry = cells["vocab"].get(str(cells["ids"][place]))
    return None if entry is None else entry[0]


def _entries(data: str, choice: int) -> Iterator[_Entry]:
    """The entries of an event for one choice, of chat, completions or Responses."""
    told = loads(data)
    if not isinstance(told, dict):
        return
    if isinstance(own := told.get("logprobs"), list):
        yield from _listed(own)
        return
    choices = told.get("choices")
    for one in choices if isinstance(choices, list) else ():
        if not isinstance(one, dict) or one.get("index", 0) != choice:
            continue
        found = one.get("logprobs")
        if not isinstance(found, dict):
            continue
        if isinstance(content := found.get("content"), list):
            yield from _listed(content)
        else:
            yield from _columns(found)


def _listed(entries: Sequence[Any]) -> Iterator[_Entry]:
    for entry in entries:
        if isinstance(entry, dict) and (known := _known(entry.get("token"), entry.get("logprob"))):
            top = entry.get("top_logprobs")
            rows = [one for one in top if isinstance(one, dict)] if isinstance(top, list) else []
            yield _Entry(*known, _others(known[0], ((one.get("token"), one.get("logprob")) for one in rows)))


def _columns(found: Mapping[str, Any]) -> Iterator[_Entry]:
    tokens, values, top = (found.get(name) for name in ("tokens", "token_logprobs", "top_logprobs"))
    if not isinstance(tokens, list) or not isinstance(values, list):
        return
    for place, (token, value) in enumerate(zip(tokens, values, strict=False)):
        if known := _known(token, value):
            row = top[place] if isinstance(top, list) and place < len(top) else None
            yield _Entry(*known, _others(known[0], row.items() if isinstance(row, dict) else ()))


def _known(token: object, value: object) -> tuple[str, float] | None:
    if not isinstance(token, str) or not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return (_shown(token), float(value)) if -1e5 < value <= 0 else None


def _others(text: str, rows: Any) -> list[tuple[str, float]]:
    """The likeliest alternatives, without the token itself."""
    known = [one for token, value in rows if (one := _known(token, value)) is not None and one[0] != text]
    known.sort(key=lambda one: -one[1])
    return [(other[:_TEXT_AT_MOST], value) for other, value in known[:_ALTERNATIVES_AT_MOST]]


def _shown(token: str) -> str:
    """The text of a token, also where the server names its ID instead."""
    digits = token.removeprefix(_NAMED)
    if digits == token or not digits.isascii() or not digits.isdigit() or len(digits) > _DIGITS:
        return token
    return text_of([int(digits)]) if int(digits) < VOCABULARY_SIZE else token
