"""The command line, run as scripts run it: in a process of its own."""

import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "inspector"]

ROOT = Path(__file__).parents[2]


def inspector(*words: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """`python -m inspector WORDS`, once it has ended."""
    command = [sys.executable, "-m", "inspector", *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, timeout=60, check=False)
