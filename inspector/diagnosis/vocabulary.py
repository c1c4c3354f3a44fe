"""Words in which people describe a symptom, by what they mean; an expression names them as `{think}`.

One list for every entry of the catalogue: a word that is added here is known to all of them.
"""

import re
from typing import Final

from inspector.engines import ENGINES

__all__ = ["expanded"]

_GAP: Final = r"[`'\"]?[^\w.;!?]+(?:(?!reason|think|analys|with\b)[\w'-]+[`'\"]?[^\w.;!?]+){0,3}?[`'\"]?"
"""At most three words of a sentence between two, none of which is another field."""
_CALL_GAP: Final = _GAP.replace(
    "with", r"arguments?|params?|parameters?|names?|ids?|results?|inputs?|schemas?|ha(?:ve|s)|with"
)
"""The same behind a tool call, where what is empty may be only a part of the call."""
_OF: Final = r"(?:\s(?:of|from|by|via|in|with|on|through) (?:the |our |my )?[\w./-]+){0,3}"
"""Where something comes from: "the answer of the model on our server is ..."."""
_NOT: Final = r"(?:never|not|\w+n['’]t)"
_MAKES: Final = (
    r"(?:produc|return|giv|get|generat|emit|send|deliver|writ|show|receiv|see|output|yield|provid|hav|ha[sd]\b"
    r"|contain|reach|creat|print|mak|us(?:e|ing)|execut|call|invok|stream|do\b|perform|trigger)\w*"
)
_WITHOUT: Final = (
    r"(?:no|without|missing|lacks?|lacking|empty|blank|null|neither|zero|0 (?:characters|chars|tokens|words))"
)
_NEVER: Final = rf"(?:{_NOT}|cannot|fails? to|failed to|refuses to|unable to|stops?) {_MAKES}"
_ABSENT: Final = (
    r"(?:null|none|nil|empty|blank|missing|lost|absent|gone|nowhere|vanish\w*|disappear\w*|dropped|swallowed"
    rf"|undefined|{_NOT} (?:there|present|returned|delivered|shown|sent|produced|generated|emitted|filled"
    r"|comes?|arrive[sd]?|appear(?:s|ed)?|show(?:s|ed)? up|executed|triggered|called|invoked|parsed|streamed"
    r"|reach\w*))"
)
_ANSWER: Final = (
    r"(?:contents?|output_text"
    r"|(?:final|actual|visible) (?:answers?|messages?|responses?|text|output|channel|content)"
    r"|answers?|repl(?:y|ies)|responses?|(?<!chat )(?<!/)completions?|bubble"
    r"|summar(?:y|ies)|translations?|generations?"
    r"|assistant (?:messages?|repl(?:y|ies)|turns?)|final(?=\W*(?:$|[.,;:!?)\n]|or\b|and\b)))"
)
_CALL: Final = (
    r"(?:(?:tool|function)s?[ _-]?call(?:s|ing)?\b|(?:tool|function) (?:use|usage|invocations?)\b|tool_calls"
    r"|calls? (?:of|to) (?:a |the |my |our )?(?:tools?|functions?)\b)"
)
_TOOL: Final = (
    r"\b(?:tools?|functions?)\b"
    r"(?!['’]?s?[ _-](?:responses?|results?|contents?|outputs?|messages?|names?|descriptions?|roles?))"
    r"(?![ _-](?:(?:use|usage|calls?|calling)[ _-])?(?:checks?|tests?|validations?)\b)"
)
"""A tool itself, not what it returned or what it is called."""
_BROKEN: Final = rf"(?:broken|ignored|{_NOT} (?:work\w*|function\w*|supported|detected|recogni[sz]ed))"
_NO_CHECK: Final = r"(?![ _-](?:ids?|checks?|tests?|validations?|handling|support|examples?|docs)\b)"
"""A missing check of tool calls is no missing tool call."""
_THINK: Final = r"(?:reasoning|thinking|thoughts?|analysis|chain[ -]of[ -]thought|cot)"
_END: Final = (
    r"(?!end(?:s|ed)? up)(?:stop|cut|halt|end|quit|finish|terminat|hang|freez|clos|stuck|paus|abort)\w*"
)
_TEXT: Final = (
    r"(?:text|contents?|strings?|json|markdown|prose|body|answers?|repl(?:y|ies)"
    r"|responses?|outputs?|reasoning)"
)
_WORKS: Final = r"(?:works?|fine|ok|there|present|returned|correct\w*)"
_LACKS: Final = (
    r"(?:miss(?:es|ing|ed)?|los(?:es?|t|ing)|lacks?|lacking|drop(?:s|ped|ping)?|skip(?:s|ped|ping)?"
    r"|omit(?:s|ted)?|swallow\w*|cut|absent|gone|incomplete|truncated|garbled)"
)
_PIECES: Final = (
    r"(?:words?|letters?|tokens?(?! (?:per|limit|budget|count|usage))|characters?|chars?"
    r"|(?<!reasoning )(?<!thinking )text|spaces?"
    r"|parts? of the (?:text|answer|output|sentence)s?)"
)
_UNSTREAMED: Final = r"(?:\bwithout stream\w*|\bnon-?stream\w*|\bstream(?:ing)?\s?=\s?false)"
_WORDS: Final = {
    "call": _CALL,
    "tool": _TOOL,
    "think": rf"\b{_THINK}\b",
    "end": rf"\b{_END}",
    "ours": "|".join(
        (r"gpt[-_ ]?oss", r"\bharmony\b", *(one.named.pattern for one in ENGINES if one.named is not None))
    ),
    "no-answer": (
        rf"(?<!reasoning )(?<!thinking )(?<!tool )\b{_ANSWER}\b{_OF}{_GAP}\b{_ABSENT}(?![\w-])"
        rf"|\b(?:{_WITHOUT}|{_NEVER}){_GAP}\b{_ANSWER}\b"
        r"(?!['_-]| (?:filter|type|length|polic|warning|safety))"
        r"|\bcontent\W{1,4}(?:is |was |== ?)?(?:''|\"\")"
        r"|\b(?:requests?|prompts?|turns?|questions?)\b.{0,16}\b(?:comes?|came|coming|return\w*|ends?|goes)"
        r"(?: back| up)?(?: with)?(?: an?)? (?:blank|empty|null|nothing|unanswered)\b"
    ),
    "no-call": (
        rf"\b{_CALL}{_CALL_GAP}(?:{_ABSENT}|{_BROKEN})(?![\w-])"
        rf"|\b(?:{_WITHOUT}|{_NEVER}|drops?|loses?){_GAP}{_CALL}{_NO_CHECK}"
    ),
    "call-as-text": (
        rf"\b{_CALL}(?:\W+\w+){{0,4}}?(?<!parsed)(?<!decoded)(?<!read)\W+(?:as|in|into|inside)\W+(?:the )?"
        rf"(?:plain |raw |normal |assistant |message\W)?{_TEXT}\b"
    ),
    "end-of-thinking": (
        rf"\b{_END}(?:\W+[\w'-]+){{0,5}}?\W+(?:after|following|in|during|with|at)"
        rf"(?:\W+[\w'-]+){{0,3}}?\W+{_THINK}\b"
        rf"|\bafter(?:\W+[\w'-]+){{0,2}}?\W+{_THINK}\b(?:\W+[\w'-]+){{0,4}}?\W+{_END}"
    ),
    "lacks": _LACKS,
    "text-lost": rf"\b{_LACKS}\b.{{0,30}}\b{_PIECES}\b|\b{_PIECES}\b.{{0,40}}\b{_LACKS}\b",
    "works-unstreamed": (rf"\b{_WORKS}\b.{{0,30}}{_UNSTREAMED}\b|{_UNSTREAMED}\b.{{0,60}}\b{_WORKS}\b"),
}
_NAMED: Final = re.compile(r"\{([a-z][a-z-]+)\}")


def expanded(pattern: str) -> str:
    """A pattern with its named words in place; KeyError for a name that is not known."""
    return _NAMED.sub(lambda found: f"(?:{_WORDS[found[1]]})", pattern)
