"""Programs that the tests start can be interrupted, and none runs for ever."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import bounded

ROOT = Path(__file__).parents[2]
ASKED = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
STARTED = f"import subprocess, sys, conftest; subprocess.run([sys.executable, '-c', {ASKED!r}])"


@pytest.mark.skipif(sys.platform == "win32", reason="shells of Unix")
def test_a_run_in_the_background_starts_programs_that_can_be_interrupted() -> None:
    for program, interruptible in ((ASKED, "False"), (STARTED, "True")):
        shell = ["bash", "-c", 'trap "" INT; exec "$@"', "bash", sys.executable, "-c", program]
        completed = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, timeout=180, check=True)
        assert completed.stdout.strip() == interruptible


def test_a_program_that_does_not_end_is_killed() -> None:
    words = [sys.executable, "-c", "import time; time.sleep(600)"]
    with bounded(subprocess.Popen(words, stdout=subprocess.PIPE, text=True), most_s=0.5) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == ""
    assert program.returncode != 0
