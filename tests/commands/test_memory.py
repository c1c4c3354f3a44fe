"""A command takes memory for what it reads, and says so where there is too little."""

import resource
import subprocess
import sys

import pytest

from inspector.files.store import FIXTURES
from tests.support.command import ROOT

PROGRAM = """
import resource, sys
from inspector.cli import main
from inspector.commands.table import PROGRAM
from inspector.protocol.harmony.vocab import encoding
PROGRAM.load("audit"), encoding()  # what all commands need
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize(("room_mib", "code"), [(256, 0), (1, 2)])
def test_a_small_file_needs_little_memory(room_mib: int, code: int) -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    file = FIXTURES / "chat-whole-vllm-0.14.1.jsonl"
    completed = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(room_mib * 2**20), "audit", file],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=180,
        check=False,
    )
    assert completed.returncode == code, completed.stderr
    if code:
        assert completed.stderr.startswith("inspector: not enough memory;")
