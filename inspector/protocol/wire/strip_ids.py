"""What a server would have sent to a client that did not ask for token IDs; bytes kept wherever possible.

On Responses the Harmony messages take their place (`enable_response_messages`): without it vLLM 0.12 to 0.32
sends `input_messages` and `output_messages` as null in every event that holds the response.

vLLM 0.10.2 to 0.32 passes `token_ids=None` to the payload's constructor, so without
`return_token_ids` the key is there and null. A chunk of a chat stream that delivers nothing is sent
only because its token ids were asked for. (vLLM's chat serving code, the note on `return_token_ids`.)
"""

import json
import re
from collections.abc import Iterator
from typing import Final

# A quote inside a JSON string is escaped, so neither pattern can match text of the model.
_IDS: Final = re.compile(r'("(?:prompt_|response_)?token_ids"):\s*\[[\d,\s]*\]')
_IDS_BYTES: Final = re.compile(_IDS.pattern.encode())
_MESSAGES: Final = frozenset({"input_messages", "output_messages"})
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_DECODER: Final = json.JSONDecoder()
_NOTHING: Final = re.compile(r'"delta":\s*\{(?:\s*"\w+":\s*null\s*,?)*\s*\}')
_NOTHING_BYTES: Final = re.compile(_NOTHING.pattern.encode())


def without_token_ids(text: str, *, keeps_logprobs: bool = True) -> str | None:
    """A chat or completions payload without its token IDs; None when it would not have been sent.

    Text without IDs is returned as it is. `keeps_logprobs` says whether the server sends a chunk that
    holds logprobs and nothing else, as 0.32 does; 0.23 and before do not.
    """
    if "token_ids" not in text:
        return text
    if _NOTHING.search(text) and _delivers_nothing(text, keeps_logprobs):
        return None
    return _IDS.sub(r"\1:null", text)


def plain_events_without_ids(events: bytes) -> bytes | None:
    """Whole events of chat or completions, of one `data:` line each, without their token IDs.

    A faster `without_token_ids` for what servers usually send, with the same result. None if an event has
    another form or delivers nothing: the caller then reads event by event.
    """
    count = events.count(b"\n\n")
    if (
        events.count(b"\n") != 2 * count
        or not events.startswith(b"data:")
        or events.count(b"\n\ndata:") != count - 1
        or b"\r" in events
        or _NOTHING_BYTES.search(events) is not None
    ):
        return None
    try:
        events.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return _IDS_BYTES.sub(rb"\1:null", events)


def _delivers_nothing(text: str, keeps_logprobs: bool) -> bool:
    try:
        choices = json.loads(text)["choices"]
        return bool(choices) and all(
            isinstance(choice["token_ids"], list)
            and choice["finish_reason"] is None
            and not any(value is not None for value in choice["delta"].values())
            and not (keeps_logprobs and choice.get("logprobs"))
            for choice in choices
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return False


def without_response_messages(text: str) -> str:
    """An event or body of Responses with null for the messages of its response; other text as it is."""
    if '_messages"' not in text:
        return text
    try:
        members = {key: span for key, *span in _members(text, 0)}
        at = 0 if "response" not in members else members["response"][0]
        spans = [(start, end) for key, start, end in _members(text, at) if key in _MESSAGES]
    except (ValueError, RecursionError, IndexError):
        return text
    for start, end in reversed(spans):
        text = f"{text[:start]}null{text[end:]}"
    return text


def without_member(text: str, path: str) -> str | None:
    """A payload without a member of its object, or of one inside; None if its chunk was sent for that alone.

    SGLang sends a chunk without choices for `sglext`, Dynamo one with empty deltas for `nvext`.
    """
    *outer, name = path.split(".")
    if f'"{name}"' not in text:
        return text
    try:
        spans = {key: span for key, *span in _members(text, 0)}
        for part in outer:
            spans = {key: span for key, *span in _members(text, spans[part][0])}
        start, end = spans.pop(name)
    except (ValueError, RecursionError, LookupError):
        return text
    before = text[: text.rindex(f'"{name}"', 0, start)].rstrip()
    after = text[end:].lstrip()
    if "choices" in spans and "usage" not in spans:
        choices = json.loads(text[slice(*spans["choices"])])
        if isinstance(choices, list) and all(map(_is_empty, choices)):
            return None
    if before.endswith(","):
        return before[:-1] + text[end:]
    return before + (after[1:] if after.startswith(",") else text[end:])


def _is_empty(choice: object) -> bool:
    if not isinstance(choice, dict) or choice.get("finish_reason") is not None or choice.get("logprobs"):
        return False
    delta = choice.get("delta")
    return isinstance(delta, dict) and not any(value is not None for value in delta.values())


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """Key and span of the value of each member of the JSON object that begins at `at`.

    Raises ValueError or IndexError where there is no object.
    """
    at = _space(text, at)
    if text[at] != "{":
        raise ValueError
    at = _space(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _space(text, at)
        if text[at] != ":" or not isinstance(key, str):
            raise ValueError
        start = _space(text, at + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, start, end
        at = _space(text, end)
        if text[at] == ",":
            at = _space(text, at + 1)
        elif text[at] != "}":
            raise ValueError


def _space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
