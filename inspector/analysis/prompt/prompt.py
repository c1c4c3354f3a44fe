"""The prompt of a response: its messages, and where it differs from what the request asks for."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from inspector.analysis.prompt.checks import chat_differences, raw_differences
from inspector.analysis.prompt.difference import PromptDifference, PromptSeverity
from inspector.analysis.prompt.messages import PromptMessage, parse
from inspector.analysis.prompt.rendering import is_renderable, render
from inspector.analysis.prompt.requested import Requested, requested_by_chat
from inspector.analysis.prompt.requested_input import requested_by_responses
from inspector.analysis.prompt.source import PromptSource, prompt_ids
from inspector.analysis.prompt.wording import prompt_sentence
from inspector.analysis.reading import Reading
from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.capture.formats import number
from inspector.protocol.harmony.vocab import Marker
from inspector.protocol.wire.stream import loads

_MESSAGES_AT_MOST: Final = 8_000
_ORDER: Final = (PromptSeverity.WARNING, PromptSeverity.NOTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt as token IDs and messages."""

    ids: Sequence[int]
    source: PromptSource
    counted: int | None
    """Tokens that the server counted, of a prompt that was rendered here; else None."""
    messages: tuple[PromptMessage, ...]
    differences: tuple[PromptDifference, ...]
    """From the request; warnings first, then in the order of the prompt."""
    unknown: str
    """Why it was not compared, one sentence; empty when it was."""
    identical: bool
    """True when everything after the system message is the reference rendering, token for token."""

    @property
    def harmony(self) -> bool:
        """False for a text without special tokens."""
        return Marker.START in self.ids

    @property
    def sentence(self) -> str:
        """What was found, in a sentence or two."""
        return prompt_sentence(self.differences, unknown=self.unknown, identical=self.identical)

    @property
    def worst(self) -> PromptSeverity | None:
        """The worst severity; None without differences."""
        severities = {difference.severity for difference in self.differences}
        return next((severity for severity in _ORDER if severity in severities), None)


def prompt_of(reading: Reading) -> Prompt | None:
    """The prompt of a response; None when its tokens are unknown."""
    source_ids = prompt_ids(reading)
    if source_ids is None:
        return None
    ids, source, counted = source_ids
    messages = parse(ids)
    differences, unknown, identical = _compared(reading, ids, source, messages)
    return Prompt(
        ids=ids,
        source=source,
        counted=counted,
        messages=messages,
        differences=tuple(sorted(differences, key=lambda difference: _ORDER.index(difference.severity))),
        unknown=unknown,
        identical=identical,
    )


def _compared(
    reading: Reading, ids: list[int], source: PromptSource, messages: Sequence[PromptMessage]
) -> tuple[list[PromptDifference], str, bool]:
    request = reading.header.request
    if not reading.spec.parsed:
        if source is not PromptSource.SERVER:
            return [], "The server did not send its prompt; these are the tokens of the request.", False
        if not isinstance(request.get("prompt"), str | list):
            return [], "The capture has no prompt of a request to compare it with.", False
        return list(raw_differences(request, ids)), "", False
    if Marker.START not in ids:
        return [], "The prompt contains no Harmony message.", False
    if len(messages) > _MESSAGES_AT_MOST:
        return [], f"It has more than {number(_MESSAGES_AT_MOST)} messages.", False
    requested = (
        requested_by_responses(request)
        if reading.header.endpoint is Endpoint.RESPONSES
        else requested_by_chat(request)
    )
    if requested.unknown:
        return [], requested.unknown, False
    opened = request.get("add_generation_prompt") is not False
    differences = list(chat_differences(requested, messages, ids, today=_today(reading), opened=opened))
    sent = source is not PromptSource.RENDERED  # what was rendered here does not show what the server sent
    return differences, "", sent and not differences and _identical(requested, ids)


def _identical(requested: Requested, ids: Sequence[int]) -> bool:
    """True when the prompt after its first message is what the library renders."""
    if not is_renderable(requested):
        return False
    try:
        rendered = render(requested)
    except InspectorError:
        return False
    return _after_first(rendered) == _after_first(ids)


def _after_first(ids: Sequence[int]) -> Sequence[int]:
    """What follows the first message."""
    return next((ids[at:] for at, token_id in enumerate(ids) if at and token_id == Marker.START), ())


def _today(reading: Reading) -> date | None:
    """The day of the response by the server's clock, else by the recorder's; None when unknown."""
    for event in reading.events[:4]:
        payload = loads(event.data)
        created = payload.get("created") if isinstance(payload, Mapping) else None
        if type(created) is int and 0 < created < _YEAR_3000:
            return datetime.fromtimestamp(created, UTC).date()
    started = _DAY.match(reading.header.started_at or "")
    try:
        return date.fromisoformat(started[0]) if started else None
    except ValueError:
        return None


_YEAR_3000: Final = 32_503_680_000
_DAY: Final[re.Pattern[str]] = re.compile(r"\d{4}-\d{2}-\d{2}")
