"""The fixtures' README is made from their index."""

import subprocess
import sys

from inspector.files.store import (
    FIXTURES,
)


def test_the_readme_of_the_fixtures_is_made_from_their_index() -> None:
    command = [sys.executable, "-m", "tools.make_fixtures_readme", "--check"]
    assert subprocess.run(command, cwd=FIXTURES.parent, check=False).returncode == 0
