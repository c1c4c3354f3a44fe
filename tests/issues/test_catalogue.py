import re
from pathlib import Path

import pytest

from inspector.capture.errors import InspectorError
from inspector.issues.catalogue import DEFAULT_FILE, catalogue, read_catalogue
from inspector.issues.issue import Side
from tests.support.entries import ENTRY, written


def refused(*entries: object) -> str:
    with pytest.raises(InspectorError) as error:
        read_catalogue(written(*entries), name="issues.yaml")
    return str(error.value)


def test_an_entry_needs_no_code() -> None:
    (issue,) = read_catalogue(written(ENTRY))
    assert (issue.id, issue.sides) == ("an-issue", (Side.SERVER,))
    assert issue.patterns[0].expression.search("and this very text here")


@pytest.mark.parametrize("field", ["id", "title", "side", "cause", "steps", "confidence", "basis"])
def test_a_missing_field_is_named_with_its_entry(field: str) -> None:
    said = refused({key: value for key, value in ENTRY.items() if key != field})
    assert said == f"issues.yaml, entry {'1' if field == 'id' else 'an-issue'}: {field} is missing"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("id", "An Issue", "must be lower-case words joined by hyphens"),
        ("title", "  ", "must be a text that is not empty"),
        ("side", "the cat", "'the cat' is none of: server parser, model output"),
        ("side", [], "must be a list that is not empty"),
        ("steps", "Upgrade.", "must be a list that is not empty"),
        ("confidence", "sure", "is none of: high, medium, low"),
        ("patterns", ["(unclosed text"], "is not a regular expression"),
        ("patterns", [r"\d+ \w+"], "has no run of 4 plain characters"),
        ("hints", ["(unclosed text"], "is not a regular expression"),
        ("affected", {"vllm": "0.13"}, "'0.13' is not an operator"),
        ("affected", {"vim": ">=1.0"}, "vim is none of: vllm, vllm-rust, openai-harmony"),
        ("fixed_in", {"vllm": "soon"}, "'soon' is not a version"),
        ("endpoints", ["chats"], "'chats' is none of: chat, responses"),
        ("rate", "often", "'often' is none of: most, few"),
        ("general", "yes please", "must be true or false"),
        ("request", {"tools": "maybe"}, "tools: 'maybe' is none of: set, false, absent"),
        ("tokens", [{"violation": "begin"}], "'begin' is none of: after_return, after_call"),
        ("tokens", [{"alone": True}], "a token form is a violation or a message"),
        ("tokens", [{"violation": "no_role", "colour": "red"}], "colour is not a key of a token form"),
        ("tokens", [{"message": {"weight": "x"}}], "weight is none of: role, channel"),
        ("findings", [{"kind": "lost"}], "'lost' is none of: unexpected_token"),
        ("findings", [{}], "kind is missing"),
        ("shares_text_with", ["nobody"], "names nobody, which is no entry"),
        ("colour", "red", "colour is not a key of the entry"),
    ],
)
def test_a_wrong_field_is_named_with_its_entry(field: str, value: object, words: str) -> None:
    entry = {**ENTRY, field: value}
    if field == "tokens":
        entry |= {"shows": ["a"], "shows_not": ["b"]}
    said = refused(entry)
    assert said.startswith(f"issues.yaml, entry {entry['id']}: ")
    assert field.split("_", maxsplit=1)[0] in said
    assert words in said


def test_tokens_without_examples_are_refused() -> None:
    assert "tokens need `shows` and `shows_not`" in refused({**ENTRY, "tokens": [{"violation": "no_role"}]})


def test_an_entry_that_nothing_leads_to_is_refused() -> None:
    entry = {key: value for key, value in ENTRY.items() if key != "patterns"}
    assert "nothing can lead to it" in refused(entry)


def test_an_id_that_is_used_twice_is_refused() -> None:
    assert refused(ENTRY, ENTRY) == "issues.yaml, entry an-issue: id is used twice"


@pytest.mark.parametrize("text", ["{", "just words", "- 3", "- [1]", "a: 1", "", "- {1: 2}"])
def test_what_is_no_catalogue_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(InspectorError, match="the catalogue"):
        read_catalogue(text)


def test_a_catalogue_cannot_run_code(tmp_path: Path) -> None:
    victim = tmp_path / "made"
    with pytest.raises(InspectorError):
        read_catalogue(f'!!python/object/apply:os.mkdir ["{victim}"]')
    assert not victim.exists()


def test_an_entry_of_ours_says_what_to_do_and_what_it_rests_on() -> None:
    unfinished = [
        (issue.id, sentence)
        for issue in catalogue()
        for sentence in (issue.cause, *(step.text for step in issue.steps), issue.basis)
        if sentence[-1] not in ".)"
    ]
    assert unfinished == []
    no_links = [
        (issue.id, link)
        for issue in catalogue()
        for link in issue.links
        if not re.fullmatch(r"https://\S+", link)
    ]
    assert no_links == []


def test_the_catalogue_has_at_least_the_seventy_known_issues() -> None:
    assert len(catalogue()) >= 70


def test_the_file_lies_beside_its_reader() -> None:
    assert DEFAULT_FILE.parent.parts[-2:] == ("inspector", "issues")
