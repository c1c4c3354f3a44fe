"""Installs the parts of other servers' wheels into the lab's folder."""

import shutil
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from inspector.capture.errors import LabError
from inspector.lab.install import Environment, Say, check_disk, installed, run, write_record
from inspector.lab.paths import LabPaths
from inspector.lab.standin.install import install_lock

NEEDED_BYTES = 2**30


def install_parts(
    paths: LabPaths,
    distribution: str,
    version: str,
    *,
    package: str,
    folders: Sequence[str],
    check: Callable[[Path], object],
    say: Say,
) -> Environment:
    """Download one wheel and unpack its members below `folders`, without its requirements.

    `check` sees the unpacked folder and raises LabError for a release that the lab cannot run. Raises
    LabError if the release or disk space is missing.
    """
    return _once(paths, package, version, say, lambda path, log: _unpacked(
        paths, distribution, version, folders, check, path, log, say
    ))


def install_with_requirements(
    paths: LabPaths, distribution: str, version: str, *, package: str, check: Callable[[Path], object], say: Say
) -> Environment:
    """Install one distribution with its requirements into a folder; errors as for `install_parts`."""

    def fill(path: Path, log: Path) -> dict[str, str]:
        say(f"{package} {version}: downloading its wheel and requirements")
        words = ("--only-binary", ":all:", "--no-cache-dir", "--target", str(path))
        command = [sys.executable, "-m", "pip", "install", *words, f"{distribution}=={version}"]
        run(command, log, f"{distribution} {version} cannot be installed for this platform and Python version")
        check(path)
        return _distributions(path)

    return _once(paths, package, version, say, fill)


def _once(
    paths: LabPaths,
    package: str,
    version: str,
    say: Say,
    fill: Callable[[Path, Path], dict[str, str]],
) -> Environment:
    """Fill a folder beside the environment's, and rename it when it is complete."""
    if ready := installed(paths, package, version):
        return ready
    check_disk(paths.root, NEEDED_BYTES)
    with install_lock(paths, say):
        if ready := installed(paths, package, version):
            return ready
        path = paths.environment(package, version)
        log = paths.logs / f"install-{package}-{version}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        partial = path.with_name(f"{path.name}.part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        packages = fill(partial, log)
        shutil.rmtree(path, ignore_errors=True)
        partial.rename(path)
        environment = write_record(path, package, version, packages)
        say(f"{package} {version}: installed in {path}")
        return environment


def _unpacked(
    paths: LabPaths,
    distribution: str,
    version: str,
    folders: Sequence[str],
    check: Callable[[Path], object],
    path: Path,
    log: Path,
    say: Say,
) -> dict[str, str]:
    downloads = paths.wheels / f"download-{distribution}-{version}"
    say(f"{distribution} {version}: downloading the wheel")
    run(
        [
            *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
            *("--no-cache-dir", "-d", str(downloads), f"{distribution}=={version}"),
        ],
        log,
        f"no wheel of {distribution} {version} for this platform and Python version",
    )
    try:
        wheel = next(downloads.glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            # `extractall` keeps members inside the folder, and the archive's checksums are compared.
            archive.extractall(path, [name for name in archive.namelist() if name.startswith(tuple(folders))])
    except (OSError, StopIteration, zipfile.BadZipFile) as error:
        raise LabError(f"{downloads}: the wheel cannot be unpacked ({error}); run the command again") from error
    finally:
        shutil.rmtree(downloads, ignore_errors=True)
    check(path)
    return {distribution: version}


def _distributions(path: Path) -> dict[str, str]:
    names = [folder.name.removesuffix(".dist-info") for folder in sorted(path.glob("*.dist-info"))]
    return dict((name.rpartition("-")[0].replace("_", "-"), name.rpartition("-")[2]) for name in names)
