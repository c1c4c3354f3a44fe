"""llama-server of llama.cpp: the lab takes a build of this machine and preloads its sampler.

The model has no weights (`gguf`), and `standalone/scripted_llama.c` makes the server sample the script's
tokens. With tools, the server's own grammar may refuse a token and sample another one; the preloaded library
logs what was sampled.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx

from harmony_lab.install import Environment, Say, installed, run, write_record
from harmony_lab.model import make_model
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess, free_port
from harmony_lab.server import STANDALONE, ServerOptions
from harmony_lab.servers.gguf import CONTEXT, make_gguf
from harmony_lab.servers.server import LabServer
from harmony_lab.standin.install import install_lock
from inspector.capture.capture import Capture
from inspector.capture.errors import LabError
from inspector.matrix import scripts
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.results import UNSTREAMED
from inspector.matrix.scripts import Script
from inspector.protocol.harmony import vocab

NAME: Final = "llama-server"

BINARY: Final = "HARMONY_INSPECTOR_LLAMA_SERVER"
"""The environment variable with the path of the binary; without it, the one on PATH is taken."""

STREAMED: Final = "1"
"""The condition of a streamed response: each token is a step of its own, whatever a schedule says."""

_START_S: Final = 60.0
_IDLE_S: Final = 30.0

_NO_SCRIPT: Final = (
    "<|channel|>analysis<|message|>No script was named.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Hello from the lab.<|return|>"
)
_CLOSERS: Final = ('"}', '"', "}", "]", "<|call|>", "<|return|>", "<|message|>")
"""Sampled where the grammar refuses the script's token, best first.

Without them zero weights would give text up to the end of the context. `<|end|>` is not among them: inside a
JSON string the grammar takes it.
"""


class LlamaServer(ServerProcess):
    """The server and the file with the tokens that it sampled."""

    def __init__(self, command: Sequence[str], *, sampled: Path, **options: Any) -> None:
        super().__init__(command, **options)
        self._sampled = sampled
        self._lines = 0

    def sampled(self) -> tuple[int, ...]:
        """The tokens sampled for the latest prompt since the last call, once the slot is idle.

        A client that goes away leaves its request running until the server notices, and the next one must not
        start before. Raises LabError if the slot stays busy.
        """
        until = time.monotonic() + _IDLE_S
        while self._busy():
            if time.monotonic() > until:
                raise LabError(f"{self.base_url}: the slot is busy for {_IDLE_S:.0f} s; log: {self.log}")
            time.sleep(0.01)
        lines = self._sampled.read_text(encoding="ascii").split("\n")
        latest = lines[-1] if len(lines) > self._lines else ""
        self._lines = len(lines)
        return tuple(int(token_id) for token_id in latest.split())

    def _busy(self) -> bool:
        try:
            slots = httpx.get(f"{self.base_url}/slots", timeout=_IDLE_S).json()
            return any(slot["is_processing"] for slot in slots)
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise LabError(f"{self.base_url}/slots does not list its slots ({error!r})") from error


def install(paths: LabPaths, version: str, say: Say) -> Environment:
    """Take the build of this machine if it is `version`.

    Raises LabError if there is no build, another one, or no C compiler, or if the build cannot be preloaded.
    """
    if (ready := installed(paths, NAME, version)) and (ready.path / "bin" / NAME).exists():
        return ready
    binary, compiler = _binary(), _compiler()
    release, words = _release_of(binary)
    if version != release:
        raise LabError(
            f"{binary} is llama.cpp {release}, not {version}; pass --server {NAME} {release}, or set "
            f"{BINARY} to another build"
        )
    with install_lock(paths, say):
        path = paths.environment(NAME, release)
        log = paths.logs / f"install-{NAME}-{release}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        (path / "bin").mkdir(parents=True, exist_ok=True)
        link = path / "bin" / NAME
        link.unlink(missing_ok=True)
        link.symlink_to(binary)
        source, library = STANDALONE / "scripted_llama.c", path / "scripted_llama.so"
        command = [compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
        run(command, log, "the sampler cannot be compiled")
        environment = Environment(package=NAME, version=release, path=path, packages={"llama.cpp": words})
        with serving(paths, environment, ServerOptions(), wait=True, say=say) as server:
            _check(server, environment)
        write_record(path, NAME, release, environment.packages)
        say(f"{NAME} {release}: {binary} runs with the lab's model")
    return environment


def _binary() -> Path:
    named = os.environ.get(BINARY)
    binary = shutil.which(named or NAME)
    if binary is None:
        where = f"{named} ({BINARY}) is no program" if named else f"{NAME} is not on PATH"
        raise LabError(
            f"{where}; install llama.cpp, on Debian 14 or newer `apt-get install llama.cpp-tools`, elsewhere "
            f"unpack Debian's packages with tools/debian_llama_server.sh, and set {BINARY} to the binary"
        )
    return Path(binary).absolute()


def _compiler() -> str:
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    if compiler is None:
        raise LabError("no C compiler on PATH, and the lab's sampler is compiled here; `apt-get install gcc`")
    return compiler


def _release_of(binary: Path) -> tuple[str, str]:
    """The release, and all that the binary says of its build."""
    try:
        version = subprocess.run(
            [str(binary), "--version"], capture_output=True, text=True, check=False, timeout=_START_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{binary} cannot be started ({error}); set {BINARY} to another build") from error
    match = re.search(r"version: ([\w.+-]+)(?: \(([^)]*)\))?", version.stdout + version.stderr)
    if match is None:
        raise LabError(f"{binary} --version does not say a version; set {BINARY} to another build")
    return match[1], f"{match[1]} ({match[2]})" if match[2] else match[1]


def _check(server: ServerProcess, environment: Environment) -> None:
    """One request: whether the server samples what the script says."""
    expected = vocab.encode(_NO_SCRIPT)
    body = {"messages": [{"role": "user", "content": "Hello"}], "temperature": 0, "max_tokens": 100}
    try:
        httpx.post(f"{server.base_url}/v1/chat/completions", json=body, timeout=_IDLE_S)
    except httpx.HTTPError as error:
        raise LabError(f"{server.base_url}: no response ({error!r}); log: {server.log}") from error
    sampled = server.sampled() if isinstance(server, LlamaServer) else ()
    if list(sampled) != list(expected):
        raise LabError(
            f"{environment.path / 'bin' / NAME} does not sample the lab's tokens; the sampler is "
            "preloaded, so libllama must be a shared library of the build (BUILD_SHARED_LIBS=ON)"
        )


@contextmanager
def serving(
    paths: LabPaths, environment: Environment, options: ServerOptions, *, wait: bool, say: Say
) -> Iterator[ServerProcess]:
    """A server with one slot on the loopback address."""
    if options.tools or options.load:
        raise LabError(f"{NAME}: tool servers and load are only for vLLM")
    port = options.port or free_port()
    name = f"{NAME}-{environment.version}-{port}"
    tokens = paths.root / "scripts" / f"{name}.txt"
    sampled = paths.logs / f"sampled-{name}.txt"
    for path in (tokens, sampled):
        path.parent.mkdir(parents=True, exist_ok=True)
    tokens.write_text(_token_lines([*scripts.load(), *options.extra_scripts]), encoding="ascii")
    sampled.write_text("", encoding="ascii")
    if not (paths.models / "gpt-oss-tiny" / "model.gguf").exists():
        say("creating the tiny model (about 10 s, only once)")
    model = make_gguf(make_model(paths.models, llama_body=False))
    server = LlamaServer(
        [
            # The process ends with the lab, even if that is killed.
            *(sys.executable, str(STANDALONE / "bound.py")),
            *("/usr/bin/env", f"LD_PRELOAD={environment.path / 'scripted_llama.so'}"),
            str(environment.path / "bin" / NAME),
            *("--model", str(model), "--alias", SERVED_NAME, "--jinja"),
            # A second slot would take the first one's tokens.
            *("--parallel", "1", "--ctx-size", str(CONTEXT), "--threads", "1", "--no-warmup"),
            *("--host", "127.0.0.1", "--port", str(port)),
            *options.flags,
        ],
        sampled=sampled,
        port=port,
        log=paths.logs / f"serve-{name}.log",
        environment={
            **os.environ,
            "HARMONY_LAB_TOKENS": str(tokens),
            "HARMONY_LAB_SAMPLED": str(sampled),
            "HARMONY_LAB_PARENT": str(os.getpid()),
        },
        timeout_s=_START_S,
        grace_s=3,
        wait=wait,
        say=say,
    )
    try:
        with server:
            yield server
    finally:
        tokens.unlink(missing_ok=True)
        sampled.unlink(missing_ok=True)


def _token_lines(played: Sequence[Script]) -> str:
    """The scripts as `scripted_llama.c` reads them; of those with several turns the first."""
    ids_by_name: dict[str, Sequence[int]] = {
        "-": vocab.encode(_NO_SCRIPT),
        "+": [token_id for text in _CLOSERS for token_id in vocab.encode(text)],
        **{script.name: script.turns[0] for script in played},
    }
    return "".join(f"{name} {' '.join(map(str, ids))}\n" for name, ids in ids_by_name.items())


def with_sampled(server: ServerProcess, capture: Capture) -> Capture:
    """The capture with the tokens that were really sampled; if they differ, `lab` keeps the script's."""
    sampled = server.sampled() if isinstance(server, LlamaServer) else ()
    header = capture.header
    if not sampled or sampled == header.script:
        return capture
    lab = {**dict(header.extra.get("lab", {})), "scripted": list(header.script or ())}
    return replace(capture, header=replace(header, script=sampled, extra={**header.extra, "lab": lab}))


def _excludes(script: Script) -> bool:
    """With `ignore_eos` it bans the stop tokens, and so samples something else."""
    return bool(script.request.get("ignore_eos"))


def _evidence(script: Script) -> Mapping[str, Any]:
    """While streaming, the count of the sampled tokens; else all their ids."""
    return {"timings_per_token": True} if script.stream else {"verbose": True, "return_tokens": True}


def _fault(server: ServerProcess, capture: Capture, schedule: str) -> str | None:  # noqa: ARG001
    """Each token is a step. Without tools there is no grammar: other tokens are then a fault of the lab."""
    header = capture.header
    if "scripted" in header.extra.get("lab", {}) and not header.request.get("tools"):
        return "the server sampled tokens that are not the script's"
    return None


LLAMA_SERVER: Final = LabServer(
    name=NAME,
    conditions=(STREAMED, UNSTREAMED),
    excludes=_excludes,
    evidence=_evidence,
    install=install,
    serving=serving,
    fault=_fault,
    amend=with_sampled,
    jobs=1,
    newest="0.7.0",
)
