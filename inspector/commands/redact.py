"""`redact`: copies of captures without their text, with the same findings."""

import os
import re
from pathlib import Path
from typing import Final

from inspector.capture.errors import InspectorError, StoreError
from inspector.capture.formats import count
from inspector.commands.options import Command, Options, flag, required
from inspector.commands.progress import in_turn, progress
from inspector.commands.shared import capture_files, captures
from inspector.commands.terminal import say, tell
from inspector.files.store import save
from inspector.inspection.inspection import inspect
from inspector.inspection.masking import Standins, masked

_EXAMPLE = """examples:
  python -m inspector redact capture.jsonl --out shared.jsonl
  python -m inspector redact captures/*.jsonl --out shared/

A copy keeps a published vocabulary: names and enumerations of the protocol, special tokens, phrases of known
errors. All else, token IDs too, is replaced with stand-ins of the same length. Each copy is audited before it
is written, and has the same findings. Files of one call share stand-ins, so they can be compared with each
other. docs/sharing.md lists what stays and what can still be seen.

exit codes: 0 written, 2 a file cannot be read, redacted or written
"""
_KEY_BYTES: Final = 32
_ENDING: Final = re.compile(r"(\.[A-Za-z]\w{0,9}){0,2}$")


def redacting() -> bool:
    """The field of `--redact-text`, for commands that store captures."""
    return flag("replace all but a published vocabulary with stand-ins of the same length (docs/sharing.md)")


class Redact(Options):
    """Replace the text of captures with stand-ins of equal length. Findings stay the same."""

    files: tuple[str, ...] = capture_files(several=True)
    out: str = required(
        "file to write; a folder if there are several captures or it ends in /; nothing is overwritten",
        "FILE",
    )


def fresh() -> Standins:
    """Stand-ins from a random key that is not stored."""
    return Standins(os.urandom(_KEY_BYTES))


def run(options: Redact) -> int:
    """Write the copies."""
    originals = [capture for file in in_turn(options.files) for capture in captures(file)]
    out = Path(options.out)
    several = len(originals) > 1 or out.is_dir() or options.out.endswith(("/", os.sep))
    targets = [out / _name(name) for name, _ in originals] if several else [out]
    taken = set[Path]()
    for target in targets:
        if target.exists():
            raise StoreError(f"{target}: file already exists; choose another --out")
        if target in taken:
            raise StoreError(f"{target}: two captures would have this name; redact them one by one")
        taken.add(target)
    if several:
        _make_folder(out)
    standins, refused = fresh(), 0
    for (name, capture), target in zip(originals, targets, strict=True):
        with progress() as step:
            step(name)
            try:
                copy = masked(capture, standins, name=name)
            except InspectorError as error:  # the other captures are still redacted
                tell(f"inspector: {error}")
                refused += 1
                continue
            save(copy, target)
        findings = count(len(inspect(copy).findings), "finding")
        say(f"{target}: {count(len(copy.events), 'event')}, {findings}, as before")
    return 2 if refused else 0


def _name(name: str) -> str:
    file, hash_mark, number = name.rpartition("#") if re.search(r"#\d+$", name) else (name, "", "")
    stem = _ENDING.sub("", Path(file).name) or "capture"
    return f"{stem}{'-' if hash_mark else ''}{number}-redacted.jsonl"


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InspectorError(f"{path}: cannot be created ({error.strerror}); choose another --out") from error


COMMAND: Final = Command(Redact, run, _EXAMPLE)
