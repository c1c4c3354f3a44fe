"""The labels of kinds: one table, in every place that shows them."""

from pathlib import Path

from inspector.analysis.audit.kinds import KINDS, Kind, kind_and_key, kind_label
from inspector.data.scan.reporting import value_words

ROOT = Path(__file__).parents[3]


def test_a_label_stands_with_the_key_that_a_person_types() -> None:
    assert kind_label("unserved") == "no API field"
    assert kind_and_key("unserved") == value_words("unserved", "kind") == "no API field (unserved)"
    assert kind_and_key("dropped") == value_words("dropped", "kind") == "dropped"
    assert value_words("unserved", "model") == "unserved"


def test_a_known_issue_stands_with_its_title_and_id() -> None:
    assert value_words("silent-loss-0-32", "finding_cause") == (
        "Malformed Harmony returns HTTP 200 with missing text (silent-loss-0-32)"
    )
    assert value_words("issue-of-a-later-version", "finding_cause") == "issue-of-a-later-version"
    assert value_words(None, "finding_cause") == "unknown"


def test_a_kind_of_another_version_is_shown_by_its_key() -> None:
    assert kind_label("some_later_kind") == "some later kind"


def test_labels_are_distinct_and_written_in_one_place() -> None:
    """A second copy of a label would be forgotten when the label changes."""
    assert len({info.label for info in KINDS.values()}) == len(Kind)
    own = {info.label for kind, info in KINDS.items() if info.label != kind.value.replace("_", " ")}
    sources = [
        path
        for folder in ("inspector", "pages")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".js"} and path.name != "kinds.py"
    ]
    copies = [
        (path.relative_to(ROOT), label)
        for path in sources
        for text in [path.read_text(encoding="utf-8")]
        for label in own
        if f'"{label}"' in text
    ]
    assert copies == []
