"""Writes what a Hugging Face Space is made of into a new folder: `python -m tools.make_space DIR`.

The image's files as they are committed, the Space's own README, and a Dockerfile that only replays.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent

VISITORS: Final = "ENV HARMONY_INSPECTOR_REPLAY_ONLY=1 HARMONY_INSPECTOR_HOSTS=*.hf.space\n"
"""The last line of the Space's Dockerfile."""


def image_files(root: Path) -> list[str]:
    """What .dockerignore leaves of a checkout, files and folders; patterns apart."""
    lines = (root / ".dockerignore").read_text("utf-8").splitlines()
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def write_space(folder: Path) -> None:
    """Write the folder, which may not exist."""
    folder.mkdir()
    command = ["git", "archive", "HEAD", "Dockerfile", ".dockerignore", "space", *image_files(ROOT)]
    archived = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", folder], input=archived, check=True)
    (folder / "space" / "README.md").rename(folder / "README.md")
    (folder / "space").rmdir()
    with (folder / "Dockerfile").open("a", encoding="utf-8") as file:
        file.write(f"\n# For visitors.\n{VISITORS}")


if __name__ == "__main__":
    write_space(Path(sys.argv[1]))
