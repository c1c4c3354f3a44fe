"""What a text reports: no questions, plans and wishes, and nothing that it only supposes.

"Content is null" reports something; "if content were null", "retry if content is null" and "it would be nice
if tool calls were streamed" do not. A condition under which something happens stays: "if I stream, content
is null".
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from inspector.diagnosis.facts import facts_of
from inspector.diagnosis.phrases import lexicon

__all__ = ["proposes", "statements"]

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
    r"(?im)^\W{0,3}(?:feat|feature(?: request)?|rfc|roadmap|proposal|enhancement|docs?|chore|refactor|tests?|ci"
    r"|build|style|perf|new model)(?:\([^()]*\))?!?(?:\]|:).*"
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
    r"(?i)\b(?:not|never|breaks?|unusable|unable|prevent\w*|renam\w*|deprecat\w*|mixed|still|no longer)\b"
)
"""What a proposal says of the state that it wants to change."""
_SENTENCE: Final = re.compile(r"(?<=[.!?;:])\s+")
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
_ASSURED: Final = re.compile(
    r"(?i)\b(?:ensures?|mak(?:es?|ing) sure|guarantees?|avoid(?:s|ing)?) that\b[^,;:.!?]*"
)


def statements(sentences: Iterable[str]) -> list[str]:
    """Sentences without what they do not report: how to do a thing is no symptom."""
    sentences = (_NO_LONGER.sub(" ", _reported(one)) for one in sentences)
    kept = (_QUESTION.sub(_troubled, _PROPOSED.sub(_troubled, one)) for one in sentences)
    return [one for one in kept if one.strip()]


def proposes(sentences: Sequence[str]) -> bool:
    """Whether a text opens with a change that adds something, and names no trouble."""
    if not any(one.match(sentence) for sentence in sentences[:1] for one in (_PROPOSED, _PROPOSES)):
        return False
    return not any(_TROUBLE.search(one) or _LACKING.search(one) for one in statements(sentences))


def _reported(line: str) -> str:
    """A line without what it supposes, wishes or makes sure of."""
    return " ".join(_real(sentence) for sentence in _SENTENCE.split(line))


def _real(sentence: str) -> str:
    if _UNREAL.search(sentence) is not None:
        return " "
    sentence = _ASSURED.sub(" ", _WISH.sub(" ", sentence))
    return _CONDITION.sub(lambda found: _condition(found, sentence), sentence)


def _condition(found: re.Match[str], sentence: str) -> str:
    """A condition, unless it is a symptom that is only supposed."""
    rest = f"{sentence[: found.start()]} {sentence[found.end() :]}"
    if _MATTERS.search(rest) is not None:
        return found[0]
    states = lexicon().names["states"]
    supposed = any(" " in fact.name or fact.name in states for fact in facts_of(found[0]))
    return " " if supposed else found[0]


def _troubled(found: re.Match[str]) -> str:
    return found[0] if _TROUBLE.search(found[0]) else " "
