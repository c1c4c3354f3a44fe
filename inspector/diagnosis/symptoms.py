"""What people write who see no error: the sentences of a text, and the symptoms that stand in them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from inspector.diagnosis.issue import Issue
from inspector.diagnosis.lines import access_of, complaint_of, exception_of, level_of, minute_of, split
from inspector.diagnosis.reports import reported
from inspector.diagnosis.routes import names_ours

__all__ = [
    "complaint",
    "headline",
    "is_about",
    "is_of_other_model",
    "prose",
    "symptom_of",
]

_MOST: Final = 16_000
"""Characters of prose that are read."""
_LONGEST: Final = 700
_TOGETHER: Final = 3
"""Sentences that a symptom may be spread over."""
_ABOUT: Final = re.compile(
    r"(?i)gpt[-_ ]?oss|harmony|openai[-_ ]compatible|/v1/(?:chat|responses|completions)"
    r"|<\|\w+\|>|\bllm\b|language model"
    r"|\bcontent\b|\bassistant\b|\bstream(?:ing|s|ed)?\b|\bmodel\b"
    r"|tool[-_ ]?calls?|function[-_ ]call|finish_reason|reasoning|completion_tokens|structured output"
    r"|response_format"
)
"""Words of the subject: without one, only a short text is taken for a symptom."""
_CLOSE: Final = re.compile(
    r"(?i)gpt[-_ ]?oss|harmony|<\|(?:channel|start|call|end|return|message|constrain)\|>"
    r"|\bassistant(?:final|commentary|analysis)|\bto=functions\."
)
_MODEL: Final = re.compile(r"(?i)[\"']model[\"']\s?:\s?[\"'][^\"']{0,80}gpt[-_]?oss")
"""The model in a request or a response."""
_ELSEWHERE: Final = re.compile(
    r"(?i)\b(?:aws bedrock|bedrock|vertex ?ai|azure|openrouter|groq|fireworks|cerebras|together\.?ai"
    r"|workers ai|watsonx|gemini)\b"
)
"""Services that run gpt-oss on servers of their own."""
_OTHER_MODEL: Final = re.compile(
    r"(?i)\b(?:gpt-(?:3\.5|4|5)[\w.]*(?:-\w+)*|o[134]-(?:mini|pro|preview)"
    r"|claude(?:[- ](?:\d|opus|sonnet|haiku)[\w.-]*))"
)
"""Models that nobody serves with Harmony: beside no word of ours, a text is about them."""
_OPEN_MODEL: Final = re.compile(
    r"(?i)(?<![a-z])(?:qwe?n-?\d|qwen|qwq|qwopus|deepseek|kimi|(?:chat)?glm-?[3-9]|gemma|(?:meta-)?llama-?\s?[234](?![\w.]*cpp)"
    r"|mi[sx]tral|devstral|ministral|magistral|pixtral|minimax|nemotron|granite|phi-?[1-4]\b|hunyuan|xlam"
    r"|vicuna|olmo|openchat|starling|zephyr|falcon-?\d|exaone|seed-?oss|ernie|step-?3|internlm|intern-s\d|internvl|command-?[ar]\b|baichuan|laguna|apertus|mimo"
    r"|smollm|jamba|dbrx|llava|longcat|code-?llama|wizardlm|stablelm|yi-\d|solar-\d|eurollm|bielik)"
)
"""Models with formats of their own, which vLLM serves too."""
_ABOVE: Final = 2
"""Lines that a person writes above a log."""
_SHORT: Final = 300
_QUOTED: Final = 90
"""Characters of a sentence that are quoted at most."""
_DATA: Final = re.compile(
    r"\s*(?:[{}\]]|\[\s*[\]{\"'\d\[]|\[$|data:|event:|[\"'][\w.-]+[\"']\s?:|[A-Z]\w+\(\w+="
    r"|[a-z_.]+\((?![^()]{0,40}\) [a-z]+ [a-z]+)"
    r"|diff --git|[+-]\s{2,})"
)
"""The beginning of a payload or of code, which say nothing in words."""
_MARKS: Final = re.compile(r"[{}\[\]=\"';\\]")
_MOST_MARKS: Final = 0.09


def prose(lines: Iterable[str]) -> list[str]:
    """Lines that a person wrote: no log, access log, frame or exception; long ones in parts."""
    found: list[str] = []
    size = 0
    for line in lines:
        if size > _MOST:
            break
        parts = split(line)
        if (
            parts.level
            or parts.of_server
            or access_of(line)
            or (level_of(line) and minute_of(line))
            or parts.rest.startswith("  File")
            or exception_of(parts.rest)
        ):
            continue
        for start in range(0, len(parts.rest), _LONGEST):
            piece = parts.rest[start : start + _LONGEST].strip()
            if piece and not _is_data(piece):
                found.append(piece)
                size += len(piece)
    return found


def _is_data(piece: str) -> bool:
    return _DATA.match(piece) is not None or len(_MARKS.findall(piece)) > max(len(piece) * _MOST_MARKS, 6)


def is_about(sentences: Sequence[str], whole: str = "", *, named: bool = False) -> bool:
    """Whether a text is about the responses of a model, or so short that nothing says it is not.

    A payload in the `whole` text may name the model that the sentences are about. Where the subject must be
    `named`, a short text is not enough.
    """
    content = "\n".join(sentences)
    if _ELSEWHERE.search(content) and not names_ours(content):
        return False
    if _OTHER_MODEL.search(content) and not _CLOSE.search(content) and not names_ours(content):
        return False
    return (
        _CLOSE.search(content) is not None
        or _MODEL.search(whole) is not None
        or names_ours(content)
        or (not named and len(content) <= _SHORT and _ABOUT.search(content) is not None)
    )


def is_of_other_model(content: str) -> bool:
    """Whether a text names a model with a format of its own, and neither gpt-oss nor Harmony."""
    return _OPEN_MODEL.search(content) is not None and _CLOSE.search(content) is None


def symptom_of(issue: Issue, sentences: Sequence[str]) -> str:
    """The words in which an issue's symptom stands: in one sentence, or in a few that follow each other."""
    if not issue.symptoms:
        return ""
    for window in _windows(sentences):
        for expressions in issue.symptoms:
            found = [expression.search(window) for expression in expressions]
            if all(found):
                return _said(window, [one for one in found if one is not None])
    return ""


def _said(window: str, found: Sequence[re.Match[str]]) -> str:
    """The words from the first match to the last, or those of the first where that is long."""
    spans = [one.span() for one in found if one[0]]
    start, end = min((one[0] for one in spans), default=0), max((one[1] for one in spans), default=0)
    return window[start:end] if end - start <= _QUOTED else found[0][0]


def complaint(sentences: Sequence[str]) -> str:
    """The first sentence that says that something is wrong; empty where nothing is about a model."""
    if not any(_ABOUT.search(one) or _CLOSE.search(one) or names_ours(one) for one in sentences):
        return ""
    pairs = zip(sentences, reported(sentences), strict=True)
    return next((said for one, kept in pairs if complaint_of(kept) and (said := complaint_of(one))), "")


def headline(lines: Sequence[str]) -> str:
    """What a person wrote above a log, if it says that something is wrong."""
    above = [line for line in lines[:_ABOVE] if not level_of(line) and not minute_of(line)]
    return next((said for one in prose(above) if (said := complaint_of(one))), "")


def _windows(sentences: Sequence[str]) -> Iterator[str]:
    for count in range(1, _TOGETHER + 1):
        for start in range(len(sentences) - count + 1):
            yield " ".join(sentences[start : start + count])
