"""A scan on Ray: the same rows as without it, nothing on other addresses than loopback, and no reports."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.capture.errors import InspectorError
from inspector.cli import main
from inspector.data.scan.columns import Table
from inspector.data.scan.spread import _task, spread
from inspector.files.store import FIXTURES
from tests.support.archives import id_lists, rows_in, scanned
from tests.support.command import ROOT

SCRIPT = """
import json, os, signal, sys
from pathlib import Path

from inspector.data.scan import scan
from inspector.data.scan.rows import rows_of_batch
from inspector.data.scan.spread import spread


def family():
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            told = Path("/proc", name, "stat").read_text().rpartition(") ")[2].split()
            parents[int(name)] = int(told[1])
        except OSError:
            continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def sockets(pid):
    try:
        links = [os.readlink(one) for one in Path("/proc", str(pid), "fd").iterdir()]
    except OSError:
        return set()
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def listening():
    own = {inode for pid in family() for inode in sockets(pid)}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in own:
                yield words[1].partition(":")[0]


def ends_with_one(batch):
    if any(item.name == "ids-0069.json" for item in batch):
        os.kill(os.getpid(), signal.SIGKILL)
    return rows_of_batch(batch)


addresses = set()
far = scan(
    [sys.argv[1]],
    Path(sys.argv[2]),
    runner=spread("local", 2, ends_with_one),
    tell=lambda far: addresses.update(listening()),
)
print(json.dumps({"files": far.files, "captures": far.captures, "addresses": sorted(addresses),
                  "usage": os.environ["RAY_USAGE_STATS_ENABLED"]}))
"""

LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""127.0.0.1, the same as an IPv6 address, and ::1, as /proc has them."""


@pytest.mark.ray
def test_a_ray_of_two_workers_gives_the_same_rows_but_of_what_ends_a_worker(tmp_path: Path) -> None:
    """It listens on loopback only, and sends no reports."""
    id_lists(tmp_path / "in", 70)  # more than a batch
    for path in FIXTURES.glob("*.jsonl"):
        (tmp_path / "in" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "in" / "broken.json").write_text("{")
    completed = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "in", tmp_path / "ray"],
        cwd=ROOT,
        capture_output=True,
        timeout=200,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr.decode()
    result = json.loads(completed.stdout.splitlines()[-1])
    files = len(list((tmp_path / "in").iterdir()))
    assert (result["files"], result["captures"], result["usage"]) == (files, files - 2, "0")
    assert result["addresses"]
    assert set(result["addresses"]) <= LOOPBACK
    pairs = zip(rows_in(tmp_path / "ray"), scanned(tmp_path / "here", tmp_path / "in"), strict=True)
    [(ended, read)] = [(ray_row, local_row) for ray_row, local_row in pairs if ray_row != local_row]
    assert (ended["id"], ended["name"], ended["verdict"]) == (read["id"], "ids-0069.json", "unread")
    assert "was killed, probably for lack of memory" in ended["error"]
    assert rows_in(tmp_path / "ray", Table.FINDINGS) == rows_in(tmp_path / "here", Table.FINDINGS)


def test_a_worker_without_the_program_says_so() -> None:
    task = _task(b"cno_such_module\nrows\n.")
    response = task({"number": 3, "batch": pickle.dumps([])})
    words = "ModuleNotFoundError: No module named 'no_such_module'"
    assert response == {"number": 3, "rows": b"", "error": words}


def test_a_missing_extra_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_USAGE_STATS_PROMPT_ENABLED"):
        monkeypatch.setenv(name, "")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InspectorError, match="--ray needs the extra `ray`"):
        spread("auto")
    assert main(["scan", str(tmp_path), "--out", str(tmp_path / "out"), "--ray", "auto"]) == 2
    assert 'pip install "harmony-inspector[ray]"' in capsys.readouterr().err
