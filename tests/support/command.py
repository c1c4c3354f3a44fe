"""The command line in this process, as scripts see it: bytes in, bytes and an exit code out."""

import io
import sys
from contextlib import chdir
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

from inspector.cli import main

__all__ = ["ROOT", "inspector"]

ROOT = Path(__file__).parents[2]


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def inspector(*words: str | Path, stdin: bytes = b"", terminal: bool = False) -> CompletedProcess[bytes]:
    """What `python -m inspector WORDS` prints in the repository's root, and its exit code.

    A start of Python with its imports takes ten times as long as most commands. With `terminal` standard
    output says that it is one.
    """
    typed = io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin)), "utf-8")
    stdout, stderr = io.BytesIO(), io.BytesIO()
    output = (_Terminal if terminal else io.TextIOWrapper)(stdout, "utf-8", write_through=True)
    errors = io.TextIOWrapper(stderr, "utf-8", "backslashreplace", write_through=True)
    with (
        chdir(ROOT),
        patch.object(sys, "stdin", typed),
        patch.object(sys, "stdout", output),
        patch.object(sys, "stderr", errors),
    ):
        try:
            code = main([*map(str, words)])
        except SystemExit as end:  # of the parser: --help, or words that it does not know
            code = end.code if isinstance(end.code, int) else 2
    return CompletedProcess([*words], code, stdout.getvalue(), stderr.getvalue())
