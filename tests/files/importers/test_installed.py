"""Importers of other distributions: found by their entry point, asked last, named in their errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.distributions import add_distribution

MODULE = """
from inspector import loads
from inspector.files.importers import Importer

def read(content):
    {read}

IMPORTER = Importer(
    name="my_log", label="", files="my log", becomes="a response",
    sniff=lambda content: content.data.startswith(b"MYLOG"), read=read,
)
"""


def audited(folder: Path, *, read: str, name: str = "IMPORTER") -> "subprocess.CompletedProcess[str]":
    """`audit` of a file of that format, with a distribution of that importer beside this one."""
    entry_points = f"[harmony_inspector.importers]\nmy_log = my_package:{name}\n"
    environment = add_distribution(folder, MODULE.format(read=read), entry_points)
    log = folder / "log"
    log.write_text("MYLOG [200005, 17196, 200008, 12194, 200002]")
    command = [sys.executable, "-m", "inspector", "audit", log.name]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_an_installed_importer_reads_its_files(tmp_path: Path) -> None:
    completed = audited(tmp_path, read="return [loads(content.data.removeprefix(b'MYLOG'), content.name)]")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "5 tokens" in completed.stdout


FAULTS = {
    "failed (ValueError: no)": ("raise ValueError('no')", "IMPORTER"),
    "found no capture in it": ("return []", "IMPORTER"),
    "cannot be loaded (AttributeError: ": ("return []", "nothing"),
    "is not an `Importer`, but function": ("return []", "read"),
}


@pytest.mark.parametrize("words", FAULTS)
def test_a_fault_of_an_installed_importer_is_one_sentence(words: str, tmp_path: Path) -> None:
    read, name = FAULTS[words]
    completed = audited(tmp_path, read=read, name=name)
    assert completed.returncode == 2
    assert f"the importer 'my_log' of my-package {words}" in completed.stderr
    assert completed.stderr.count("\n") == 1
