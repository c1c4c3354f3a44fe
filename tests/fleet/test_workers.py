"""Processes for calls: they do not run the program, one that ends fails its own call only, and all end."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

from inspector.capture.errors import StoreError
from inspector.files.store import load_all
from inspector.fleet.workers import WorkerEnded, Workers

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

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
    completed = subprocess.run(
        [sys.executable, script, tmp_path, ROOT / "fixtures" / "chat-tool-call-leak-vllm-0.14.1.jsonl"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (completed.stdout, completed.stderr) == ("ran: [1.0, None]\n", "")


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
    assert ended([pid])
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
    if not path.exists():
        path.touch()
        raise OSError("not yet")
    PREPARED.append(1)


def was_prepared() -> list[int]:
    return PREPARED


def test_no_call_runs_where_preparing_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    workers = Workers(1, prepare=prepared_the_second_time)
    with pytest.raises(WorkerEnded):
        workers.submit(was_prepared).result(20)
    assert workers.submit(was_prepared).result(20) == [1]
    workers.shutdown()


class Unreadable(Exception):
    """Cannot be read back from a pickle."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(first + second)


def unreadable() -> None:
    raise Unreadable("one", "other")


def test_exceptions_come_back_and_neither_prints_nor_interrupts_disturb(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    workers = Workers(1, prepare=os.getpid)
    with pytest.raises(StoreError):
        workers.submit(load_all, tmp_path / "none.jsonl").result(20)
    assert workers.submit(print, "a response?", flush=True).result(20) is None
    with pytest.raises(RuntimeError, match="Unreadable: oneother"):
        workers.submit(unreadable).result(20)
    with pytest.raises((AttributeError, TypeError)):  # a function that cannot be named
        workers.submit(lambda: None).result(20)
    workers.submit(signal.raise_signal, signal.SIGINT).result(20)
    assert workers.submit(sum, [1, 2]).result(20) == 3
    workers.shutdown()
    assert capfd.readouterr() == ("", "")


FORGETFUL = """
import os, sys
from pathlib import Path
from inspector.fleet.workers import Workers

workers = Workers(1, prepare=os.getpid)
for number in range(3):
    workers.submit(Path(sys.argv[1], str(number)).touch)
"""


def test_all_calls_are_made_before_a_program_ends(tmp_path: Path) -> None:
    completed = subprocess.run(
        [sys.executable, "-c", FORGETFUL, tmp_path],
        cwd=ROOT, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert (completed.returncode, completed.stderr) == (0, b"")
    assert len(list(tmp_path.iterdir())) == 3


def ended(pids: Iterable[str | int]) -> bool:
    """Whether processes end; one that ended may wait for whoever adopted it."""
    until = time.monotonic() + 20
    while any(map(running, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def running(pid: str | int) -> bool:
    """Whether a thread of it runs: the first may have ended before those that still hold its files."""
    with suppress(FileNotFoundError):
        threads = Path(f"/proc/{pid}/task").glob("*/stat")
        return any(stat.read_text().rpartition(")")[2].split()[0] != "Z" for stat in threads)
    return False


def noted() -> None:
    with Path(os.environ["NOTES"]).open("a") as notes:
        notes.write(f"{os.getpid()}\n")


def on_both_workers(workers: Workers, call: Callable[[str], int]) -> list[Future[int]]:
    """Calls that run in two processes, as they wait for each other."""
    futures = [workers.submit(call, name) for name in ("first", "other")]
    folder = Path(os.environ["NOTES"]).parent
    until = time.monotonic() + 20
    while not all((folder / name).exists() for name in ("first", "other")) and time.monotonic() < until:
        time.sleep(0.01)
    return futures


def lasting(name: str) -> int:
    folder = Path(os.environ["NOTES"]).parent
    (folder / name).write_text(str(os.getpid()))
    until = time.monotonic() + 20
    while not all((folder / name).exists() for name in ("first", "other")) and time.monotonic() < until:
        time.sleep(0.01)
    return os.getpid()


def endless(name: str) -> int:
    """Never lets another thread of its process run."""
    (Path(os.environ["NOTES"]).parent / name).write_text(str(os.getpid()))
    re.fullmatch("(a*)*b", "a" * 100)
    return os.getpid()


@linux
def test_several_processes_are_copies_of_one_that_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    workers = Workers(2, prepare=noted)
    pids = {future.result(20) for future in on_both_workers(workers, lasting)}
    [prepared] = (tmp_path / "notes").read_text().split()
    assert len(pids | {int(prepared)}) == 3
    os.kill(int(prepared), signal.SIGKILL)  # the others end too, and a new one prepares
    assert ended(pids)
    assert workers.submit(os.getpid).result(20) not in pids
    assert len((tmp_path / "notes").read_text().split()) == 2
    workers.shutdown()


@linux
def test_processes_end_at_once_in_the_middle_of_a_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    workers = Workers(2, prepare=os.getpid)
    calls = [*on_both_workers(workers, endless), workers.submit(os.getpid)]
    workers.shutdown(wait=False)
    for call in calls:
        with pytest.raises((WorkerEnded, CancelledError)):
            call.result(20)
    assert ended({(tmp_path / name).read_text() for name in ("first", "other")})


PARENT = """
import os, signal
from inspector.fleet.workers import Workers
from tests.fleet.test_workers import on_both_workers, endless
workers = Workers(2, prepare=os.getpid)
on_both_workers(workers, endless)
os.kill(os.getpid(), signal.SIGKILL)
"""


@linux
def test_processes_end_in_the_middle_of_a_call_when_their_parent_is_killed(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", PARENT], cwd=ROOT, env={**os.environ, "NOTES": str(tmp_path / "notes")},
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert ended({(tmp_path / name).read_text() for name in ("first", "other")})
