"""The lock files: `python -m tools.make_locks` resolves requirements*.txt anew (`pip install uv` first).

A lock names one version of everything that the ranges allow, for every platform and Python from 3.11 on, with
the hashes of the files that PyPI holds. A mirror serves the same files. A build of one's own has other
hashes, and pip then takes the file of the index whose hash fits.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {"requirements.txt": "requirements.lock", "requirements-dev.txt": "requirements-dev.lock"}
"""What is asked for, and where its resolution stands."""

_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)


def pins(lock: str) -> dict[str, set[str]]:
    """The versions of each package in a lock's text: several where they depend on the platform."""
    versions_by_name: dict[str, set[str]] = {}
    for name, version in _PIN.findall(lock):
        versions_by_name.setdefault(re.sub(r"[-_.]+", "-", name).lower(), set()).add(version)
    return versions_by_name


def main() -> int:
    """Write the locks."""
    for asked, lock in LOCKS.items():
        words = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--upgrade"]
        # pip before 23.3 does not apply the pin of `coverage` to `coverage[toml]`.
        words += ["--no-strip-extras"]
        # Those of the checkout have no hash; .ci/run installs them without a lock.
        words += ["--no-emit-package", "harmony-inspector", "--no-emit-package", "harmony-inspector-lab"]
        command = ["uv", "pip", "compile", asked, *words, "--quiet", "--output-file", lock]
        command += ["--custom-compile-command", "python -m tools.make_locks"]
        subprocess.run(command, cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
