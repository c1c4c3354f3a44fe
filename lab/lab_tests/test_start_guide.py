"""The flags of docs/start.md, on a real front end."""

import json
import re
import shlex
from contextlib import ExitStack
from pathlib import Path

import pytest

from harmony_lab.install import installed
from harmony_lab.paths import LabPaths
from harmony_lab.server import ServerOptions
from harmony_lab.session import LabSession
from harmony_lab.standin.install import FRONT_END, NEWEST_FRONT_END
from inspector.cli import main
from inspector.matrix.results import default_root

pytestmark = pytest.mark.vllm

GUIDE = Path(__file__).parents[2] / "docs" / "start.md"


def test_a_server_with_the_flags_of_the_guide_passes_the_server_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    [command] = re.findall(r"^vllm serve openai/gpt-oss-20b (.+)$", GUIDE.read_text("utf-8"), re.MULTILINE)
    paths = LabPaths(default_root())
    environment = installed(paths, FRONT_END, NEWEST_FRONT_END)
    assert environment is not None, f"python -m inspector lab install --front-end {NEWEST_FRONT_END}"
    options = ServerOptions(schedule="1", flags=tuple(shlex.split(command)))
    with ExitStack() as stack:
        server = LabSession(paths=paths, package=FRONT_END).serving(stack, environment, options)
        address = f"{server.base_url}/v1"
        capsys.readouterr()  # what the lab said
        main(["doctor", "--base-url", address, "--json"])
        checks = {check["name"]: check["state"] for check in json.loads(capsys.readouterr().out)["checks"]}
        out = tmp_path / "first.jsonl"
        assert main(["record", "--base-url", address, "--prompt", "[[script plain]]", "--out", str(out)]) == 0
        assert main(["audit", str(out)]) == 0
    assert checks["token ids"] == checks["reasoning"] == "ok"
    assert "failed" not in checks.values()
