"""Shared by several commands: captures and numbers as arguments, files that are written, words."""

import re
import shlex
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import environ
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from inspector.analysis.audit import Severity
from inspector.capture.capture import Capture
from inspector.capture.errors import InspectorError
from inspector.commands.options import Options, Value, flag, option, required, whole
from inspector.commands.terminal import nearest, print_json, print_text
from inspector.files.store import LIMIT_BYTES, builtin, load_all, loads_all, read_at_most, replacing
from inspector.issues import Advice, Alternative
from inspector.issues.catalogue.table import OWN_FILE

FailOn = Literal["error", "warning", "never"]


def capture_files(*, several: bool = False) -> Any:
    """The field of FILE, one or several."""
    return required(
        "a capture, another supported file or the name of a built-in capture; - is standard input",
        "FILE",
        positional=True,
        globs=several,
    )


def as_json(what: str = "the result as JSON") -> bool:
    """The field of `--json`."""
    return flag(f"print {what}")


UNREADABLE: Final = "unreadable"
"""The key of a row of `--jsonl` that says why a file cannot be read."""


def unreadable(file: str, sentence: str) -> dict[str, Any]:
    """The row of a file that cannot be read."""
    return {"file": file, UNREADABLE: sentence}


class Rows(Options):
    """How a command that reads files prints a row for each."""

    json: bool = flag("print one JSON object, or an array for several files", one_of="rows")
    jsonl: bool = flag(
        "print one JSON object per line, for one file as for several; that of a file that cannot be read has "
        f"`{UNREADABLE}`, which says why",
        one_of="rows",
    )

    @property
    def for_programs(self) -> bool:
        """Whether rows are printed in the place of words."""
        return self.json or self.jsonl

    def print_rows(self, rows: Sequence[dict[str, Any]], *, several: bool = False) -> None:
        """Print rows; `--json` has an array where there are `several` files."""
        if self.jsonl:
            for row in rows:
                print_json(row, indent=None)
            return
        readable = [row for row in rows if UNREADABLE not in row]
        if readable or several:
            print_json(readable[0] if len(readable) == 1 and not several else readable)

    @contextmanager
    def reading(self, file: str) -> Iterator[None]:
        """Print the row of an input that cannot be read before the error ends the command."""
        try:
            yield
        except InspectorError as error:
            if self.jsonl:
                self.print_rows([unreadable(file, str(error))])
            raise


class WithIssues(Options):
    """Known issues beside those of the catalogue."""

    issues: str | None = option(
        "known issues of your own beside the catalogue (also from HARMONY_INSPECTOR_ISSUES)",
        None,
        "FILE",
    )

    def use_issues(self) -> None:
        """Have the catalogue read them; before anything asks it."""
        if self.issues is not None:
            environ[OWN_FILE] = self.issues


def exit_level() -> FailOn:
    """The field of `--fail-on`, which `fails` reads."""
    return option("exit with 1 if a finding has at least this severity", "error")


def fails(severity: Severity, level: FailOn) -> bool:
    """Whether a finding of this severity ends a command with 1."""
    return level != "never" and (level == "warning" or severity is Severity.ERROR)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"invalid share: {text[:40]!r} (expected a number from 0 to 1)")
    return share


Share = Annotated[float, Value(_share, "SHARE")]
Number = Annotated[int, whole("number", 0, 999_999_999)]


def stdin_bytes() -> bytes:
    """Read standard input to its end, or as far as a file may be long."""
    return read_at_most(sys.stdin.buffer, LIMIT_BYTES + 1)


_ADDRESS: Final = re.compile(r"https?://|[\w.-]+:\d+(?:/|$)", re.IGNORECASE)


def path_of(file: str) -> Path:
    """The path of a FILE argument, which may be the name of a built-in capture.

    Raises InspectorError for the address of a server, and for a name that is only near a built-in capture's.
    """
    path = Path(file)
    if _ADDRESS.match(file) and not path.exists():
        raise InspectorError(
            f"{file} is an address, and this command reads files; record a response there: "
            f"python -m inspector record --base-url {shlex.quote(file)} --prompt Hello --out capture.jsonl"
        )
    if path.exists() or path.name != file:
        return path
    paths = {row.name: row.path for row in builtin()}
    if file not in paths and (near := nearest(file, paths)):
        raise InspectorError(f"{file}: no such file; a built-in capture is named {near}")
    return paths.get(file, path)


def captures(file: str) -> list[tuple[str, Capture]]:
    """Captures of one FILE argument with their names; `-` is standard input, a HAR may hold several.

    Raises InspectorError when the file cannot be read.
    """
    contents = loads_all(stdin_bytes(), "standard input") if file == "-" else load_all(path_of(file))
    if len(contents) == 1:
        return [(file, contents[0])]
    return [(f"{file}#{number}", capture) for number, capture in enumerate(contents, 1)]


def one_capture(file: str) -> tuple[str, Capture]:
    """The only capture of a file, with its name; raises InspectorError if there are several."""
    named_captures = captures(file)
    if len(named_captures) != 1:
        raise InspectorError(
            f"{file} contains {len(named_captures)} captures; this command needs a file with one"
        )
    return named_captures[0]


def write_text(out: str, text: str) -> None:
    """Write a report to a file, or to standard output for `-`; raises StoreError if that fails.

    Standard output gets escapes for what a terminal would act on, as in all that is printed.
    """
    if out == "-":
        print_text(text)
        return
    with replacing(out, private=False) as file:
        # Lone surrogates come from JSON escapes in a stream; UTF-8 cannot encode them.
        file.write(text.encode("utf-8", "replace"))


def one_on_standard_output(*, json: bool, **files: str | None) -> None:
    """Raise InspectorError if two of the options that write there are given; `files` are options by name."""
    if list(files.values()).count("-") + json > 1:
        raise InspectorError(
            f"only one of --json{''.join(f', --{name} -' for name in files)} can go to standard output"
        )


def advice_lines(
    advised: Sequence[Advice],
    *,
    whole: bool,
    reasons: bool = False,
    alternatives: Sequence[Alternative] = (),
) -> Iterator[str]:
    """The causes that are named, with their steps; without `whole` only the first one has those.

    `reasons` adds to a cause with steps why it is named. `alternatives` look the same as the first one.
    """
    for number, advice in enumerate(advised, 1):
        issue, answer, shown = advice.issue, advice.answer, whole or number == 1
        match = "" if reasons and shown else f" (match: {answer.match})"
        yield f"  {number}. {issue.id}: {issue.title}{match}"
        if not shown:
            continue
        if reasons:
            because = "; ".join(reason.words for reason in answer.reasons)
            yield f"     side: {', '.join(issue.sides)}; match: {answer.match}, because {because}"
            yield f"     {issue.cause}"
        yield from (f"     - {step.text}" for step in advice.steps)
        yield from (f"     see {link}" for link in advice.links[:1])
        for alternative in alternatives if number == 1 else ():
            yield f"     to tell it from {alternative.id}: `{alternative.experiment}`"
