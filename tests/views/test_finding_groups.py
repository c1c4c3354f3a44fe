"""Many findings of one kind are one line, and none is lost by that."""

from inspector import load
from inspector.analysis.audit import Finding
from inspector.files.store import FIXTURES
from inspector.inspection.inspection import inspect
from inspector.views.finding_groups import grouped, rest_words

LONG = FIXTURES / "responses-dropped-tokens-long-vllm-0.13.0.jsonl.gz"


def found(name: str) -> list[Finding]:
    (capture,) = load(FIXTURES / name)
    return list(inspect(capture).findings)


def test_equal_losses_are_one_group_at_the_place_of_the_first() -> None:
    findings = found(LONG.name)
    groups = grouped(findings)
    assert [(group[0].field, len(group)) for group in groups] == [
        ("reasoning", 4),
        ("content", 187),
        ("content", 1),
    ]
    assert sorted((one for group in groups for one in group), key=findings.index) == findings


def test_the_rest_of_a_group_is_counted_with_its_text() -> None:
    reasoning, content, protocol = grouped(found(LONG.name))
    assert rest_words(reasoning) == (
        "and 3 more of this kind (the last at event 7), 20 characters of the reasoning in total"
    )
    assert rest_words(content) == (
        "and 186 more of this kind (the last at event 193), 1,170 characters of the answer (content) in total"
    )
    assert rest_words(protocol) == ""


def test_few_findings_stay_apart() -> None:
    findings = found("chat-preamble-tool-call-leak-vllm-0.14.1.jsonl")
    assert grouped(findings) == [[one] for one in findings]
