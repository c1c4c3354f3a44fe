"""What a text reports: no questions, plans and wishes, and nothing that it only supposes.

"Content is null" reports something; "if content were null", "retry if content is null" and "it would be nice
if tool calls were streamed" do not. A condition under which something happens stays: "if I stream, content
is null".
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from inspector.diagnosis.facts import facts_of
from inspector.diagnosis.phrases import lexicon

__all__ = ["proposes", "reported", "statements"]

_QUESTION: Final = re.compile(
    r"(?i)(?:^|(?<=[.?!:\]] ))(?:how (?:do|does|is|are|can|to|should)|which|what (?:is|are)|where"
    r"|is there (?:an?|any)|are there|can i|should i|do(?:es)? (?:\w+ ){1,4}support)\b[^.?!]{0,200}\?"
)
_NO_LONGER: Final = re.compile(
    r"(?i)\b(?:(?:(?:is|are|was|were|be|been) )?(?:not|never)|(?:is|are|was|were)n'?t|no) (?:ever )?"
    r"(?:null|empty|blank|missing|lost|dropped|truncated|garbled|leaked|duplicated)\b"
    r"|\bno longer (?:drop|lose|leak|fail|crash|ignore|swallow|strip|truncate|reproduce"
    r"|return (?:an? )?(?:null|empty|blank))\w*(?: [\w`'-]+){0,3}"
)
"""What is over is no symptom."""
_PROPOSED: Final = re.compile(
    r"(?im)^\W{0,3}(?:feat|feature(?: request)?|rfc|roadmap|proposal|enhancement|docs?|chore|refactor|tests?"
    r"|ci|build|style|perf|new model)(?:\([^()]*\))?!?(?:\]|:).*"
)
"""The title of a change that mends nothing."""
_PROPOSES: Final = re.compile(
    r"(?i)(?:\[[^\]\n]{1,40}\]\W{0,3})*\W{0,3}(?:add(?:s|ed|ing)?|introduc(?:es?|ed|ing)|allow(?:s|ing)?"
    r"|expos(?:es?|ed|ing)|(?:support|implement|document|refactor|upgrad|updat|enabl|bump)(?:e|ed|ing)?)\b"
)
_TROUBLE: Final = re.compile(
    r"(?i)\b(?:null|none|empty|blank|missing|lost|errors?|fail\w*|crash\w*|fix\w*|wrong|issue|bug|problem|broken"
    r"|solve\w*|stops?|stuck|leak\w*|ignor\w+|(?:does|do|did|is|are|can)n'?t)\b"
)
_LACKING: Final = re.compile(
    r"(?i)\b(?:not(?! (?:yet |currently )?support)|never|breaks?|unusable|unable|prevent\w*|renam\w*"
    r"|deprecat\w*|mixed|still|no longer)\b"
)
"""What a proposal says of the state that it wants to change."""
_END: Final = re.compile(r"[.!?;:](?=\s)")
_ENDS: Final = frozenset(".!?;:")
_SPACES: Final = re.compile(" {2,}")
_LONGEST: Final = 2000
"""Characters of lines that are read as one paragraph."""
_INDIRECT: Final = r"(?<!sure )(?<!know )(?<!wonder )(?<!wondering )(?<!even )(?<!as )"
"""Before an "if" that opens a condition, and no question and no concession."""
_UNREAL: Final = re.compile(
    rf"(?i){_INDIRECT}\b(?:if|unless)\b.*(?<!\bi )(?<!\bwe )\b(?:would|could|might)\b"
    rf"|(?<!\bi )(?<!\bwe )\b(?:would|could|might)\b.*{_INDIRECT}\b(?:if|unless)\b"
    r"|^\W*(?:suppos(?:e|ing)|imagine|say)\b(?! i\b)"
    r"|^\W*(?:had|were|should) (?:the |a |an |any |all )?\w+(?: \w+){0,3} (?:be|been|return\w*|have)\b[^?]*$"
    r"|\b(?:in theory|theoretically|hypothetically)\b"
)
"""A sentence about what is not so."""
_CONDITION: Final = re.compile(
    rf"(?i){_INDIRECT}\b(?:if|unless|whether|in case|assuming|provided)\b(?: that\b)?"
    r" (?:(?!then\b)[^,;:.!?])+"
)
_MATTERS: Final = re.compile(
    r"(?i)\b(?:crash\w*|fails?|failed|breaks?|broke|hangs?|throws?|dies|stuck|raises|errors? out"
    r"|what (?:to|can|could|should)|how (?:to|do|can)|help|fix\w*|solve\w*)\b"
)
"""Beside a condition: it has happened, and somebody asks for help or something fails."""
_WISH: Final = re.compile(
    r"(?i)\b(?:(?:i|we) (?:wish|hope)\b|hopefully\b"
    r"|would be (?:very |really |so )?(?:nice|great|good|useful|helpful|cool|better|ideal|handy)"
    r" (?:if|to (?:have|support|get|be able))\b|(?:would|'d) (?:like|love) (?:to (?:have|see)|it if)\b)"
    r"(?!.*\b(?:stop|quit|no longer)\b).*?(?=\bbut\b|\bhowever\b|$)"
)
_INTENDED: Final = re.compile(
    r"(?i)\b(?:ensures?|mak(?:es?|ing) sure|guarantees?|avoid(?:s|ing)?) that\b[^,;:.!?]*"
    r"|\b(?:not|n't|never) (?:intended|meant|designed) (?:to|for)\b[^,;:.!?]*"
    r"|\b(?:must|shall|should|ought to)\b"
    r"(?:(?!\b(?:but|however|yet|instead|though|while|because|since)\b)[^,;:.!?])*"
    r"|\botherwise\b[^;:.!?]*\b(?:will|would|won't|could|might)\b[^;:.!?]*"
)
"""What somebody sees to, what a thing is not made for, what has to be, and what would be so without it."""


def reported(sentences: Iterable[str]) -> list[str]:
    """For each sentence what it reports, which may be nothing: how to do a thing is no symptom."""
    kept = (_NO_LONGER.sub(" ", one) for one in _real_lines(sentences))
    return [_QUESTION.sub(_troubled, _PROPOSED.sub(_troubled, one)) for one in kept]


def statements(sentences: Iterable[str]) -> list[str]:
    """What sentences report."""
    return [one for one in reported(sentences) if one.strip()]


def proposes(sentences: Sequence[str]) -> bool:
    """Whether a text opens with a change that adds something, and names no trouble."""
    if not any(one.match(sentence) for sentence in sentences[:1] for one in (_PROPOSED, _PROPOSES)):
        return False
    return not any(_TROUBLE.search(one) or _LACKING.search(one) for one in statements(sentences))


def _real_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines without what they suppose, wish or see to, also where that goes on in the next line."""
    paragraph: list[str] = []
    size = 0
    for line in lines:
        goes_on = bool(paragraph) and line[:1].islower() and paragraph[-1][-1:] not in _ENDS
        if not goes_on or size > _LONGEST:
            yield from _real_paragraph(paragraph)
            paragraph, size = [], 0
        paragraph.append(line)
        size += len(line)
    yield from _real_paragraph(paragraph)


def _real_paragraph(lines: Sequence[str]) -> Iterator[str]:
    whole = " ".join(lines)
    start = 0
    parts = []
    for end in (*(one.end() for one in _END.finditer(whole)), len(whole)):
        parts.append(_real(whole[start:end]))
        start = end
    kept, at = "".join(parts), 0
    for line in lines:
        yield _SPACES.sub(" ", kept[at : at + len(line)])
        at += len(line) + 1


def _real(sentence: str) -> str:
    """A sentence with spaces in the place of what it does not report."""
    if _UNREAL.search(sentence) is not None:
        return " " * len(sentence)
    sentence = _INTENDED.sub(_blank, _WISH.sub(_blank, sentence))
    return _CONDITION.sub(lambda found: _condition(found, sentence), sentence)


def _condition(found: re.Match[str], sentence: str) -> str:
    """A condition, unless it is a symptom that is only supposed."""
    rest = f"{sentence[: found.start()]} {sentence[found.end() :]}"
    if _MATTERS.search(rest) is not None:
        return found[0]
    states = lexicon().names["states"]
    supposed = any(" " in fact.name or fact.name in states for fact in facts_of(found[0]))
    return _blank(found) if supposed else found[0]


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def _troubled(found: re.Match[str]) -> str:
    return found[0] if _TROUBLE.search(found[0]) or _LACKING.search(found[0]) else " "
