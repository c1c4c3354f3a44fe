"""Tokens of a completion or a prompt to stand-ins; what the grammar is made of stays."""

import re
from collections.abc import Sequence
from typing import Final

from inspector.harmony.tracker import HarmonyTracker
from inspector.harmony.transcript import Transcript
from inspector.harmony.vocab import Marker
from inspector.masking.forms import FIRST_SPECIAL
from inspector.masking.standins import Standins

__all__ = ["GRAMMAR", "masked_ids", "transcript_of"]

GRAMMAR: Final = re.compile(
    r"browser\.(?:search|open|find)|container\.(?:exec|download|upload)|assistant(?:ary)?|comment(?:ary)?|analysis|final|functions|developer|container"
    r"|browser|python|constrain"
    r"|(?<![A-Za-z0-9])(?:user|system|tool|json|code|to|ary|I'm|I|We|The)(?![A-Za-z0-9])"
)
"""Words of headers: roles, channels, content types, tools of the model itself, and pieces of them.

Also the words by which a known issue recognizes that a sentence was written in place of a header.
"""


def transcript_of(ids: Sequence[int]) -> Transcript:
    """The messages of tokens that begin with a header, such as a prompt."""
    transcript = Transcript()
    transcript.receive(HarmonyTracker(()).receive(ids), len(ids))
    return transcript


def masked_ids(ids: Sequence[int], transcript: Transcript, standins: Standins) -> list[int]:
    """Stand-ins for all tokens of text; in headers and rejected runs words of the grammar stay."""
    body = bytearray(len(ids))
    for message in transcript.messages:
        if message.in_body:
            body[message.body : message.body_end] = b"\1" * (message.body_end - message.body)
    for refusal in transcript.refusals:
        inside = False
        for place in range(max(refusal.at, 0), min(refusal.end, len(ids))):
            body[place] = inside
            inside = ids[place] == Marker.MESSAGE or (inside and ids[place] < FIRST_SPECIAL)
    found = list(ids)
    start = 0
    for place in range(len(ids) + 1):
        ends = place == len(ids) or not 0 <= ids[place] < FIRST_SPECIAL
        if ends or body[place] != body[start]:
            if start < place:
                run = ids[start:place]
                found[start:place] = standins.ids(run, None if body[start] else GRAMMAR)
            start = place + 1 if ends else place
    return found
