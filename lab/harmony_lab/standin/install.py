"""Installs the API server of a release, Python or Rust, without GPU parts, for the stand-in engine.

The official wheel is unpacked, its requirements are installed without those that only a GPU uses, and one CPU
build of torch serves all releases, as none of their compiled parts is loaded. uv makes the environments, with
hard links into a cache in the lab's folder, so that releases share files.

Only one installation runs at a time; a second one waits.
"""

import fcntl
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from email.parser import Parser
from pathlib import Path
from typing import Final

from harmony_lab.install import (
    Environment,
    Parts,
    Say,
    check_disk,
    installed,
    packages_of,
    parts_of,
    run,
    unpack,
    write_record,
)
from harmony_lab.paths import LabPaths
from harmony_lab.requirements import front_end_requirements
from harmony_lab.standin.layouts import SOURCE, layouts_of
from inspector.capture.errors import LabError

FRONT_END: Final = "vllm-frontend"
"""An official wheel's Python API server in an environment without GPU parts."""

RUST: Final = "vllm-rs"
"""The Rust front end of an official wheel."""

NEWEST_FRONT_END: Final = "0.33.0"
"""The release whose front ends the tests start."""

OLDEST_FRONT_END: Final = "0.10.2"
"""The first release that sends token IDs."""

ENGINE_REQUIREMENTS: Final = ("msgspec>=0.19,<1", "pyzmq>=26,<28")
"""Packages of the engine's process: the codec and the sockets that vLLM itself uses."""

UV: Final = "uv>=0.8,<1"

TORCH: Final = "2.13.0"
"""Used for all releases: nothing that was compiled for another version is loaded."""

LOOSENED: Final = ("certifi",)
"""Requirements without version bounds: some releases need a version that an index may not have yet."""

OF_TORCH: Final = ("filelock", "fsspec", "jinja2", "networkx", "setuptools", "sympy", "typing-extensions")
"""Dependencies of torch, which is installed separately: it is often newer than the releases' cut-off date."""

SETTLED_DAYS: Final = 7
"""Requirements are resolved as of this many days after the wheel was built: what users got then."""

NEEDED_BYTES: Final = {FRONT_END: 4 * 2**30, RUST: 2 * 2**30}

BYTECODE: Final = {"PYTHONDONTWRITEBYTECODE": ""}
"""Keep compiled bytecode: otherwise every start compiles torch and vLLM again."""

LAUNCHER: Final = Path(__file__).parents[1] / "standalone" / "launcher.py"

_PLUGIN: Final = LAUNCHER.with_name("standin_plugin.py")

_PLUGIN_ENTRY_POINTS: Final = """\
[vllm.platform_plugins]
harmony_lab = standin_plugin:platform

[vllm.general_plugins]
harmony_lab = standin_plugin:observe
"""


def prepare_official(
    paths: LabPaths,
    version: str,
    *,
    package: str,
    python: str = sys.executable,
    say: Say = print,
    needed_bytes: int | None = None,
) -> Environment:
    """Install one front end of one release, or resume an earlier attempt.

    Raises LabError if the release, a requirement, its Rust binary or disk space is missing.
    """
    if ready := installed(paths, package, version):
        say(f"{package} {version}: already installed in {ready.path}")
        return ready
    check_disk(paths.root, NEEDED_BYTES[package] if needed_bytes is None else needed_bytes)
    with install_lock(paths, say):
        if ready := installed(paths, package, version):
            return ready
        return _Installation(paths, package, version, python, say).run()


def use_wheel(paths: LabPaths, wheel: Path) -> str:
    """Unpack a wheel that is not on the package index; returns the version under which it is installed.

    The version ends in a part of the wheel's hash, so that a rebuild is another version. Raises LabError if
    the file is not a vLLM wheel.
    """
    match = re.fullmatch(r"vllm-([0-9][^-]*)-.+\.whl", wheel.name)
    if match is None or not wheel.is_file():
        raise LabError(f"{wheel} is not a vLLM wheel; the name of one begins with vllm- and its version")
    with wheel.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:8]
    version = f"{match[1]}{'.' if '+' in match[1] else '+'}w{digest}"
    folder = paths.wheels / f"official-{version}"
    if parts_of(folder) is None:
        paths.wheels.mkdir(parents=True, exist_ok=True)
        unpack(wheel, folder)
    return version


def use_source(paths: LabPaths, source: Path, *, over: str) -> str:
    """Combine an installed release with the Python files of a checkout; returns the version to install.

    The version ends in a part of the hash of those files. Files that only the wheel has (generated, compiled
    or bundled ones, and those that the checkout deleted) stay those of the release. Raises LabError if the
    folder is not a vLLM checkout, or the release is not installed.
    """
    package = source / "vllm"
    if not (package / "__init__.py").is_file() or not (source / SOURCE).is_file():
        raise LabError(f"{source} is not a vLLM checkout; it has no {SOURCE}")
    release = parts_of(paths.wheels / f"official-{over}")
    if release is None:
        raise LabError(f"vLLM {over} is not installed; run lab install --front-end {over} first")
    files = sorted(path for path in package.rglob("*.py") if path.is_file())
    digest = hashlib.sha256()
    for path in files:
        digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes() + b"\0")
    version = f"{over}{'.' if '+' in over else '+'}s{digest.hexdigest()[:8]}"
    folder = paths.wheels / f"official-{version}"
    if parts_of(folder) is None:
        partial = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(release.folder, partial, copy_function=_link)
        for path in files:
            target = partial / "site" / path.relative_to(source)
            target.unlink(
                missing_ok=True
            )  # a hard link to the release's own file: replace it, do not write into it
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
        partial.rename(folder)
    return version


def engine_path(paths: LabPaths) -> Path:
    """The folder with the packages of the engine's process, for the Python that runs this program."""
    return paths.root / "engine-packages" / f"python{sys.version_info.major}.{sys.version_info.minor}"


def plugin_folder(paths: LabPaths) -> Path:
    """Write the lab's two vLLM plugins to a folder for PYTHONPATH, and return it; nothing is installed."""
    folder = paths.root / "plugin"
    metadata = folder / "harmony_lab_plugin-1.dist-info"
    metadata.mkdir(parents=True, exist_ok=True)
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: harmony-lab-plugin\nVersion: 1\n", "utf-8"
    )
    (metadata / "entry_points.txt").write_text(_PLUGIN_ENTRY_POINTS, encoding="utf-8")
    shutil.copyfile(_PLUGIN, folder / _PLUGIN.name)
    return folder


@contextmanager
def install_lock(paths: LabPaths, say: Say) -> Iterator[None]:
    """Wait until no other installation into the lab's folder runs."""
    paths.root.mkdir(parents=True, exist_ok=True)
    with (paths.root / "install.lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another installation into the same folder")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class _Installation:
    """The steps of one installation; each one skips what an earlier attempt finished."""

    def __init__(self, paths: LabPaths, package: str, version: str, python: str, say: Say) -> None:
        self._paths, self._package, self._version = paths, package, version
        self._python, self._say = python, say
        self._started = time.monotonic()
        self._log = paths.logs / f"install-{package}-{version}.log"
        self._tools = paths.root / "tools" / "bin"
        self._path = paths.environment(package, version)

    def run(self) -> Environment:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.unlink(missing_ok=True)
        self._make_tools()
        self._install_engine()
        parts = self._wheel()
        # Fails here for an unknown protocol, before anything large is installed.
        layouts_of(parts.layouts.read_text(encoding="utf-8"), release=self._version)
        environment = self._rust(parts) if self._package == RUST else self._front_end(parts)
        self._step(f"installed in {self._path}")
        return environment

    def _step(self, text: str) -> None:
        self._say(f"{self._package} {self._version} [{time.monotonic() - self._started:4.0f} s] {text}")

    def _make_tools(self) -> None:
        """Install the lab's own pip and uv."""
        if (self._tools / "uv").exists():
            return
        self._step("installing uv into the lab's folder")
        failure = f"cannot create a virtual environment with {self._python}"
        run([self._python, "-m", "venv", str(self._tools.parent)], self._log, failure)
        run([str(self._tools / "python"), "-m", "pip", "install", UV], self._log, "uv cannot be installed")

    def _install_engine(self) -> None:
        target = engine_path(self._paths)
        if not ((target / "zmq").is_dir() and (target / "msgspec").is_dir()):
            self._step("installing the engine's two packages")
            self._uv_install(sys.executable, [*ENGINE_REQUIREMENTS, "--target", str(target)])

    def _wheel(self) -> Parts:
        folder = self._paths.wheels / f"official-{self._version}"
        if (parts := parts_of(folder)) is not None:
            return parts
        self._step("downloading the official wheel (250 to 500 MB)")
        downloads = self._paths.wheels / f"download-{self._version}"
        run(
            [
                str(self._tools / "python"),
                *("-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"),
                *("-d", str(downloads), f"vllm=={self._version}"),
            ],
            self._log,
            f"no wheel of vllm {self._version} for this platform and Python version",
        )
        self._step("taking it apart")
        parts = unpack(next(downloads.glob("vllm-*.whl")), folder)
        shutil.rmtree(downloads)
        return parts

    def _rust(self, parts: Parts) -> Environment:
        if not parts.rust.exists():
            raise LabError(f"the official wheel of vLLM {self._version} has no Rust front end")
        _link(parts.rust, self._path / parts.rust.name)
        _link(parts.layouts, self._path / "engine_layouts.py")
        return write_record(self._path, RUST, self._version, {"vllm": self._version})

    def _front_end(self, parts: Parts) -> Environment:
        interpreter = self._path / "bin" / "python"
        if not interpreter.exists():
            command = [str(self._tools / "uv"), "venv", "--python", self._python, str(self._path)]
            run(command, self._log, "cannot create the environment")
        self._install_requirements(interpreter, parts)
        site = next(self._path.glob("lib/python*/site-packages"))
        for source in parts.site.rglob("*"):
            if source.is_file():
                _link(source, site / source.relative_to(parts.site))
        self._step("importing vLLM once")
        run(
            [str(interpreter), str(LAUNCHER), "--version"],
            self._log,
            "vLLM cannot be imported after installation",
            variables={"PYTHONPATH": str(plugin_folder(self._paths)), **BYTECODE},
        )
        return write_record(self._path, FRONT_END, self._version, packages_of(str(interpreter)))

    def _install_requirements(self, interpreter: Path, parts: Parts) -> None:
        dependencies = (
            Parser().parsestr(parts.metadata.read_text(encoding="utf-8")).get_all("Requires-Dist") or []
        )
        needed, left_out = front_end_requirements([str(line) for line in dependencies], version=self._version)
        requirements, overrides = self._path / "requirements.txt", self._path / "overrides.txt"
        requirements.write_text("\n".join([*needed, *OF_TORCH]) + "\n", encoding="utf-8")
        # An override with a marker that is never true removes a package from all requirements.
        never = [f"{name}; python_version < '3'" for name in (*left_out, "torch")]
        overrides.write_text("\n".join([*never, *LOOSENED]) + "\n", encoding="utf-8")
        # As of then: later major versions of openai, fastapi or transformers break older releases.
        until = parts.built + timedelta(days=SETTLED_DAYS)
        self._step(
            f"installing {len(needed)} requirements as of {until}; "
            f"{len(left_out)} that only GPUs need are left out"
        )
        torch = [f"torch=={TORCH}", "--no-deps"]
        if not (folders := _torch_folders()):
            torch += ["--torch-backend", "cpu"]
        self._uv_install(str(interpreter), torch, UV_FIND_LINKS=",".join(folders))
        words = ["-r", str(requirements), "--override", str(overrides)]
        self._uv_install(str(interpreter), [*words, "--exclude-newer", until.isoformat()])

    def _uv_install(self, python: str, words: Sequence[str], **also: str) -> None:
        variables = {
            "UV_CACHE_DIR": str(self._paths.root / "uv-cache"),
            "UV_LINK_MODE": "hardlink",
            "UV_PYTHON_DOWNLOADS": "never",
            **also,
        }
        command = [str(self._tools / "uv"), "pip", "install", "--python", python, *words]
        run(command, self._log, "", variables=variables)


def _torch_folders() -> list[str]:
    """Folders of PIP_FIND_LINKS with a CPU build of TORCH; uv does not read that variable."""
    named = os.environ.get("PIP_FIND_LINKS", "").split()
    return [folder for folder in named if any(Path(folder).glob(f"torch-{TORCH}+cpu-*.whl"))]


def _link(source: str | Path, target: str | Path) -> None:
    """Hard-link a file; copy it if the disk has no hard links."""
    if Path(target).exists():
        return
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
