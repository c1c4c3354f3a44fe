"""The command line and environment variables with which the lab starts a vLLM release."""

import ctypes.util
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harmony_lab.install import CPU_PACKAGE, Environment
from harmony_lab.model import make_model, make_vocabulary, uses_llama_body
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess, free_port
from inspector.matrix import scripts
from inspector.matrix.requests import SERVED_NAME
from inspector.matrix.scripts import Script

STANDALONE: Final = Path(__file__).with_name("standalone")
"""The folder of files that run inside a vLLM environment, without this package."""


STEP_MS: Final = 20
"""Milliseconds of a step under load: about that of an engine with a few hundred streams."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a server of the lab is started."""

    stream_interval: int = 1
    port: int = 0
    """0 selects a free one."""
    tools: bool = False
    """Whether the lab's MCP tool servers are started too."""
    flags: Sequence[str] = ()
    """Flags of `vllm serve`; they come last, so they override the lab's own."""
    plugins: Sequence[Path] = ()
    """Folders with further plugins of vLLM and their metadata; only for `--front-end`."""
    extra_scripts: Sequence[scripts.Script] = ()
    """Scripts in addition to those of the lab."""
    schedule: str = ""
    """Schedule of the stand-in engine; empty for `stream_interval` tokens per step."""

    load: bool = False
    """Whether the stand-in engine sends steps at fixed times instead of waiting until they are taken."""

    step_ms: int = STEP_MS
    """Under load, milliseconds between two steps of all streams."""

    @property
    def steps(self) -> str:
        """The schedule as text."""
        return self.schedule or str(self.stream_interval)


def server(
    paths: LabPaths,
    environment: Environment,
    options: ServerOptions,
    *,
    tool_server: str | None = None,
    wait: bool = True,
    say: Callable[[str], None] = print,
) -> ServerProcess:
    """A server of one release; it starts when its context is entered.

    `tool_server` is host:port of an MCP server, or several with commas.
    """
    version = environment.version
    llama_body = uses_llama_body(version)
    if not (paths.models / "vocabulary").exists():
        say("creating the tiny model and its vocabulary (about 10 s, only once)")
    model = make_model(paths.models, llama_body=llama_body)
    port = options.port or free_port()
    script_file = write_for_sampling(
        paths.root / "scripts" / f"{version}-{port}.json", [*scripts.load(), *options.extra_scripts]
    )
    command = [
        str(environment.python),
        str(STANDALONE / "launcher.py"),
        "serve",
        str(model),
        *("--served-model-name", SERVED_NAME),
        *("--load-format", "dummy"),
        *("--dtype", "float32" if llama_body else "bfloat16"),
        "--enforce-eager",
        *("--max-model-len", "4096"),
        *("--tool-call-parser", "openai", "--enable-auto-tool-choice"),
        *("--logits-processors", "scripted_sampling:ScriptedSampling"),
        *("--stream-interval", str(options.stream_interval)),
        *("--host", "127.0.0.1", "--port", str(port)),
        *(("--tool-server", tool_server) if tool_server else ()),
        *options.flags,
    ]
    variables = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "TIKTOKEN_ENCODINGS_BASE": str(make_vocabulary(paths.models)),
        "HARMONY_LAB_SCRIPTS": str(script_file),
        "PYTHONPATH": str(STANDALONE),
        "HARMONY_LAB_PARENT": str(os.getpid()),
        "PYTHONUNBUFFERED": "1",
    }
    if environment.package == CPU_PACKAGE:
        variables |= {
            "VLLM_CPU_KVCACHE_SPACE": "1",
            # Binding threads to cores needs NUMA information that containers hide.
            "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        }
        if preload := _preload(environment):
            variables["LD_PRELOAD"] = preload
    return ServerProcess(
        command,
        port=port,
        log=paths.logs / f"serve-{environment.package}-{version}-si{options.stream_interval}-{port}.log",
        environment=variables,
        wait=wait,
        say=say,
    )


def _preload(environment: Environment) -> str:
    """LD_PRELOAD for CPU releases (0.18) that need tcmalloc and Intel's OpenMP to start; empty for others.

    They only check the names in LD_PRELOAD. tcmalloc only affects speed, so without one on the system, OpenMP
    is preloaded under its name.
    """
    worker = next(environment.path.glob("lib/python*/site-packages/vllm/v1/worker/cpu_worker.py"), None)
    _, _, check = (
        worker.read_text(encoding="utf-8").partition("def check_preloaded_libs") if worker else ("",) * 3
    )
    openmp = environment.path / "lib" / "libiomp5.so"
    if "raise" not in check[:600] or not openmp.exists():
        return ""
    tcmalloc = ctypes.util.find_library("tcmalloc_minimal") or ctypes.util.find_library("tcmalloc")
    if tcmalloc is None:
        stand_in = openmp.with_name("libtcmalloc-stand-in.so")
        if not stand_in.exists():
            stand_in.symlink_to(openmp)
        tcmalloc = str(stand_in)
    return f"{tcmalloc}:{openmp}"


def write_for_sampling(path: Path, scripts: Iterable[Script]) -> Path:
    """Write the ids where `scripted_sampling` reads them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({script.name: script.turns for script in scripts}) + "\n", encoding="utf-8")
    return path
