"""The steps of the Dockerfile, one by one in a folder, and its three programs, asked; without Docker."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from inspector.commands.options import Command
from inspector.commands.table import PROGRAM
from tests.support.builtin import COMPLETE_CHAT, TOOL
from tests.support.listening import free_port, listening
from tests.support.programs import bounded
from tests.support.upstreams import Echo
from tools.make_locks import pins
from tools.make_space import VISITORS, image_files

ROOT = Path(__file__).parents[1]
OF_ROOT = ("useradd", "chown")
"""Steps with these words need an image: they make the user."""


@dataclass
class Image:
    """A folder in the place of the image's root, and what the Dockerfile says of its programs."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def inside(self, words: str) -> str:
        """Paths of the image as paths of the folder."""
        return re.sub(r"(?<![\w.])/(?=(?:app|opt/venv|data)\b)", f"{self.root}/", words)

    def step(self, name: str, words: str) -> None:
        """Take one step of the Dockerfile."""
        match name:
            case "RUN" if any(word in words for word in OF_ROOT):
                self.left_out.append(words)
            case "RUN" if "pip install" in words:
                self.link(words.rsplit(maxsplit=1)[-1])
            case "RUN":
                subprocess.run(["sh", "-euc", self.inside(words)], check=True, env=self.variables())
            case "COPY":
                source, target = words.split()
                self.copy(image_files(ROOT) if source == "." else [source], target)
            case "ENV":
                for pair in shlex.split(words):
                    key, _, value = pair.partition("=")
                    self.environment[key] = self.inside(value).replace("$PATH", os.environ["PATH"])
            case "HEALTHCHECK":
                self.health = json.loads(words.partition("CMD ")[2])
            case "ENTRYPOINT":
                self.entrypoint = json.loads(words)
            case "CMD":
                self.command = json.loads(words)
            case _:
                assert name in {"ARG", "FROM", "USER", "WORKDIR", "EXPOSE"}, name

    def link(self, lock: str) -> None:
        """What the lock names, as it is in this environment, where pip has checked the hashes already."""
        [packages] = Path(self.inside("/opt/venv/lib")).glob("python*/site-packages")
        for name in pins(Path(self.inside(lock)).read_text("utf-8")):
            with suppress(PackageNotFoundError):  # of other platforms
                distribution = Distribution.from_name(name)
                for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
                    if not (packages / top).exists():
                        (packages / top).symlink_to(Path(str(distribution.locate_file(top))))

    def copy(self, names: list[str], target: str) -> None:
        for name in names:
            place = Path(self.inside(target))
            place = place / name if len(names) > 1 else place
            place.parent.mkdir(parents=True, exist_ok=True)
            copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copied(ROOT / name, place)

    def variables(self, **more: str) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.root), **self.environment, **more}

    def run(self, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [self.found(self.entrypoint[0]), *words],
            **self.started_with(more),
            capture_output=True,
            check=False,
        )

    @contextmanager
    def serving(self, *words: str, **more: str) -> Iterator["subprocess.Popen[str]"]:
        command = [self.found(self.entrypoint[0]), *words]
        with bounded(subprocess.Popen(command, **self.started_with(more))) as process:
            try:
                yield process
            finally:
                process.terminate()

    def found(self, program: str) -> str:
        path = shutil.which(program, path=self.environment["PATH"])
        assert path is not None, program
        return path

    def started_with(self, more: Mapping[str, str]) -> dict[str, Any]:
        return {"cwd": self.root / "data", "env": self.variables(**more), "text": True}


def steps(dockerfile: str) -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE)).splitlines()
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def image_in(folder: Path) -> Image:
    built = Image(folder)
    for name, words in steps((ROOT / "Dockerfile").read_text("utf-8")):
        built.step(name, words)
    (built.root / "data").mkdir()
    assert len(built.left_out) == len(OF_ROOT)
    return built


@contextmanager
def dashboard(image: Image, **more: str) -> Iterator[str]:
    """The image's own command on a free port, until its health check is content; the address."""
    port = str(free_port())
    words = [port if word == "8501" else word for word in image.command]
    check = [image.found(image.health[0]), *(word.replace(":8501", f":{port}") for word in image.health[1:])]
    with image.serving(*words, **more) as process:
        for _ in range(240):
            if not subprocess.run(check, env=image.variables(), capture_output=True, check=False).returncode:
                break
            assert process.poll() is None
        yield f"http://127.0.0.1:{port}"


@pytest.mark.slow
def test_the_image_and_its_programs(tmp_path: Path) -> None:
    image = image_in(tmp_path)
    a_canary_asks_the_dashboard(image)
    the_tap_forwards(image)
    a_space_only_replays(image)


def a_canary_asks_the_dashboard(image: Image) -> None:
    with dashboard(image, HARMONY_INSPECTOR_HOSTS="*.example") as address:
        for host, status in {"a.example": 200, "10.0.0.7:8501": 200, "rebound.test": 403}.items():
            assert httpx.get(address, headers={"host": host}).status_code == status
        words = ("canary", "--once", "--base-url", f"{address}/playback/v1", "--out", "canary", "--model")
        done = image.run(*words, TOOL)
        assert (done.returncode, "damaged, chat: The server leaked" in done.stderr) == (1, True), done.stderr
    for name, code in {TOOL: 1, COMPLETE_CHAT: 0}.items():
        assert image.run("audit", str(image.root / "app" / "fixtures" / f"{name}.jsonl")).returncode == code


def the_tap_forwards(image: Image) -> None:
    port = str(free_port())
    words = ("tap", "--upstream", "main=", "--out", "taps", "--host", "0.0.0.0", "--port", port)
    with listening(Echo()) as upstream:
        given = [f"main={upstream}" if word == "main=" else word for word in words]
        with image.serving(*given), httpx.Client(transport=httpx.HTTPTransport(retries=8)) as client:
            assert client.get(f"http://127.0.0.1:{port}/main/v1/models").status_code == 200


def a_space_only_replays(image: Image) -> None:
    (name, words), *_ = steps(VISITORS)
    space = Image(image.root, dict(image.environment), image.entrypoint, image.command, image.health)
    space.step(name, words)
    with dashboard(space) as address:
        for host, status in {"somebody-inspector.hf.space": 200, "huggingface.co": 403}.items():
            assert httpx.get(address, headers={"host": host}).status_code == status
        unknown = httpx.get(f"{address}/nothing/v1/models").text  # Streamlit's page
        assert httpx.get(f"{address}/playback/v1/models").text == unknown


def test_the_space_names_the_port_of_the_image() -> None:
    front = yaml.safe_load((ROOT / "space" / "README.md").read_text("utf-8").split("---")[1])
    assert (front["sdk"], front["app_port"]) == ("docker", 8501)
    assert ("EXPOSE", "8501") in steps((ROOT / "Dockerfile").read_text("utf-8"))
    assert len(front["short_description"]) <= 60


def test_the_commands_of_compose_yaml_are_commands() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    for service in services.values():
        ports = [published.rpartition(":")[2] for published in service["ports"]]
        if words := [re.sub(r"\$\{UPSTREAM:-(.*)\}", r"\1", word) for word in service.get("command", [])]:
            command = PROGRAM.load(words[0])
            assert isinstance(command, Command)
            options = command.parsed(words[0], words[1:])
            assert str(getattr(options, "metrics", None) or options.port) in ports
            assert options.host == "0.0.0.0"
