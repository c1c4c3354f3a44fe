"""A disk that fills up while a report is written: what was there before stays, and nothing is cut."""

import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from inspector.files.store import FIXTURES
from tests.support.archives import scanned
from tests.support.command import ROOT

CAPTURE = FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl"
OUTPUTS = (("report", "--html"), ("report", "--markdown"), ("audit", "--sarif"), ("library", "--csv"))
PROBE = """
import sys
from pathlib import Path
from inspector.capture.errors import StoreError
from inspector.fleet.probe.shelf import ProbeShelf
try:
    ProbeShelf(Path(sys.argv[1]), {"prompts": "x" * 100_000})
except StoreError as error:
    sys.exit(f"inspector: {error}")
"""


def on_full_disk(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    return subprocess.run(
        [sys.executable, "-B", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        preexec_fn=limit,
        timeout=180,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("before", [[], ["yesterday's"]])
@pytest.mark.parametrize(("command", "option"), OUTPUTS)
def test_a_report_is_complete_or_not_there(
    command: str, option: str, before: Sequence[str], tmp_path: Path
) -> None:
    source = CAPTURE
    if command == "library":
        source = tmp_path / "scan"
        scanned(source, CAPTURE)
    out = tmp_path / "reports" / "out"
    out.parent.mkdir()
    for text in before:
        out.write_text(text)
    completed = on_full_disk("-m", "inspector", command, source, option, out)
    assert completed.returncode == 2
    assert completed.stderr == (
        f"inspector: {out}: cannot be written (File too large); choose another path or free disk space\n"
    )
    assert [path.read_text() for path in out.parent.iterdir()] == before


@pytest.mark.slow
def test_a_probe_that_could_not_begin_can_be_started_again(tmp_path: Path) -> None:
    for _ in range(2):
        completed = on_full_disk("-c", PROBE, tmp_path / "probe")
        assert "probe.json: cannot be written (File too large)" in completed.stderr
        assert list((tmp_path / "probe").iterdir()) == []
