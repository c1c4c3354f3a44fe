"""Many findings of one kind are one line, and none is lost by that."""

from inspector import load
from inspector.analysis.audit import Finding
from inspector.files.store import FIXTURES
from inspector.inspection.inspection import inspect
from inspector.views.finding_groups import grouped, rest_words

LONG = FIXTURES / "responses-dropped-tokens-long-vllm-0.13.0.jsonl.gz"


def findings_of(name: str) -> list[Finding]:
    capture = load(FIXTURES / name)
    return list(inspect(capture).findings)


def test_equal_losses_are_one_group_at_the_place_of_the_first() -> None:
    findings = findings_of(LONG.name)
    groups = grouped(findings)
    assert [(group[0].field, len(group)) for group in groups] == [
        ("reasoning", 4),
        ("content", 187),
        ("content", 1),
    ]
    assert sorted((finding for group in groups for finding in group), key=findings.index) == findings


def test_rest_words_count_findings_and_characters() -> None:
    reasoning, content, protocol = grouped(findings_of(LONG.name))
    assert rest_words(reasoning) == (
        "and 3 more of this kind (the last at event 7), 20 characters of the reasoning in total"
    )
    assert rest_words(content) == (
        "and 186 more of this kind (the last at event 193), 1,170 characters of the answer (content) in total"
    )
    assert rest_words(protocol) == ""


def test_few_findings_are_not_grouped() -> None:
    findings = findings_of("chat-preamble-tool-call-leak-vllm-0.14.1.jsonl")
    assert grouped(findings) == [[finding] for finding in findings]
