"""NVIDIA Dynamo's HTTP front end, with a worker of the lab behind it."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx

from harmony_lab.install import Environment, Say
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess, free_port
from harmony_lab.server import ServerOptions
from harmony_lab.servers.dynamo_layouts import check_dynamo
from harmony_lab.servers.installing import Wheel
from harmony_lab.servers.server import LabServer
from harmony_lab.servers.serving import ScriptedServer, scripted_server, stream_fault
from harmony_lab.standin.serving import IMPORT_PATH
from harmony_lab.standin.steps import CONDITIONS
from inspector.matrix.scripts import Script

_START_S: Final = 120.0


class DynamoServer(ScriptedServer):
    """Ready when the worker's model is listed: the front end answers before."""

    def _answers(self) -> bool:
        try:
            answer = httpx.get(f"{self.base_url}/v1/models", timeout=2)
            return answer.status_code == 200 and bool(answer.json()["data"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return False


def _check(folder: Path, version: str) -> None:
    check_dynamo(folder, release=version)


_WHEEL: Final = Wheel(package="dynamo", distribution="ai-dynamo-runtime", check=_check)


@contextmanager
def _serving(
    paths: LabPaths, environment: Environment, options: ServerOptions, *, wait: bool, say: Say
) -> Iterator[ServerProcess]:
    with (
        tempfile.TemporaryDirectory(prefix="harmony-lab-") as discovery,
        scripted_server(
            paths,
            environment,
            options,
            module="harmony_lab.servers.dynamo_process",
            more=("--tool-call-parser", "harmony", "--reasoning-parser", "gpt_oss"),
            variables={
                "PYTHONPATH": f"{IMPORT_PATH}{os.pathsep}{environment.path}",
                "DYN_FILE_KV": discovery,
                # Without these it listens on the first real network interface.
                "DYN_TCP_RPC_HOST": "127.0.0.1",
                "DYN_TCP_RPC_PORT": str(free_port()),
                "DYN_TCP_RESPONSE_STREAM_HOST": "lo",  # an interface: 1.4.2 knows no addresses here
                "DYN_TCP_RESPONSE_STREAM_PORT": str(free_port()),
            },
            ready="/v1/models",
            timeout_s=_START_S,
            wait=wait,
            say=say,
            kind=DynamoServer,
        ) as server,
    ):
        yield server


def _excludes(_script: Script) -> bool:
    return False


def _evidence(_script: Script) -> Mapping[str, Any]:
    return {"nvext": {"extra_fields": ["completion_token_ids"]}}


DYNAMO: Final = LabServer(
    name="dynamo",
    conditions=CONDITIONS,
    excludes=_excludes,
    evidence=_evidence,
    install=_WHEEL.install,
    serving=_serving,
    fault=stream_fault,
    newest="1.6.1",
    distribution=_WHEEL.distribution,
)
