"""The table of releases: what its places tell, and that the catalogue agrees."""

import pytest

from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.table import catalogue
from inspector.issues.catalogue.versions import as_version
from inspector.issues.texts.anchors import Anchor, Releases, releases


@pytest.mark.parametrize(
    ("places", "versions"),
    [
        ([("serving_chat.py", 1305), ("vllm/entrypoints/openai/serving_chat.py", 741)], ("0.13.0",)),
        (
            [("serving_chat.py", 1343), ("/x/vllm/entrypoints/openai/serving_chat.py", 829)],
            ("0.14.0", "0.14.1"),
        ),
        ([("serving_chat.py", 1145)], ("0.11.0",)),
        ([("vllm/parser/harmony.py", 383)], ("0.32.0", "0.33.0")),
        ([("parser/harmony.py", 383), ("openai/chat_completion/serving.py", 952)], ("0.33.0",)),
        ([("serving_chat.py", 1305), ("my_own.py", 3)], ("0.13.0",)),
        ([("my_own.py", 3)], ()),
        ([], ()),
    ],
)
def test_places_tell_the_release(places: list[tuple[str, int]], versions: tuple[str, ...]) -> None:
    assert releases().of([Anchor(*place) for place in places]) == versions


def test_places_of_different_releases_tell_none() -> None:
    assert releases().of([Anchor("serving_chat.py", 1305), Anchor("serving_chat.py", 1343)]) == ()


def test_a_file_name_that_is_only_the_end_of_another_does_not_count() -> None:
    table = Releases(lines={"0.1.0": {"a/serving_chat.py": frozenset({1})}}, texts={})
    assert table.of([Anchor("chat.py", 1)]) == ()
    assert table.of([Anchor("serving_chat.py", 1)]) == ("0.1.0",)


def test_the_table_knows_the_releases_that_people_run() -> None:
    versions = sorted(releases().lines, key=lambda version: as_version(version) or ())
    assert (versions[0], versions[-1]) == ("0.10.1", "0.33.0")
    assert len(versions) >= 25


@pytest.mark.parametrize(
    "issue", [issue for issue in catalogue() if issue.server_text], ids=lambda issue: issue.id
)
def test_the_affected_versions_are_those_whose_source_has_the_text(issue: Issue) -> None:
    table = releases()
    having = {version for text in issue.server_text for version in table.texts[text]}
    assert having == {version for version in table.lines if version in issue.affected["vllm"]}
