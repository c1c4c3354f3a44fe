import re
from pathlib import Path

import pytest

from inspector.capture.errors import InspectorError, LabError
from inspector.files.tables import Row, Several, Text, one_of, parse_table, read_table


class Entry(Row, frozen=True):
    name: Text
    sizes: Several[int] = (1,)


def test_the_same_rows_are_read_from_yaml_and_toml(tmp_path: Path) -> None:
    for name, content in (
        ("a.yaml", "a: {name: x, sizes: [2, 3]}"),
        ("a.toml", "[a]\nname='x'\nsizes=[2, 3]"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert read_table(tmp_path / name, dict[str, Entry]) == {"a": Entry("x", (2, 3))}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("- {name: x, size: 1}", "unknown field `size` - at `x`"),
        ("- {name: x}\n- {name: y, sizes: []}", "at `y.sizes`"),
        ("- {sizes: [1]}", r"at `\$\[0\]`"),
        ("- {name: 5}", r"at `\$\[0\].name`"),
        ("- {1: 2}", r"at `key` in `\$\[0\]`"),
        ("a: 1", "got `object`"),
        ("", "got `null`"),
        ("[", "while parsing a flow node"),
    ],
)
def test_a_wrong_file_is_rejected_with_the_place(content: str, place: str) -> None:
    with pytest.raises(InspectorError, match=rf"\Afile\.yaml: .*{place}"):
        parse_table(content, tuple[Entry, ...], "file.yaml")


def test_a_file_that_is_not_text_or_missing_is_the_error_that_the_caller_names(tmp_path: Path) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    for name in ("binary.yaml", "missing.yaml"):
        with pytest.raises(LabError, match=rf"{name}: cannot be read"):
            read_table(tmp_path / name, dict[str, Entry], error=LabError)


def test_a_closed_set_has_its_words_and_nothing_around_them() -> None:
    pattern = re.compile(one_of(["a.b", "c"]).pattern or "")
    assert [word for word in ("a.b", "c", "axb", "cc", "a.b\n") if pattern.search(word)] == ["a.b", "c"]
