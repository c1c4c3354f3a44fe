"""Processes for calls: they do not run the program, one that ends fails its own call only, and all end."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from pathlib import Path
from types import ModuleType

import pytest

from inspector.capture.errors import StoreError
from inspector.files.store import load_all
from inspector.fleet.workers import WorkerEnded, Workers

ROOT = Path(__file__).resolve().parents[2]

UNGUARDED = """
import sys
from pathlib import Path
from inspector.files.store import load, save
from inspector.fleet.watch import Retention, Metrics, Watch

folder = Path(sys.argv[1])
path = folder / "20261122-120000-chat-000000.jsonl"
save(load(sys.argv[2]), path)
metrics = Metrics()
watch = Watch(metrics, Retention(folder))
watch.ended("up", path)
watch.close()
print("ran:", [value for value in (
    metrics.registry.get_sample_value("harmony_inspector_audit_lag_seconds_count"),
    metrics.registry.get_sample_value("harmony_inspector_unaudited_streams_total",
                                      {"upstream": "up", "reason": "audit failed"}),
)])
"""


def test_a_program_without_a_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(UNGUARDED)
    done = subprocess.run(
        [sys.executable, script, tmp_path, ROOT / "fixtures" / "chat-tool-call-leak-vllm-0.14.1.jsonl"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("ran: [1.0, None]\n", "")


def test_what_is_main_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, trace = tmp_path / "page.py", tmp_path / "ran"
    page.write_text(f"open({str(trace)!r}, 'w')\n")
    main = ModuleType("__main__")
    main.__file__ = str(page)
    monkeypatch.setitem(sys.modules, "__main__", main)
    workers = Workers(1, prepare=os.getpid)
    assert workers.submit(os.path.exists, str(page)).result(20)
    workers.shutdown()
    assert not trace.exists()


def test_a_process_that_ends_fails_its_own_call_only() -> None:
    workers = Workers(1, prepare=os.getpid)
    first = workers.submit(os.getpid)
    ended = workers.submit(signal.raise_signal, signal.SIGKILL)
    last = workers.submit(os.getpid)
    with pytest.raises(WorkerEnded):
        ended.result(20)
    assert os.getpid() != first.result(20) != last.result(20)
    workers.shutdown()
    with pytest.raises(RuntimeError):
        workers.submit(os.getpid)


def test_a_process_that_ended_while_it_had_nothing_to_do_fails_no_call() -> None:
    workers = Workers(1, prepare=os.getpid)
    pid = workers.submit(os.getpid).result(20)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert workers.submit(os.getpid).result(20) != pid
    workers.shutdown()


def test_a_process_that_cannot_be_started_fails_its_own_call_only(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(1, prepare=os.getpid)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", "/no/such/program")
        with pytest.raises(WorkerEnded, match="cannot be started"):
            workers.submit(os.getpid).result(20)
    assert workers.submit(os.getpid).result(20) != os.getpid()
    workers.shutdown()


PREPARED: list[int] = []
"""In a process of `Workers`: filled by what it prepared."""


def prepared_the_second_time() -> None:
    path = Path(os.environ["NOTES"])
    path.write_text(f"{path.read_text() if path.exists() else ''}x")
    if len(path.read_text()) < int(os.environ["FAILS"]):
        raise OSError("not yet")
    PREPARED.append(1)


def was_prepared() -> list[int]:
    return PREPARED


@pytest.mark.parametrize(("count", "fails"), [(1, 2), (2, 3)], ids=["alone", "after the one that is copied"])
def test_no_call_runs_where_preparing_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, fails: int
) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    monkeypatch.setenv("FAILS", str(fails))
    workers = Workers(count, prepare=prepared_the_second_time)
    with pytest.raises(OSError, match="not yet"):
        workers.submit(was_prepared).result(20)
    assert workers.submit(was_prepared).result(20) == [1]
    workers.shutdown()


class Unreadable(Exception):
    """Cannot be read back from a pickle."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one + other)


def unreadable() -> None:
    raise Unreadable("one", "other")


def test_exceptions_come_back_and_prints_do_not_disturb(tmp_path: Path) -> None:
    workers = Workers(1, prepare=os.getpid)
    with pytest.raises(StoreError):
        workers.submit(load_all, tmp_path / "none.jsonl").result(20)
    assert workers.submit(print, "an answer?").result(20) is None
    with pytest.raises(RuntimeError, match="Unreadable: oneother"):
        workers.submit(unreadable).result(20)
    with pytest.raises((AttributeError, TypeError)):  # a function that cannot be named
        workers.submit(lambda: None).result(20)
    assert workers.submit(sum, [1, 2]).result(20) == 3
    workers.shutdown()


def test_calls_run_beside_each_other_and_end_at_once() -> None:
    workers = Workers(2, prepare=os.getpid)
    pids = {future.result(20) for future in [workers.submit(os.getpid) for _ in range(20)]}
    assert len(pids) <= 2
    running = [workers.submit(time.sleep, 600) for _ in range(3)]
    until = time.monotonic() + 20
    while not all(one.running() for one in running[:2]):
        assert time.monotonic() < until
        time.sleep(0.01)
    workers.shutdown(wait=False)
    for one in running:
        with pytest.raises((WorkerEnded, CancelledError)):
            one.result(20)


FORGETFUL = """
import os, sys
from pathlib import Path
from inspector.fleet.workers import Workers

workers = Workers(1, prepare=os.getpid)
for number in range(3):
    workers.submit(Path(sys.argv[1], str(number)).touch)
"""


def test_all_calls_are_made_before_a_program_ends(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORGETFUL, tmp_path],
        cwd=ROOT, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(list(tmp_path.iterdir())) == 3


def noted() -> None:
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{os.getpid()}\n")


def running(pid: str | int) -> bool:
    """Whether a process runs; one that ended may wait for whoever adopted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def both(workers: Workers) -> set[int]:
    """The processes of two workers, which wait for each other."""
    first, other = (workers.submit(lasting, name) for name in ("first", "other"))
    return {first.result(20), other.result(20)}


def lasting(name: str) -> int:
    folder = Path(os.environ["NOTES"]).parent
    (folder / name).touch()
    until = time.monotonic() + 20
    while not all((folder / one).exists() for one in ("first", "other")) and time.monotonic() < until:
        time.sleep(0.01)
    return os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="copies of a process are made on Linux only")
def test_several_processes_are_copies_of_one_that_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    workers = Workers(2, prepare=noted)
    pids = both(workers)
    [prepared] = (tmp_path / "notes").read_text().split()
    assert len(pids) == 2
    assert int(prepared) not in pids
    os.kill(int(prepared), signal.SIGKILL)  # the others go on, and a new one prepares itself
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 20
    while any(map(running, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    try:
        new = workers.submit(os.getpid).result(20)
    except WorkerEnded:  # of a call that meets a process whose end is not noticed yet
        new = workers.submit(os.getpid).result(20)
    assert (tmp_path / "notes").read_text().split() == [prepared, str(new)]
    workers.shutdown()


PARENT = """
import os, signal
from inspector.fleet.workers import Workers
from tests.fleet.test_workers import both
workers = Workers(2, prepare=os.getpid)
print(*both(workers), workers.submit(os.getppid).result(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="copies of a process are made on Linux only")
def test_copies_end_with_their_parent(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PARENT], cwd=ROOT, env={**os.environ, "NOTES": str(tmp_path / "notes")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    pids = done.stdout.split()
    assert len(set(pids)) == 3
    until = time.monotonic() + 20
    while (left := list(filter(running, pids))) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []
