"""All that the commands print, and the parser of their words. It loads nothing of the program.

Only this module prints, so that text of a model, a server or a file name reaches a terminal escaped.
"""

import json
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import NoReturn


class Parser(ArgumentParser):
    """A parser that names the nearest option, and escapes the command line: file names may be hostile too."""

    _words: Sequence[str] = ()

    def parse_args(self, words: Sequence[str]) -> Namespace:  # type: ignore[override]
        """The arguments in these words."""
        self._words = words
        return super().parse_args(words)

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


def print_json(value: object) -> None:
    """Print a value as indented JSON; all characters but printable ASCII are escaped."""
    print(json.dumps(value, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f"))


def say(lines: str | Iterable[str]) -> None:
    """Print one line, or several, on standard output; a line feed inside a line is escaped as well."""
    for line in (lines,) if isinstance(lines, str) else lines:
        print(printable(line))


def tell(line: str) -> None:
    """Print one line on standard error, at once: an error or progress."""
    print(printable(line), file=sys.stderr, flush=True)


def redraw(line: str, width: int) -> int:
    """Write a line on standard error over the one before, which had `width` characters; the new width."""
    escaped = printable(line)
    print(f"\r{escaped.ljust(width)}", end="", file=sys.stderr, flush=True)
    return len(escaped)


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
