"""Starts a release's API server with the stand-in engine behind it, and stops both.

The two find each other by a port of the loopback address. If the engine ends before the server answers, its
own words are the error.
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

from inspector.capture.errors import LabError
from inspector.lab import scripts
from inspector.lab.install import Environment
from inspector.lab.model import SERVED_NAME, make_model, make_vocabulary, uses_llama_body
from inspector.lab.paths import LabPaths
from inspector.lab.process import ServerProcess, free_port
from inspector.lab.server import STANDALONE, ServerOptions
from inspector.lab.standin.install import BYTECODE, RUST, engine_path
from inspector.lab.standin.layouts import SOURCE
from inspector.lab.standin.plugin import plugin_folder

ROOT: Final = Path(__file__).parents[3]
"""Where `inspector` is imported from."""

LONGEST_MODEL_LEN: Final = 4096

_LOG_WAIT_S: Final = 6.0
"""How long the log line of a finished stream may take: the engine waits 2 s for a step that nobody takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One request in the engine's log."""

    request_id: str
    schedule: str
    steps: tuple[tuple[int, ...], ...]
    taken: tuple[int, ...] | None
    """Sizes in which the API server's code took the tokens; None where it did not tell."""
    end: str


def is_request(engine_id: str, own: str) -> bool:
    """Whether an id of the engine belongs to a server's own one: with a choice before it, a suffix behind."""
    if own not in engine_id:  # of hundreds of requests all but one
        return False
    return bool(re.fullmatch(rf"(?:\d+_)?{re.escape(own)}(?:[-_].*)?", engine_id))


class EngineProcess:
    """The engine's process: a context. Its standard input ends with the program that started it."""

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
        """What it said before it ended; empty while it runs."""
        if self._process is None or self._process.poll() is None:
            return ""
        lines = self.errors.read_text(encoding="utf-8", errors="replace").splitlines()
        return lines[-1].removeprefix("LabError: ") if lines else "the engine ended without a word"

    def ended(self, timeout_s: float) -> str:
        """What it said before it ended; waits for that, and is empty where it still runs then."""
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout_s)
        return self.failure

    def set_steps(self, schedule: str) -> None:
        """Change the schedule of requests that name none; returns when the engine has taken it."""
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

    def served(self, own: str) -> list[Served]:
        """The requests in the log that belong to a server's own id; waits a few seconds for their lines."""
        until = time.monotonic() + _LOG_WAIT_S
        while True:
            self._read_log()
            found = [one for one in self._served if is_request(one.request_id, own)]
            if found or time.monotonic() > until:
                return found
            time.sleep(0.02)

    def _read_log(self) -> None:
        with self.steps_log.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            row: dict[str, Any] = json.loads(line)
            self._served.append(
                Served(
                    request_id=row["id"],
                    schedule=row["schedule"],
                    steps=tuple(tuple(step) for step in row["steps"]),
                    taken=None if row["taken"] is None else tuple(row["taken"]),
                    end=row["end"],
                )
            )


class StandinServer(ServerProcess):
    """An API server whose engine is the stand-in."""

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
    """One release's front end, answering, with the stand-in behind it; `wait` as of ServerProcess."""
    version, rust = environment.version, environment.package == RUST
    if not (paths.models / "vocabulary").exists():
        say("creating the tiny model and its vocabulary (about 10 s, only once)")
    model = make_model(paths.models, llama_body=uses_llama_body(version))
    port, rpc_port = options.port or free_port(), free_port()
    name = f"{environment.package}-{version}-{port}"
    script_file = scripts.write_for_sampling(
        paths.root / "scripts" / f"{name}.json", [*scripts.load(), *options.extra_scripts]
    )
    layouts = (
        environment.path / "engine_layouts.py"
        if rust
        else next(environment.path.glob(f"lib/python*/site-packages/{SOURCE}"))
    )
    with tempfile.TemporaryDirectory(prefix="harmony-lab-") as folder:
        acks = Path(folder) / "acks"
        told = not rust and not options.load
        engine = EngineProcess(
            [
                *(sys.executable, "-m", "inspector.lab.standin"),
                *("--release", version, "--port", str(rpc_port)),
                *("--layouts", str(layouts), "--scripts", str(script_file)),
                *("--steps", options.steps, "--log", str(paths.logs / f"steps-{name}.jsonl")),
                *(("--acks", str(acks)) if told else ()),
                *(("--pace-ms", str(options.step_ms), "--together") if options.load else ()),
            ],
            variables={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{engine_path(paths)}"},
            errors=paths.logs / f"engine-{name}.log",
            steps_log=paths.logs / f"steps-{name}.jsonl",
        )
        command = [
            *(_rust_command(environment) if rust else _python_command(environment)),
            *("serve", str(model)),
            *("--served-model-name", SERVED_NAME),
            *("--max-model-len", str(LONGEST_MODEL_LEN)),
            # The Rust server chooses its Harmony parser by the model and has none of this name.
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
            # The classes of models that were looked at are kept here by name: one folder for each release.
            "VLLM_CACHE_ROOT": str(paths.root / "vllm-cache" / version),
            "TIKTOKEN_ENCODINGS_BASE": str(make_vocabulary(paths.models)),
            "PYTHONPATH": f"{plugin_folder(paths)}{os.pathsep}{STANDALONE}",
            "HARMONY_LAB_PARENT": str(os.getpid()),
            "PYTHONUNBUFFERED": "1",
            **BYTECODE,
        }
        if told:
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
    # The binary outlives a program that was killed, and its engine; Python's launcher sees to that itself.
    return [sys.executable, str(STANDALONE / "bound.py"), str(environment.path / RUST)]


def _python_command(environment: Environment) -> list[str]:
    return [str(environment.python), str(STANDALONE / "launcher.py")]
