import pytest

from inspector.issues.catalogue.versions import Range, as_version


def test_versions_compare_as_releases_follow_each_other() -> None:
    order = ["0.9.4", "0.10.1", "0.10.1.1", "0.11.1.dev", "0.11.1rc2", "0.11.1", "0.13.0", "1.0"]
    numbers = [as_version(text) for text in order]
    assert None not in numbers
    assert numbers == sorted(numbers, key=lambda number: number or ())


def test_the_local_part_and_a_leading_v_do_not_count() -> None:
    assert as_version("v0.32.0+cpu") == as_version("0.32.0")


@pytest.mark.parametrize("text", ["", "main", "0", "0.1.x", "1.2.3.4.5", "0.13.0 or so", "9" * 40 + ".1"])
def test_what_is_no_version_is_none(text: str) -> None:
    assert as_version(text) is None


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=0.10.0,<0.14.0", ["0.10.0", "0.13.9", "0.14.0rc1"], ["0.9.2", "0.14.0", "0.14.1"]),
        ("==0.10.1 or >=0.17.0", ["0.10.1", "0.17.0", "0.32.0"], ["0.10.2", "0.16.0"]),
        ("<=0.0.8", ["0.0.4", "0.0.8"], ["0.0.11"]),
        (">0.31.0", ["0.32.0", "0.31.1"], ["0.31.0"]),
    ],
)
def test_a_range_holds_what_its_clauses_say(text: str, inside: list[str], outside: list[str]) -> None:
    range_ = Range(text)
    assert all(version in range_ for version in inside)
    assert not any(version in range_ for version in outside)


@pytest.mark.parametrize("text", ["", "0.13.0", "~=0.13", ">=", ">=main", ">=0.1,,<0.2"])
def test_a_range_that_cannot_be_read_says_which_part(text: str) -> None:
    with pytest.raises(ValueError, match="is not an operator"):
        Range(text)
