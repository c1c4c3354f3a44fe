"""What commands print about the built-in captures changes only where somebody means it to."""

from difflib import unified_diff

import pytest

from tests.support import golden


@pytest.mark.parametrize("name", golden.NAMES)
def test_it_prints_what_its_file_has(name: str) -> None:
    expected, printed = golden.file(name).read_text("utf-8").splitlines(), golden.printed(name).splitlines()
    changed = "\n".join(unified_diff(expected, printed, "kept", "now", lineterm=""))
    assert not changed, f"if this is meant: python -m tests.support.golden\n{changed}"


def test_every_file_is_of_something_that_is_printed() -> None:
    assert {path.name for path in golden.FOLDER.iterdir()} == {
        golden.file(name).name for name in golden.NAMES
    }
