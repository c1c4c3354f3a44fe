"""A bug report in Markdown, ready to paste.

All text from a server or model is put in code, so that nothing in it becomes a link, a mention, markup
or an image.
"""

from collections.abc import Iterator
from typing import Final

from inspector.analysis.audit import Finding, Kind
from inspector.capture.formats import clip_counted, count
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker
from inspector.views.finding_groups import grouped, rest_words
from inspector.views.report.escape import code, fence, masked, named
from inspector.views.report.facts import LINKS_SHOWN, Facts
from inspector.views.report.shrink import Reproduction
from inspector.views.rows import finding_words

_FINDINGS_LISTED: Final = 20
_IDS_SHOWN: Final = 2_000
_TEXT_SHOWN: Final = 8_000


def markdown(facts: Facts) -> str:
    """The report of one capture."""
    return "\n".join(_lines(facts)).rstrip() + "\n"


def _lines(facts: Facts) -> Iterator[str]:
    yield f"**What happened:** {_prose(facts.result.headline_with_prompt)}\n"
    yield f"{_prose(facts.result.fault)}\n"
    yield "### Environment\n"
    yield from (f"- {_plain(name.replace('_', ' '))}: {code(value)}" for name, value in facts.environment)
    yield ""
    if facts.reproduction is not None and facts.shown_by is not None:
        yield from _reproduction(facts.reproduction, facts.shown_by)
    if findings := facts.result.inspection.findings:
        yield "### Expected and delivered\n"
        groups = grouped(findings)
        for group in groups[:_FINDINGS_LISTED]:
            yield from _finding(group[0])
            if rest := rest_words(group):
                yield f"{_plain(rest)}.\n"
        if more := sum(map(len, groups[_FINDINGS_LISTED:])):
            yield f"and {count(more, 'more finding')}.\n"
    for row in facts.fields:
        if row.state.equal is False:
            yield f"{code(row.field)}, generated according to {row.evidence.words}:\n"
            yield f"{fence(_cut(row.generated or ''))}\n"
            yield f"delivered:\n\n{fence(_cut(row.delivered or ''))}\n"
    if facts.wrong_left_out:
        yield f"and the texts of {count(facts.wrong_left_out, 'more choice')} with findings.\n"
    if facts.advice:
        yield "### Similar known issues\n"
        for advice in facts.advice:
            steps = " ".join(_prose(step.text) for step in advice.steps)
            links = " ".join(f"<{link}>" for link in advice.links[:LINKS_SHOWN])
            yield f"- {code(advice.issue.id)}: {_prose(advice.issue.title)}. {steps} {links}".rstrip()
        yield ""
    yield "### Replay\n"
    yield f"{fence(chr(10).join(facts.replay), 'sh')}\n"
    if facts.request:
        yield "<details><summary>Request</summary>\n"
        yield f"{fence(facts.request, 'json')}\n"
        yield "</details>\n"
    for note in facts.notes:
        yield f"Note: {_prose(note)}\n"


def _reproduction(reproduction: Reproduction, finding: Finding) -> Iterator[str]:
    size = count(len(reproduction.ids), "token")
    if reproduction.shrunk:
        yield f"### The shortest token list that still fails ({size})\n"
    else:
        yield f"### Tokens around the finding ({size})\n"
    yield f"{fence(', '.join(map(str, reproduction.ids[:_IDS_SHOWN])))}\n"
    if len(reproduction.ids) > _IDS_SHOWN:
        yield f"and {len(reproduction.ids) - _IDS_SHOWN:,} more IDs.\n"
    yield f"As text: {code(_cut(text_of(reproduction.ids[:_IDS_SHOWN])))}\n"
    if reproduction.by_parser:
        yield f"The Harmony library rejects these tokens: {code(reproduction.says)}\n"
        yield f"{fence(_script(reproduction.ids[:_IDS_SHOWN]), 'python')}\n"
    else:
        yield f"They reproduce: {code(finding_words(finding)['title'])}\n"


def _script(ids: list[int]) -> str:
    role = "None" if ids and ids[0] == Marker.START else "Role.ASSISTANT"
    return (
        "from openai_harmony import HarmonyEncodingName, Role, StreamableParser, load_harmony_encoding\n\n"
        "encoding = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)\n"
        f"parser = StreamableParser(encoding, role={role})\n"
        f"for token in {ids}:\n"
        "    parser.process(token)"
    )


def _finding(finding: Finding) -> Iterator[str]:
    words = finding_words(finding)
    yield f"- {code(words['title'])} ({finding.severity}): {code(_cut(words['line']))}"
    if finding.kind in {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}:
        if finding.generated:
            unsent = "" if finding.sent else ", never sent"
            yield f"  - rejected{unsent}: {code(_cut(finding.generated))}"
        yield f"  - parser: {code(_cut(finding.delivered or ''))}"
        yield ""
        return
    if finding.generated:
        there = f" in {code(finding.field)}" if finding.delivered_in and finding.field else ""
        yield f"  - expected{there}: {code(_cut(finding.generated))}"
    if finding.delivered is not None:
        got = code(_cut(finding.delivered)) if finding.delivered else "nothing"
        there = f" in {code(finding.delivered_in)}" if finding.delivered_in else ""
        yield f"  - delivered{there}: {got}"
    yield ""


def _prose(text: str) -> str:
    """One of our sentences, with the text that it quotes as code."""
    parts = masked(text).split("“")
    pieces = [_plain(parts[0])]
    for part in parts[1:]:
        inner, mark, rest = part.partition("”")
        pieces.append(f"{code(inner)}{_plain(rest)}" if mark else _plain(f"“{inner}"))
    return "".join(pieces)


def _plain(text: str) -> str:
    """Text outside of code, escaped: `<|end|>` would vanish as HTML, brackets would become links."""
    escaped = "".join(f"\\{char}" if char in "\\`*_[]<>|@#!~" else char for char in named(text))
    return escaped.replace("\n", " ")


def _cut(text: str) -> str:
    return clip_counted(text, _TEXT_SHOWN)
