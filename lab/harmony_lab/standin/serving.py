"""Starts a release's API server with the stand-in engine, and stops both.

They connect through a port of the loopback address. If the engine ends before the server is ready, its
message is the error.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import harmony_lab
import inspector
from harmony_lab.install import Environment
from harmony_lab.model import make_model, make_vocabulary, uses_llama_body
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess, free_port
from harmony_lab.server import STANDALONE, ServerOptions, write_for_sampling
from harmony_lab.standin.install import BYTECODE, RUST, engine_path, plugin_folder
from harmony_lab.standin.layouts import SOURCE
from inspector.capture.errors import LabError
from inspector.matrix import scripts
from inspector.matrix.requests import SERVED_NAME

IMPORT_PATH: Final = os.pathsep.join(
    str(Path(next(iter(package.__path__))).parent) for package in (harmony_lab, inspector)
)
"""The `PYTHONPATH` of an engine's process; a checkout has its two packages in two folders."""

LONGEST_MODEL_LEN: Final = 4096

_LOG_WAIT_S: Final = 6.0
"""How long to wait for the log line of a finished stream: the engine waits 2 s for an untaken step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One request in the engine's log."""

    request_id: str
    schedule: str
    steps: tuple[tuple[int, ...], ...]
    taken: tuple[int, ...] | None
    """Token counts that the API server took at a time; None if it reports none."""
    end: str

    @classmethod
    def of_line(cls, line: str | bytes) -> Self:
        """A line of the log."""
        row: dict[str, Any] = json.loads(line)
        taken = row.get("taken")
        return cls(
            request_id=row["id"],
            schedule=row["schedule"],
            steps=tuple(tuple(step) for step in row["steps"]),
            taken=None if taken is None else tuple(taken),
            end=row["end"],
        )


def is_request(engine_id: str, server_id: str) -> bool:
    """Whether an engine's ID belongs to a server's: it may add the choice as prefix, and a suffix."""
    if server_id not in engine_id:  # fast: true for almost all requests
        return False
    return bool(re.fullmatch(rf"(?:\d+_)?{re.escape(server_id)}(?:[-_].*)?", engine_id))


class EngineProcess:
    """A context manager for the engine's process, which ends when its standard input is closed."""

    def __init__(
        self, command: list[str], *, variables: dict[str, str], errors: Path, steps_log: Path
    ) -> None:
        self._command, self._variables = command, variables
        self.errors, self.steps_log = errors, steps_log
        self._process: subprocess.Popen[str] | None = None
        self._read = 0
        self._served: list[Served] = []

    def __enter__(self) -> Self:
        self.errors.parent.mkdir(parents=True, exist_ok=True)
        self.steps_log.write_text("", encoding="utf-8")
        with self.errors.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self._variables,
                start_new_session=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(OSError):
            if process.stdin:
                process.stdin.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout:
            process.stdout.close()

    @property
    def failure(self) -> str:
        """The last line that it wrote before it ended; empty while it runs."""
        if self._process is None or self._process.poll() is None:
            return ""
        lines = self.errors.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1].removeprefix("LabError: ") if lines else "the engine ended without a word"

    def ended(self, timeout_s: float) -> str:
        """Wait up to `timeout_s` for its end; its failure, empty if it still runs."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        return self.failure

    def set_steps(self, schedule: str) -> None:
        """Change the schedule of requests that name none; returns when the engine confirms it."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise LabError("the engine is not running")
        try:
            process.stdin.write(json.dumps({"steps": schedule}) + "\n")
            process.stdin.flush()
        except OSError as error:
            raise LabError(f"the engine has ended: {self.failure}; log: {self.errors}") from error
        while True:
            line = process.stdout.readline()
            if not line:
                raise LabError(f"the engine has ended: {self.failure}; log: {self.errors}")
            if json.loads(line).get("steps") == schedule:
                return

    def served(self, server_id: str) -> list[Served]:
        """The logged requests of a server's request ID; waits a few seconds for their lines."""
        until = time.monotonic() + _LOG_WAIT_S
        while True:
            self._read_log()
            requests = [request for request in self._served if is_request(request.request_id, server_id)]
            if requests or time.monotonic() > until:
                return requests
            time.sleep(0.02)

    def _read_log(self) -> None:
        with self.steps_log.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        complete_lines = text[: text.rfind(b"\n") + 1]
        self._read += len(complete_lines)
        for line in complete_lines.splitlines():
            self._served.append(Served.of_line(line))


class StandinServer(ServerProcess):
    """An API server with the stand-in engine."""

    def __init__(self, engine: EngineProcess, command: list[str], **options: Any) -> None:
        super().__init__(command, **options)
        self.engine = engine

    def _answers(self) -> bool:
        if failure := self.engine.failure:
            raise LabError(f"{failure}; logs: {self.engine.errors}, {self.log}")
        return super()._answers()


@contextmanager
def standin_server(
    paths: LabPaths,
    environment: Environment,
    options: ServerOptions,
    *,
    tool_server: str | None = None,
    wait: bool = True,
    say: Callable[[str], None] = print,
) -> Iterator[StandinServer]:
    """One release's front end with the stand-in engine; `wait` as for ServerProcess."""
    version, rust = environment.version, environment.package == RUST
    if not (paths.models / "vocabulary").exists():
        say("creating the tiny model and its vocabulary (about 10 s, only once)")
    model = make_model(paths.models, llama_body=uses_llama_body(version))
    port, rpc_port = options.port or free_port(), free_port()
    name = f"{environment.package}-{version}-{port}"
    script_file = write_for_sampling(
        paths.root / "scripts" / f"{name}.json", [*scripts.load(), *options.extra_scripts]
    )
    layouts = (
        environment.path / "engine_layouts.py"
        if rust
        else next(environment.path.glob(f"lib/python*/site-packages/{SOURCE}"))
    )
    with tempfile.TemporaryDirectory(prefix="harmony-lab-") as folder:
        acks = Path(folder) / "acks"
        acknowledged = not rust and not options.load
        engine = EngineProcess(
            [
                *(sys.executable, "-m", "harmony_lab.standin"),
                *("--release", version, "--port", str(rpc_port)),
                *("--layouts", str(layouts), "--scripts", str(script_file)),
                *("--steps", options.steps, "--log", str(paths.logs / f"steps-{name}.jsonl")),
                *(("--acks", str(acks)) if acknowledged else ()),
                *(("--pace-ms", str(options.step_ms), "--together") if options.load else ()),
            ],
            variables={**os.environ, "PYTHONPATH": f"{IMPORT_PATH}{os.pathsep}{engine_path(paths)}"},
            errors=paths.logs / f"engine-{name}.log",
            steps_log=paths.logs / f"steps-{name}.jsonl",
        )
        command = [
            *(_rust_command(environment) if rust else _python_command(environment)),
            *("serve", str(model)),
            *("--served-model-name", SERVED_NAME),
            *("--max-model-len", str(LONGEST_MODEL_LEN)),
            # The Rust server selects its Harmony parser by the model, and rejects this name.
            *(() if rust else ("--tool-call-parser", "openai", "--enable-auto-tool-choice")),
            *("--data-parallel-size", "1", "--data-parallel-size-local", "0"),
            *("--data-parallel-address", "127.0.0.1", "--data-parallel-rpc-port", str(rpc_port)),
            *("--host", "127.0.0.1", "--port", str(port)),
            *(() if rust else ("--disable-log-stats",)),
            *(("--tool-server", tool_server) if tool_server else ()),
            *options.flags,
        ]
        variables = {
            **os.environ,
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "VLLM_NO_USAGE_STATS": "1",
            "DO_NOT_TRACK": "1",
            "VLLM_USE_V1": "1",
            # vLLM caches model classes here by name: one folder per release.
            "VLLM_CACHE_ROOT": str(paths.root / "vllm-cache" / version),
            "TIKTOKEN_ENCODINGS_BASE": str(make_vocabulary(paths.models)),
            "PYTHONPATH": os.pathsep.join(map(str, (plugin_folder(paths), STANDALONE, *options.plugins))),
            "HARMONY_LAB_PARENT": str(os.getpid()),
            "PYTHONUNBUFFERED": "1",
            **BYTECODE,
        }
        if acknowledged:
            variables["HARMONY_LAB_ACKS"] = str(acks)
        server = StandinServer(
            engine,
            command,
            port=port,
            log=paths.logs / f"serve-{name}.log",
            environment=variables,
            wait=wait,
            say=say,
        )
        try:
            with engine, server:
                yield server
        finally:
            script_file.unlink(missing_ok=True)


def _rust_command(environment: Environment) -> list[str]:
    # Otherwise the binary outlives a killed parent; Python's launcher ends itself.
    return [sys.executable, str(STANDALONE / "bound.py"), str(environment.path / RUST)]


def _python_command(environment: Environment) -> list[str]:
    return [str(environment.python), str(STANDALONE / "launcher.py")]
