"""All that the commands print, and the parser of their words. It loads nothing of the program.

Only this module prints, so that text of a model, a server or a file name reaches a terminal escaped.
"""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, Protocol


class Commands(Protocol):
    """The subparsers of the program (`argparse` keeps their type private)."""

    def add_parser(self, name: str, **options: Any) -> ArgumentParser:
        """Add one command."""


class Parser(ArgumentParser):
    """A parser that escapes the command line in its errors: file names may be hostile too."""

    def error(self, message: str) -> NoReturn:
        """Print usage and one line, and exit."""
        super().error(printable(message))


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
