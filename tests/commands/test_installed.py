"""Commands of other distributions: found by their entry point, listed in the help, named in their errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.distributions import add_distribution

MODULE = """
from inspector.commands.options import Command, Options, required

class Greet(Options):
    name: str = required("whom", positional=True)

COMMAND = Command(Greet, lambda options: print(f"Hello {options.name}") or 0, "")
"""


def run(folder: Path, *words: str, point: str = "COMMAND") -> "subprocess.CompletedProcess[str]":
    """The program, with a distribution that adds `greet` and another `audit`."""
    names = "".join(f"{name} = my_package:{point}\n" for name in ("greet", "audit"))
    environment = add_distribution(folder, MODULE, f"[harmony_inspector.commands]\n{names}")
    command = [sys.executable, "-m", "inspector", *words]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_it_runs(tmp_path: Path) -> None:
    done = run(tmp_path, "greet", "Ada")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello Ada\n", "")


def test_the_help_says_whose_it_is(tmp_path: Path) -> None:
    printed = run(tmp_path, "--help").stdout
    assert printed.index("of other distributions") < printed.index("of my-package")


def test_it_replaces_no_command_of_the_program(tmp_path: Path) -> None:
    assert "Hello" not in run(tmp_path, "audit", "--help").stdout


@pytest.mark.parametrize(
    ("point", "words"),
    [("nothing", "cannot be loaded (AttributeError: "), ("Greet", "is not a `Command` or `Program`")],
)
def test_a_fault_is_one_sentence(point: str, words: str, tmp_path: Path) -> None:
    done = run(tmp_path, "greet", point=point)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"the command 'greet' of my-package {words}" in done.stderr
