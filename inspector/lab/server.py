"""The command line and the variables with which a vLLM release of the lab starts."""

import ctypes.util
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from inspector.lab import scripts
from inspector.lab.install import CPU_PACKAGE, Environment
from inspector.lab.model import SERVED_NAME, make_model, make_vocabulary, uses_llama_body
from inspector.lab.paths import LabPaths
from inspector.lab.process import ServerProcess, free_port

STANDALONE: Final = Path(__file__).with_name("standalone")
"""The folder of the files that run inside a vLLM environment, without this package."""


STEP_MS: Final = 20
"""Of a step under load: an engine with a few hundred streams takes about this long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How a server of the lab is started."""

    stream_interval: int = 1
    port: int = 0
    """0 takes a free one."""
    tools: bool = False
    """Whether it gets the lab's MCP tool servers."""
    flags: Sequence[str] = ()
    """Flags of `vllm serve`; they come last, so they override the lab's own."""
    extra_scripts: Sequence[scripts.Script] = ()
    """Scripts beside those of the lab."""
    schedule: str = ""
    """How the stand-in engine groups the tokens; empty for `stream_interval` tokens at a time."""

    load: bool = False
    """Whether the stand-in engine sends steps by the clock even where it could wait until they are taken."""

    step_ms: int = STEP_MS
    """Under load, milliseconds between two steps, which all streams make together."""

    @property
    def steps(self) -> str:
        """The schedule by name."""
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
    """A server of one release, not yet started: enter it.

    `tool_server` is host:port of an MCP server, or several with commas.
    """
    version = environment.version
    llama_body = uses_llama_body(version)
    if not (paths.models / "vocabulary").exists():
        say("creating the tiny model and its vocabulary (about 10 s, only once)")
    model = make_model(paths.models, llama_body=llama_body)
    port = options.port or free_port()
    script_file = scripts.write_for_sampling(
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
            # Binding threads to cores asks for NUMA facts that containers hide.
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
    """Libraries that some CPU releases (0.18) refuse to start without: tcmalloc and Intel's OpenMP.

    They look for the names in LD_PRELOAD only. tcmalloc only affects speed, so if the system has
    none, OpenMP is preloaded under its name.
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
