"""Gateways that the lab puts before recorded responses: how each is installed and started.

A gateway stores and reads only below a folder of its own, and gets no key that is worth something.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from harmony_lab.install import Say, check_disk, run
from harmony_lab.paths import LabPaths
from harmony_lab.process import ServerProcess, free_port
from inspector.capture.capture import Endpoint

_NEEDED_BYTES: Final = 2**30
_START_S: Final = 120.0
_KEY: Final = "sk-local"
"""LiteLLM does not start without a master key, and accepts requests with it only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a gateway's command needs to know."""

    folder: Path
    """A new folder of its own."""
    port: int
    upstream: str
    """The address of the server behind it, without a path."""
    model: str
    """A model that the server lists."""

    def file(self, name: str, content: object) -> str:
        """Write a configuration file; JSON is YAML too."""
        path = self.folder / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return str(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    """A release of a gateway in one configuration."""

    name: str
    requirement: str
    """What pip installs: the distribution, with an extra."""
    version: str
    setting: str = ""
    """For users, what its configuration has of its own."""
    asks: Mapping[Endpoint, Endpoint]
    """Endpoints that it serves to clients, to those that it then asks of the server."""
    command: Callable[[Start], Sequence[str]]
    """Program of its virtual environment, and arguments."""
    health: str = "/health"
    body: Mapping[str, Any] = field(default_factory=dict)
    """What its configuration adds to each request."""
    headers: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def packages(self) -> Mapping[str, str]:
        """Distribution to version."""
        return {self.requirement.partition("[")[0]: self.version}

    @property
    def label(self) -> str:
        """Name, version and configuration, such as `agentic-api 0.9.0 (store)`."""
        return f"{self.name} {self.version}" + (f" ({self.setting})" if self.setting else "")


def _agentic(start: Start) -> Sequence[str]:
    database = f"sqlite:///{start.folder / 'responses.db'}"
    connection = ["--upstream", start.upstream, "--model", start.model, "--gateway-port", str(start.port)]
    quiet = ["--skip-llm-ready-check", "--quiet", "--no-color"]
    return ["agentic", "serve", *connection, "--database-url", database, *quiet]


def _litellm(start: Start, *, parameters: Mapping[str, Any]) -> Sequence[str]:
    """With one model in its list; `parameters` adds to what the list says of the server."""
    server = {"model": f"hosted_vllm/{start.model}", "api_base": f"{start.upstream}/v1", "api_key": _KEY}
    model = {"model_name": start.model, "litellm_params": server | dict(parameters)}
    settings = {"telemetry": False, "num_retries": 0}
    config = start.file("config.json", {"model_list": [model], "litellm_settings": settings})
    return ["litellm", "--config", config, "--host", "127.0.0.1", "--port", str(start.port)]


def _router(start: Start) -> Sequence[str]:
    listening = ["--host", "127.0.0.1", "--port", str(start.port), "--prometheus-port", str(free_port())]
    worker = ["--worker-urls", start.upstream, "--policy", "round_robin"]
    # A recorded failure is one of a response, not of the server.
    plain = ["--disable-retries", "--disable-circuit-breaker"]
    return ["vllm-router", *listening, *worker, *plain]


def _itself(*endpoints: Endpoint) -> Mapping[Endpoint, Endpoint]:
    return {endpoint: endpoint for endpoint in endpoints}


def _agentic_row(setting: str, *, store: bool) -> Gateway:
    return Gateway(
        name="agentic-api",
        requirement="agentic-api",
        version="0.9.0",
        setting=setting,
        asks=_itself(Endpoint.RESPONSES),
        command=_agentic,
        body={"store": store},
    )


def _litellm_row(setting: str, asks: Mapping[Endpoint, Endpoint], **parameters: object) -> Gateway:
    return Gateway(
        name="LiteLLM",
        requirement="litellm[proxy]",
        version="1.106.12",
        setting=setting,
        asks=asks,
        command=partial(_litellm, parameters=parameters),
        health="/health/liveliness",
        headers={"authorization": f"Bearer {_KEY}"},
        variables={
            "LITELLM_MASTER_KEY": _KEY,
            "LITELLM_TELEMETRY": "False",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or it downloads one
        },
    )


GATEWAYS: Final = (
    _agentic_row("store", store=True),
    _agentic_row("no store", store=False),
    _litellm_row("", _itself(Endpoint.CHAT, Endpoint.RESPONSES)),
    _litellm_row("Responses over chat", {Endpoint.RESPONSES: Endpoint.CHAT}, use_chat_completions_api=True),
    _litellm_row("Messages over chat", {Endpoint.MESSAGES: Endpoint.CHAT}),
    Gateway(
        name="vllm-router",
        requirement="vllm-router",
        version="0.1.17",
        asks=_itself(Endpoint.CHAT, Endpoint.RESPONSES, Endpoint.COMPLETIONS),
        command=_router,
    ),
)
"""The newest releases that could be installed when the results were recorded."""


def install(paths: LabPaths, gateway: Gateway, *, say: Say = print) -> Path:
    """The virtual environment of a gateway, made if it is not there; raises LabError."""
    path = paths.root / "gateways" / f"{gateway.name}-{gateway.version}"
    done = path / "installed.json"
    if not done.exists():
        check_disk(paths.root, _NEEDED_BYTES)
        say(f"installing {gateway.name} {gateway.version}")
        log = paths.logs / f"install-{path.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-m", "venv", str(path)], log, "cannot create a virtual environment")
        pin = f"{gateway.requirement}=={gateway.version}"
        run([str(path / "bin" / "python"), "-m", "pip", "install", pin], log, f"{pin} cannot be installed")
        done.write_text(json.dumps(dict(gateway.packages)) + "\n", encoding="utf-8")
    return path


@contextmanager
def serving(
    paths: LabPaths, gateway: Gateway, upstream: str, model: str, *, say: Say = print
) -> Iterator[str]:
    """A gateway before a server; yields its address."""
    programs = install(paths, gateway, say=say) / "bin"
    port = free_port()
    with TemporaryDirectory(prefix="gateway-") as folder:
        program, *arguments = gateway.command(
            Start(folder=Path(folder), port=port, upstream=upstream, model=model)
        )
        environment = {
            "PATH": f"{programs}{os.pathsep}{os.environ.get('PATH', '')}",
            "HOME": folder,
            "AGENTIC_API_HOME": folder,
            **gateway.variables,
        }
        with ServerProcess(
            [str(programs / program), *arguments],
            port=port,
            log=paths.logs / f"gateway-{gateway.name}-{port}.log",
            environment=environment,
            health=gateway.health,
            timeout_s=_START_S,
            say=say,
        ) as server:
            yield server.base_url
