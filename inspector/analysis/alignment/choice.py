"""A choice aligned as its request asks: what is echoed, where it stops, whether special tokens are text."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from inspector.analysis.alignment.by_token import align_by_token
from inspector.analysis.alignment.cells import (
    Alignment,
    Part,
    broken_off,
    spellings,
    visible,
    whole_fate,
    with_left_out,
)
from inspector.analysis.alignment.fields import align_beginning, align_fields
from inspector.analysis.alignment.stops import StopOptions
from inspector.analysis.reading import ChoiceReading, Reading
from inspector.capture.capture import EventKind
from inspector.capture.collector import collector_paused
from inspector.capture.deltas import REASONING, TEXT, Delta
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker, join_bytes
from inspector.protocol.wire.stream import token_ids


def alignments(reading: Reading) -> dict[int, Alignment | None]:
    """The alignment of each choice, by its index, of reconstructed tokens where none were sent.

    None where it cannot be determined.
    """
    if reading.foreign:
        return dict.fromkeys(choice.index for choice in reading.choices)
    with collector_paused():
        return {choice.index: align_choice(reading, choice.rebuilt or choice) for choice in reading.choices}


def align_choice(reading: Reading, choice: ChoiceReading) -> Alignment | None:
    """Where the tokens of a choice were delivered; None when that cannot be determined."""
    if not choice.has_ids or not reading.spec.delivers:
        return None
    request = reading.header.request
    stop = StopOptions(
        strings=_strings(request.get("stop")),
        token_ids=frozenset(token_ids(request.get("stop_token_ids"))),
        included=request.get("include_stop_str_in_output") is True,
    )
    broke_off = reading.broke_off(choice)
    hidden = {REASONING} if reading.hides_reasoning else set[str]()
    if not reading.spec.raw:
        alignment = align_beginning(choice, hidden) if broke_off else None
        if alignment is None:
            alignment = align_fields(choice, stop, unstreamed=_is_unstreamed(reading, choice))
    else:
        response = _without_prompt(reading, choice)
        if response is None:
            return None
        alignment = align_completion(
            response, stop, skip_special=_skips_special(request, response), broke_off=broke_off
        )
    return broken_off(alignment) if broke_off else alignment


def _skips_special(request: Mapping[str, Any], choice: ChoiceReading) -> bool:
    """Whether a completion leaves out special tokens, by the request or else by its text."""
    requested = request.get("skip_special_tokens")
    if isinstance(requested, bool):
        return requested
    text = "".join([delta.text for delta in choice.deltas])
    return not any(marker.text in text for marker in Marker)


def _without_prompt(reading: Reading, choice: ChoiceReading) -> ChoiceReading | None:
    """The choice without the prompt that `echo` puts before its text: vLLM's IDs are of the response only.

    None where the request asks for the prompt and it is not known.
    """
    request = reading.header.request
    echo, prompt = request.get("echo"), request.get("prompt")
    if echo is False or (echo is None and request):
        return choice
    ids = reading.stream.prompt_ids or token_ids(prompt)
    echoed = prompt if isinstance(prompt, str) else text_of(ids) if ids else None
    text = "".join([delta.text for delta in choice.deltas])
    if echoed is None and not request:
        echoed = text.removesuffix(_response_text(choice, text))
    if echoed is None or not text.startswith(echoed):
        return None if echo else choice
    return replace(choice, deltas=_without_start(choice.deltas, len(echoed)))


def _response_text(choice: ChoiceReading, text: str) -> str:
    """The end of `text` that the tokens account for; all of it where they do not account for its end."""
    ids = choice.tokens.ids
    candidates = (text_of(visible(span, skip)) for span in (ids, ids[:-1]) for skip in (False, True))
    return next((candidate for candidate in candidates if candidate and text.endswith(candidate)), text)


def _without_start(deltas: Sequence[Delta], length: int) -> list[Delta]:
    """The deltas without their first `length` characters; those without other characters are left out."""
    rest: list[Delta] = []
    for delta in deltas:
        text = delta.text[length:]
        length = max(length - len(delta.text), 0)
        if text:
            rest.append(Delta(delta.event, delta.field, text))
    return rest


def _strings(value: object) -> tuple[str, ...]:
    strings = value if isinstance(value, list) else [value]
    return tuple(text for text in strings if isinstance(text, str) and text)


def _is_unstreamed(reading: Reading, choice: ChoiceReading) -> bool:
    """True when the response came as one body."""
    first = choice.deltas[0].event if choice.deltas else -1
    return 0 <= first < len(reading.events) and reading.events[first].kind is EventKind.BODY


_CHARACTER_AT_MOST: Final = 4
"""Bytes, and so tokens, of one character."""


def align_completion(
    choice: ChoiceReading, stop: StopOptions, *, skip_special: bool, broke_off: bool = False
) -> Alignment:
    """The alignment of a plain completion; `skip_special` if its text leaves out special tokens."""
    ids = choice.tokens.ids
    sent = choice.deltas_by_field()
    delivered = "".join([delta.text for delta in sent.get(TEXT, ())])
    full_text = Part(0, len(ids), TEXT, TEXT, None)
    parts = [full_text]
    if stop.is_left_out(ids, choice.finish_reason):
        parts.insert(0, replace(full_text, end=len(ids) - 1))
    shown = visible(ids, skip_special)
    place = stop.string_in(text_of(shown), delivered, choice.finish_reason)
    if place is not None:
        parts.insert(0, replace(full_text, kept=place[0]))
    cut = [part for part in parts if _ends_in_character(shown[: part.end], delivered)]
    parts += [replace(part, kept=len(delivered)) for part in cut]
    if broke_off:
        parts.append(replace(full_text, kept=len(delivered)))
    for part in parts:
        for (text,) in spellings(shown, [part]):
            if text == delivered:
                fates = with_left_out(shown, part, [whole_fate(part, TEXT, text, 0)])
                return Alignment(fates=fates, extras=[], calls=[])
    part = full_text if place is None and delivered.endswith(text_of(shown[-1:]) or "\0") else parts[0]
    fates, extras = align_by_token(choice, [part], sent, skip_special=skip_special)
    fates = with_left_out(shown, part, fates)
    return Alignment(fates=fates, extras=extras, calls=[])


def _ends_in_character(span: Sequence[int], delivered: str) -> bool:
    """True when all arrived but the last tokens, which only begin a character: servers hold them back."""
    rest = [token_id for token_id in span if join_bytes((token_id,))]
    for _ in range(_CHARACTER_AT_MOST):
        if text_of(rest) == text_of(rest, ended=False):
            return False
        rest.pop()
        if text_of(rest) == delivered:
            return True
    return False
