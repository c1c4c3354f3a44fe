"""All that the commands print, and the parser of their words. It loads nothing of the program.

Only this module prints, so that text of a model, a server or a file name reaches a terminal escaped. The
class of a line says its style, whose escape sequences are added when its text is escaped.
"""

import json
import os
import re
import sys
from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, HelpFormatter, Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile
from pathlib import Path
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any, Final, Literal, NoReturn

SCRIPT: Final = "harmony-inspector"
"""What the installed program is called."""
MODULE: Final = "python -m inspector"
"""What it is called in a checkout, and in the texts of the program."""

ColorWhen = Literal["auto", "always", "never"]


class Heading(str):
    """A line that names what the lines below it are about: bold."""

    __slots__ = ()


class Verdict(str):
    """A line whose first word is a verdict or a severity: that word has its colour."""

    __slots__ = ()


class Row(str):
    """A row of a table: where it is too wide, it is broken between columns."""

    __slots__ = ()


_BOLD, _RED, _GREEN, _YELLOW, _END = (f"\x1b[{code}m" for code in ("1", "31", "32", "33", "0"))
_COLORS: Final = {
    "error": _RED,
    "failed": _RED,
    "warning": _YELLOW,
    "clean": _GREEN,
    "ok": _GREEN,
}
_FIRST_WORD: Final = re.compile(r"\w+")
_INDENT: Final = re.compile(r" *(?:- |[0-9]+\. |[|] )?")
_WORD: Final = re.compile(r"( *)((?:`[^`]*`|[^ ])+)")
"""What is not broken: a word, or a command between backticks."""
_CELL: Final = re.compile(r"( *)((?:[^ ]| (?! ))+)")


@dataclass
class _Screen:
    color: ColorWhen = "auto"
    drawn: int = 0
    """Characters of the line of progress that is on standard error."""


_SCREEN: Final = _Screen()


def use_color(when: ColorWhen) -> None:
    """Colour what `say` prints; `auto` is on a terminal, unless NO_COLOR or FORCE_COLOR decides."""
    _SCREEN.color = when


def _colored() -> bool:
    if _SCREEN.color != "auto":
        return _SCREEN.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    # The older console of Windows has no TERM and prints escape sequences as text.
    able = os.environ.get("TERM", "") not in ("", "dumb") or "WT_SESSION" in os.environ
    return able and sys.stdout.isatty()


class Help(HelpFormatter):
    """Help whose examples, which are indented, keep their lines; prose is wrapped.

    Both have the name by which the program was called.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines: list[str] = []
        width -= len(indent)
        if self._prog.startswith(SCRIPT):
            text = text.replace(MODULE, SCRIPT)
        for kept, group in groupby(text.splitlines(), lambda line: line[:1] in ("", " ")):
            paragraph = list(group)
            lines += paragraph if kept else wrap(" ".join(paragraph), width, break_on_hyphens=False)
        return "\n".join(f"{indent}{line}" for line in lines)


class Parser(ArgumentParser):
    """A parser that names the nearest word, and escapes the command line: file names may be hostile too."""

    _words: Sequence[str] = ()

    def parse_args(self, words: Sequence[str]) -> Namespace:  # type: ignore[override]
        """The arguments in these words."""
        self._words = words
        return super().parse_args(words)

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = nearest(str(value), choices := [str(choice) for choice in action.choices])
            hint = f" (choose from {', '.join(choices)})" if near is None else f"; did you mean {near}?"
            raise ArgumentError(action, f"invalid choice: {value!r}{hint}")

    def error(self, message: str) -> NoReturn:
        """Print usage and one line, and exit with 2."""
        shown = {
            name: action for name, action in self._option_string_actions.items() if action.help != SUPPRESS
        }
        for word in takewhile(lambda word: word != "--", self._words):
            name = word.partition("=")[0]
            known = any(option.startswith(name) for option in self._option_string_actions)
            if name.startswith("--") and not known and (near := nearest(name, shown)):
                message += f"; did you mean {shown[near].option_strings[-1]}?"
        super().error(printable(message))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a mistyped one is nearest to; None if none is near."""
    from difflib import get_close_matches  # noqa: PLC0415 -- only a mistake needs it

    return next(iter(get_close_matches(word, list(known), 1)), None)


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print a value as JSON, on one line without `indent`; all but printable ASCII is escaped."""
    print(json.dumps(value, indent=indent, ensure_ascii=True).replace("\x7f", "\\u007f"))


def say(lines: str | Iterable[str]) -> None:
    """Print one line, or several, on standard output; a line feed inside a line is escaped as well.

    On a terminal long lines are wrapped at its width. Elsewhere each stays one line, as scripts search them.
    """
    width = get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    colored = _colored()
    clear()
    for line in (lines,) if isinstance(lines, str) else lines:
        shown = list(_wrapped(printable(line), width, _CELL if isinstance(line, Row) else _WORD))
        if colored and isinstance(line, Heading):
            shown = [f"{_BOLD}{part}{_END}" for part in shown]
        elif colored and isinstance(line, Verdict) and (word := _FIRST_WORD.search(shown[0])):
            color = _COLORS.get(word[0].lower())
            if color is not None:
                shown[0] = f"{word.string[: word.start()]}{color}{word[0]}{_END}{word.string[word.end() :]}"
        print("\n".join(shown))


def _wrapped(line: str, width: int, unbroken: re.Pattern[str]) -> Iterator[str]:
    """A line in parts that fit, but for what is unbroken and longer; all but the first are indented."""
    if len(line) <= width:
        yield line
        return
    indent = _INDENT.match(line)
    assert indent is not None  # noqa: S101 -- it matches the empty text too
    hanging = indent.end() if indent[0].strip() else indent.end() + 2
    part = ""
    for gap, word in unbroken.findall(line):
        if part.strip() and len(part) + len(gap) + len(word) > width:
            yield part
            part = " " * hanging + word
        else:
            part += gap + word
    yield part


def called() -> str:
    """What the program was called."""
    return SCRIPT if Path(sys.argv[0]).stem == SCRIPT else MODULE


def tell(line: str) -> None:
    """Print one line on standard error, at once: an error or progress."""
    clear()
    print(printable(line.replace(MODULE, called())), file=sys.stderr, flush=True)


def redraw(line: str) -> None:
    """Write a line of progress on standard error over the one before, as far as the terminal is wide."""
    shown = printable(line)[: get_terminal_size().columns - 1]
    print(f"\r{shown.ljust(_SCREEN.drawn)}", end="", file=sys.stderr, flush=True)
    _SCREEN.drawn = len(shown)


def clear() -> None:
    """Remove the line of progress."""
    if _SCREEN.drawn:
        redraw("")
        redraw("")


def print_text(text: str) -> None:
    """Print a text of several lines, without a line feed of its own."""
    print("\n".join(map(printable, text.split("\n"))), end="")


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows of a table, each column as wide as its longest text as it is printed."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def printable(text: str) -> str:
    """Text for a terminal: control, bidi and other unprintable characters as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )
