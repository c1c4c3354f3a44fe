"""What a terminal gets that a pipe does not: colours, lines of its width, progress."""

import io
import sys
from collections.abc import Iterator, Sequence
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.commands import progress as module
from inspector.commands.progress import in_turn, progress
from inspector.commands.terminal import Heading, Row, Verdict, printable, say, tell, use_color
from tests.support.command import inspector

BOLD, RED, END = "\x1b[1m", "\x1b[31m", "\x1b[0m"
CAPTURE = "chat-tool-call-leak-vllm-0.14.1"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("NO_COLOR", "FORCE_COLOR", "WT_SESSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    yield
    use_color("auto")


def said(lines: Sequence[str], width: int, *, terminal: bool = True) -> str:
    """What `say` writes."""
    out: io.StringIO = Terminal() if terminal else io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setenv("COLUMNS", str(width))
        say(lines)
    return out.getvalue()


LINES = st.lists(
    st.builds(
        lambda kind, start, text: kind(start + text),
        st.sampled_from([str, Heading, Verdict, Row]),
        st.sampled_from(["", "  ERROR: ", "  ok       ", "     - ", "  2. "]),
        st.text(st.one_of(st.characters(), st.sampled_from(" `\x1b[31m\x9b\u202e"))),
    ),
    max_size=4,
)


@given(lines=LINES, width=st.integers(20, 120))
def test_whatever_a_line_says_only_its_style_is_an_escape_sequence(lines: list[str], width: int) -> None:
    use_color("never")
    plain = said(lines, width)
    assert plain.replace("\n", "").isprintable()
    use_color("always")
    colored = said(lines, width)
    for sequence in (BOLD, RED, "\x1b[32m", "\x1b[33m", END):
        colored = colored.replace(sequence, "")
    assert colored == plain


@given(lines=LINES, width=st.integers(20, 120))
def test_a_terminal_gets_every_word_within_its_width(lines: list[str], width: int) -> None:
    use_color("never")
    wrapped = said(lines, width)
    whole = said(lines, width, terminal=False)
    assert whole == "".join(f"{printable(line)}\n" for line in lines), "one line each in a pipe"
    assert wrapped.split() == whole.split()
    for line in wrapped.splitlines():
        assert (
            len(line) <= width
            or " " not in line.strip()
            or "`" in line
            or any(isinstance(row, Row) for row in lines)
        )


def test_a_table_is_broken_between_columns_and_a_step_is_indented_as_its_text() -> None:
    lines = [Row("a title  a long cell  another"), "   - a step that is long `one two three`"]
    assert said(lines, 22).splitlines() == [
        "a title  a long cell",
        "  another",
        "   - a step that is",
        "     long",
        "     `one two three`",
    ]


@pytest.mark.parametrize(
    ("variables", "option", "terminal", "colored"),
    [
        ({}, (), False, False),
        ({}, (), True, True),
        ({"NO_COLOR": ""}, (), True, True),
        ({"NO_COLOR": "1"}, (), True, False),
        ({"TERM": "dumb"}, (), True, False),
        ({"TERM": ""}, (), True, False),
        ({"TERM": "", "WT_SESSION": "1"}, (), True, True),
        ({"FORCE_COLOR": "1"}, (), False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False, False),
        ({"NO_COLOR": "1"}, ("--color", "always"), False, True),
        ({"FORCE_COLOR": "1"}, ("--color", "never"), True, False),
        ({}, ("--color", "always", "--json"), True, False),
        ({}, ("--color", "always", "--sarif", "-"), True, False),
    ],
)
def test_who_decides_on_colours(
    variables: dict[str, str],
    option: tuple[str, ...],
    terminal: bool,
    colored: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    text = inspector("audit", CAPTURE, *option, terminal=terminal).stdout.decode()
    assert (f"{BOLD}{CAPTURE}{END}" in text) is colored
    assert (f"{RED}ERROR{END}: Your client" in text) is colored
    assert colored or "\x1b" not in text


def test_progress_is_one_line_that_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr, drawn = Terminal(), Event()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(module, "_FIRST_AFTER_S", 0.01)
    monkeypatch.setattr(module, "_EACH_S", 0.01)
    monkeypatch.setenv("COLUMNS", "30")

    def words() -> str:
        if "file" in stderr.getvalue():
            drawn.set()
        return "file\x1b[2J " + 40 * "x"

    with progress() as step:
        step(words)
        assert drawn.wait(60)
        tell("an error")
    before, after = stderr.getvalue().split("an error\n")
    assert before.startswith("\rfile\\x1b[2J xxxx")
    for part in (before, after):
        assert all(len(line) < 30 for line in part.split("\r"))
        assert part.rpartition("\r")[2] == "", "the cursor is in the first column of an empty line"
        assert part.rpartition("\r")[0].rpartition("\r")[2].strip() == ""


def test_progress_is_only_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(module, "_FIRST_AFTER_S", 0.0)
    with progress() as step:
        step("asked")
    assert list(in_turn(["a", "b"])) == ["a", "b"]
    assert stderr.getvalue() == ""
