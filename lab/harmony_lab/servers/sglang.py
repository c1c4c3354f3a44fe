"""SGLang's Rust server: how the lab installs and starts it, in the two configurations that matter."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from harmony_lab.install import Environment, Say
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess
from harmony_lab.server import ServerOptions
from harmony_lab.servers.installing import Wheel
from harmony_lab.servers.server import Install, LabServer, Serving
from harmony_lab.servers.serving import scripted_server, stream_fault
from harmony_lab.servers.sglang_layouts import sglang_layouts
from harmony_lab.standin.steps import CONDITIONS
from inspector.matrix.scripts import Script

_PARTS: Final = (
    "sglang/srt/rust_extensions/_server.",
    "sglang/srt/rust_server/",
    "sglang/srt/managers/io_struct.py",
    "sglang/srt/sampling/sampling_params.py",
)
"""What the lab needs of a wheel: the compiled server, and the sources that say how it is called."""

_START_S: Final = 60.0


def _check(folder: Path, version: str) -> None:
    sglang_layouts(folder / "sglang" / "srt", release=version)


_WHEEL: Final = Wheel(package="sglang-rust", distribution="sglang", parts=_PARTS, check=_check)


def _installing(name: str) -> Install:
    """Both configurations use the same files."""

    def install(paths: LabPaths, version: str, say: Say) -> Environment:
        return replace(_WHEEL.install(paths, version, say), package=name)

    return install


def _serving(tool_call_parser: str) -> Serving:
    @contextmanager
    def serving(
        paths: LabPaths, environment: Environment, options: ServerOptions, *, wait: bool, say: Say
    ) -> Iterator[ServerProcess]:
        with scripted_server(
            paths,
            environment,
            options,
            module="harmony_lab.servers.sglang_process",
            more=("--tool-call-parser", tool_call_parser, "--reasoning-parser", "gpt_oss"),
            variables={},
            ready="/v1/models",
            timeout_s=_START_S,
            wait=wait,
            say=say,
        ) as server:
            yield server

    return serving


def _excludes(script: Script) -> bool:
    """Chat has no `ignore_eos`: the server stops at the first stop token."""
    return bool(script.request.get("ignore_eos"))


def _evidence(_script: Script) -> Mapping[str, Any]:
    return {"logprobs": True}


def _row(name: str, tool_call_parser: str) -> LabServer:
    return LabServer(
        name=name,
        conditions=CONDITIONS,
        excludes=_excludes,
        evidence=_evidence,
        install=_installing(name),
        serving=_serving(tool_call_parser),
        fault=stream_fault,
        newest="0.5.23",
        distribution=_WHEEL.distribution,
    )


SGLANG_RUST: Final = _row("sglang-rust", "harmony")
SGLANG_RUST_CLI: Final = _row("sglang-rust-cli", "gpt-oss")
