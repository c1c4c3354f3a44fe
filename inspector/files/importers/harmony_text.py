"""Harmony as text, with special tokens spelled out (`skip_special_tokens=False`), with or without its prompt.

Its token IDs are computed. Text that spells a special token cannot be distinguished from the token, and the
model may have split words into other tokens.
"""

import ast
import json
import re
from contextlib import suppress
from typing import Final

from inspector.capture.bounds import TOKENS, over
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.capture.errors import CaptureError
from inspector.files.importers.importer import Content, Importer
from inspector.protocol.harmony.vocab import Marker, encode

_BEGINS: Final = re.compile(
    rb"\s*(?:```\w*\s*)?[\"']?(?:<\|start\|>|(?:assistant)?<\|channel\|>|<\|message\|>)"
)
_FENCE: Final = re.compile(r"```\w*\s*(.*?)\n?```\s*", re.DOTALL)
_OPENED: Final = re.compile(rf"{re.escape(Marker.START.text)}([^<\n]*)")
_ROLE: Final = "assistant"
_COMPUTED: Final = (
    "The token IDs were computed from text: a special token and text that spells it look the same there, and "
    "the model may have sampled other tokens for the same words."
)
_SPLIT: Final = "All up to the last message of another role is taken as the prompt."


def sniff(content: Content) -> bool:
    """True for what begins with a special token of a header."""
    return _BEGINS.match(content.data) is not None


def read(content: Content) -> list[Capture]:
    """One list of tokens, with the prompt as its request; raises CaptureError for a prompt alone."""
    text = _unwrapped(content.data.decode("utf-8", "replace").lstrip())
    if len(text) > TOKENS * 64:
        raise CaptureError(content.name, over(TOKENS, "token IDs"))
    prompt, completion = _parts(text)
    if not completion.strip():
        why = "contains a prompt and nothing that a model generated; add the generated text behind it"
        raise CaptureError(content.name, why, hint=", or check the prompt with `python -m inspector lint`")
    ids = encode(completion)
    if len(ids) > TOKENS:
        raise CaptureError(content.name, over(TOKENS, "token IDs"))
    request = {"prompt": prompt} if prompt else {}
    notes = (_COMPUTED, _SPLIT) if prompt.count(Marker.START.text) > 1 else (_COMPUTED,)
    header = Header(endpoint=Endpoint.TOKENS, request=request, source="Harmony text")
    return [Capture(header=header, events=[Event(json.dumps(ids))], notes=notes)]


def _unwrapped(text: str) -> str:
    """The text of a file, of a Markdown block, or of a string as JSON or Python writes it."""
    if (fenced := _FENCE.fullmatch(text)) is not None:
        return fenced[1]
    if text.startswith(("'", '"')):
        for parse in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                value = parse(text.rstrip())
                if isinstance(value, str):
                    return value
    return text.removesuffix("\n").removesuffix("\r")


def _parts(text: str) -> tuple[str, str]:
    """The prompt, which ends in `<|start|>assistant`, and the completion."""
    headers = list(_OPENED.finditer(text))
    if headers and text.endswith(f"{Marker.START.text}{_ROLE}"):
        return text, ""
    foreign = [at for at, header in enumerate(headers) if not header[1].startswith(_ROLE)]
    if not foreign:
        opened = text.startswith(_ROLE)  # a completion of a prompt that ends in <|start|>
        return (f"{Marker.START.text}{_ROLE}", text.removeprefix(_ROLE)) if opened else ("", text)
    if foreign[-1] + 1 == len(headers):
        return text, ""
    start = headers[foreign[-1] + 1].start(1) + len(_ROLE)
    return text[:start], text[start:]


HARMONY_TEXT: Final = Importer(
    name="harmony_text",
    label="Harmony text",
    files="Harmony as text with its special tokens spelled out, with or without the prompt",
    becomes=(
        "a `tokens` capture of what follows the last message of another role; the IDs are computed, which a "
        "note says"
    ),
    suffixes=(".txt",),
    begins=_BEGINS.pattern.removeprefix(rb"\s*"),
    sniff=sniff,
    read=read,
)
