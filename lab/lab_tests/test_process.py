"""Servers that die, never answer, or are interrupted: one sentence, and no process left behind."""

import os
import select
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harmony_lab.process import ServerProcess, check_port, free_port
from harmony_lab.server import STANDALONE
from inspector.capture.errors import LabError
from tests.support.programs import bounded

# A server of the standard library, with a helper process in its group, as vLLM has its engine.
SERVER = """
import http.server, os, subprocess, sys
helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print("helper", helper.pid, flush=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[2]))
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + SERVER


def serving(
    code: str, log: Path, *, status: int = 200, timeout_s: float = 60.0, wait: bool = True
) -> ServerProcess:
    port = free_port()
    command = [sys.executable, "-c", textwrap.dedent(code), str(port), str(status)]
    return ServerProcess(command, port=port, log=log, timeout_s=timeout_s, grace_s=1.0, wait=wait)


def helper_of(log: Path) -> int:
    words = log.read_text(encoding="utf-8").split()
    return int(words[words.index("helper") + 1])


def has_exited(pid: int) -> bool:
    """Whether a process has ended; a zombie counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def wait_for_exit(pid: int) -> None:
    """Wait for the end of a process that is not a child: its file descriptor becomes readable."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(handle) as file:
        assert select.select([file], [], [], 20)[0], f"process {pid} is still there"


def test_context_starts_server_and_stops_its_children(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with serving(SERVER, log) as server:
        assert server.alive
        assert server.base_url == f"http://127.0.0.1:{server.port}"
        script = helper_of(log)
        assert not has_exited(script)
    assert not server.alive
    wait_for_exit(script)
    check_port(server.port)


def test_stop_kills_a_server_that_ignores_sigterm(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with serving(STUBBORN, log):
        script = helper_of(log)
    wait_for_exit(script)


def test_early_exit_reports_the_last_error_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    code = "print('INFO starting'); raise ValueError('no such model'); "
    with pytest.raises(LabError, match=r"exited with code 1 before it was ready: .*no such model; log: "):
        serving(code, log).__enter__()
    assert "INFO starting" in log.read_text(encoding="utf-8")


def test_early_exit_without_output(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="exited with code 3 before it was ready: no output"):
        serving("import sys; sys.exit(3)", tmp_path / "server.log").__enter__()


def test_health_check_timeout_stops_the_server(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with pytest.raises(LabError, match=r"/health did not respond within 2 s; the server was stopped"):
        serving(SERVER, log, status=503, timeout_s=2).__enter__()
    wait_for_exit(helper_of(log))


def test_failing_server_stops_the_one_started_with_it(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.log", tmp_path / "bad.log"
    with serving(SERVER, good, wait=False) as first:
        assert first.alive
        with (
            pytest.raises(LabError, match="exited with code 3"),
            serving("exit(3)", bad, wait=False) as second,
        ):
            second.ready()
        first.ready()
    wait_for_exit(helper_of(good))
    with pytest.raises(LabError, match="was not started"):
        first.ready()


def test_free_port_is_unique() -> None:
    ports = [free_port() for _ in range(300)]
    assert len(set(ports)) == len(ports)


def test_port_in_use_fails_before_start(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        marker = tmp_path / "started"
        server = ServerProcess(["touch", str(marker)], port=port, log=tmp_path / "server.log")
        with pytest.raises(LabError, match=f"port {port} on 127.0.0.1 is in use .* --port"):
            server.__enter__()
    assert not marker.exists()


def test_missing_command(tmp_path: Path) -> None:
    server = ServerProcess([str(tmp_path / "nothing")], port=free_port(), log=tmp_path / "server.log")
    with pytest.raises(LabError, match="cannot be started"):
        server.__enter__()


def test_error_in_context_stops_the_server(tmp_path: Path) -> None:
    log = tmp_path / "server.log"

    def fail() -> None:
        with serving(SERVER, log):
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    wait_for_exit(helper_of(log))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "kill"])
def test_interrupted_program_stops_its_server(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "server.log"
    port = free_port()
    program = f"""
import sys
from pathlib import Path
from harmony_lab.process import ServerProcess, kill_is_interrupt
command = [sys.executable, "-c", {textwrap.dedent(SERVER)!r}, "{port}", "200"]
try:
    with kill_is_interrupt(), ServerProcess(command, port={port}, log=Path({str(log)!r})) as server:
        print("up", flush=True)
        server.wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with bounded(running):
        assert running.stdout is not None
        assert running.stdout.readline() == "up\n"
        script = helper_of(log)
        running.send_signal(number)
        assert running.stdout.readline() == "interrupted\n"
        assert running.wait(timeout=30) == 0
    wait_for_exit(script)
    check_port(port)


def test_wait_for_a_server_that_exits(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    with serving(SERVER, log) as server:
        assert server._process is not None
        os.kill(server._process.pid, signal.SIGKILL)
        with pytest.raises(LabError, match=r"the server exited: .*log: "):
            server.wait()


def test_killed_program_takes_its_server_with_it(tmp_path: Path) -> None:
    port = free_port()
    bound = f"""
import http.server, sys
sys.path.insert(0, {str(STANDALONE)!r})
from launcher import die_with_parent
die_with_parent()
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", {port}), Answer).serve_forever()
"""
    program = f"""
import os, sys
from pathlib import Path
from harmony_lab.process import ServerProcess
server = ServerProcess(
    [sys.executable, "-c", {bound!r}],
    port={port},
    log=Path({str(tmp_path / "server.log")!r}),
    environment={{**os.environ, "HARMONY_LAB_PARENT": str(os.getpid())}},
)
with server:
    print(server._process.pid, flush=True)
    server.wait()
"""
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    with running.stdout as output:
        served_by = int(output.readline())
        running.kill()
        running.wait(timeout=30)
    wait_for_exit(served_by)
    check_port(port)


def test_bound_program_ends_with_its_parent(tmp_path: Path) -> None:
    bound = [sys.executable, str(STANDALONE / "bound.py"), "/bin/sleep", "60"]
    program = f"""
import os, subprocess
child = subprocess.Popen({bound!r}, env={{**os.environ, "HARMONY_LAB_PARENT": str(os.getpid())}})
print(child.pid, flush=True)
child.wait()
"""
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    with running.stdout as output:
        child = int(output.readline())
        name = Path(f"/proc/{child}/comm")
        until = time.monotonic() + 20
        while name.read_text(encoding="utf-8").strip() != "sleep":
            assert time.monotonic() < until
            time.sleep(0.02)
        running.kill()
        running.wait(timeout=30)
    wait_for_exit(child)
