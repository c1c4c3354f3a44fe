"""A choice aligned as its request asks for it: what was echoed, where it stopped, which markers it shows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from inspector.analysis.alignment.cells import Extra, visible
from inspector.analysis.alignment.fields import Alignment, Ending, align
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.capture import EventKind
from inspector.capture.deltas import Delta
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.stream import token_ids


def alignments(reading: Reading) -> dict[int, Alignment | None]:
    """The alignment of each choice, by its index, of reconstructed tokens where none were sent.

    None where it cannot be determined.
    """
    if reading.foreign:
        return dict.fromkeys(choice.index for choice in reading.choices)
    return {choice.index: align_choice(reading, choice.rebuilt or choice) for choice in reading.choices}


def align_choice(reading: Reading, choice: ChoiceReading) -> Alignment | None:
    """Where the tokens of a choice were delivered; None when that cannot be told."""
    request = reading.header.request
    if not choice.has_ids or not reading.spec.delivers:
        return None
    raw = reading.spec.raw
    if raw:
        shown = _without_prompt(reading, choice)
        if shown is None:
            return None  # the prompt stands before the text, and it is not known
        choice = shown
    laid = align(
        choice,
        raw=raw,
        skip_special=raw and _skips_special(request, choice),
        ending=Ending(
            stops=_strings(request.get("stop")),
            stop_ids=frozenset(token_ids(request.get("stop_token_ids"))),
            included=request.get("include_stop_str_in_output") is True,
        ),
        unstreamed=_unstreamed(reading, choice),
    )
    _mark_separators(choice, laid.extras)
    return laid


def _mark_separators(choice: ChoiceReading, extras: list[Extra]) -> None:
    """Mark what the server puts between two messages of a field, once for each place between two."""
    separator, events = choice.expected.separator, choice.tokens.events
    gaps: dict[str, list[tuple[int, int]]] = {}
    marked: list[Extra] = []
    for extra in extras:
        count = len(extra.text) // len(separator) if separator else 0
        if extra.separates or not count or extra.text != separator * count:
            marked.append(extra)
            continue
        if extra.field not in gaps:
            found = choice.expected.gaps(extra.field, choice.tokens.ids)
            gaps[extra.field] = [(events[end - 1], events[start]) for end, start in found]
        left = gaps[extra.field]
        last = extra.event if extra.last_event is None else extra.last_event
        here = [gap for gap in left if gap[0] < 0 or (gap[0] <= last and extra.event <= gap[1])][:count]
        for gap in here:
            left.remove(gap)
            event = extra.event if gap[0] < 0 else min(max(extra.event, gap[0]), last)
            marked.append(Extra(event, extra.field, separator, separates=True))
        if len(here) < count:
            rest = separator * (count - len(here))
            marked.append(extra if not here else replace(extra, text=rest, start=None, end=None))
    extras[:] = marked


def _skips_special(request: Mapping[str, Any], choice: ChoiceReading) -> bool:
    """Whether a completion leaves markers out; where the request does not say, markers in its text do."""
    asked = request.get("skip_special_tokens")
    if isinstance(asked, bool):
        return asked
    text = "".join([delta.text for delta in choice.deltas])
    return not any(marker.text in text for marker in Marker)


def _without_prompt(reading: Reading, choice: ChoiceReading) -> ChoiceReading | None:
    """The choice without the prompt that `echo` puts before its text, as vLLM's ids are of the answer only.

    None where the prompt is asked for and not known.
    """
    request = reading.header.request
    echo, asked = request.get("echo"), request.get("prompt")
    if echo is False or (echo is None and request):
        return choice
    ids = reading.stream.prompt_ids or token_ids(asked)
    prompt = asked if isinstance(asked, str) else text_of(ids) if ids else None
    text = "".join([delta.text for delta in choice.deltas])
    if not request and prompt is None:  # a dump without its request: all before the answer is the prompt
        ids = choice.tokens.ids
        answers = (text_of(visible(some, skip)) for some in (ids, ids[:-1]) for skip in (False, True))
        answer = next((one for one in answers if one and text.endswith(one)), text)
        prompt = text.removesuffix(answer)
    if prompt is None or not text.startswith(prompt):
        return None if echo else choice
    left, deltas = len(prompt), list[Delta]()
    for delta in choice.deltas:
        rest = delta.text[left:]
        left = max(left - len(delta.text), 0)
        if rest:
            deltas.append(Delta(delta.event, delta.field, rest))
    return replace(choice, deltas=deltas)


def _strings(value: object) -> tuple[str, ...]:
    one = value if isinstance(value, list) else [value]
    return tuple(item for item in one if isinstance(item, str) and item)


def _unstreamed(reading: Reading, choice: ChoiceReading) -> bool:
    """True when the answer came as one body."""
    first = choice.deltas[0].event if choice.deltas else -1
    return 0 <= first < len(reading.events) and reading.events[first].kind is EventKind.BODY
