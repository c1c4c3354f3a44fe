"""`python -m inspector ui`: which command line it becomes; tests/browser/test_installed.py starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspector.commands.ui import COMMAND, command_of
from inspector.files.store import APP

PYTHON = """#!{python}
import os, sys
print(sys.argv[1:], os.environ["HARMONY_INSPECTOR_HOSTS"])
"""


def test_the_dashboard_of_the_checkout_is_started_with_the_options() -> None:
    options = COMMAND.parsed("ui", ["--port", "8600", "--host", "0.0.0.0", "--", "--server.baseUrlPath", "x"])
    assert command_of(options) == [
        *(sys.executable, "-P", "-m", "streamlit", "run", str(APP / "app.py")),
        *("--server.port", "8600", "--server.address", "0.0.0.0", "--server.baseUrlPath", "x"),
    ]
    assert Path(APP / "pages" / "frame.py").is_file()


def test_the_process_becomes_the_dashboard_s_and_knows_the_hosts(tmp_path: Path) -> None:
    stand_in = tmp_path / "python"
    stand_in.write_text(PYTHON.format(python=sys.executable))
    stand_in.chmod(0o755)
    program = "import sys; from inspector.cli import main; sys.executable = sys.argv.pop(1); main()"
    completed = subprocess.run(
        [
            sys.executable,
            "-c",
            program,
            str(stand_in),
            "ui",
            "--allow-host",
            "a.example",
            "--allow-host",
            "b",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HARMONY_INSPECTOR_HOSTS": "first"},
    )
    assert (
        completed.stdout.strip()
        == f"{['-P', '-m', 'streamlit', 'run', str(APP / 'app.py')]} first a.example b"
    )


def test_an_invalid_port_is_an_error_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        COMMAND.parsed("ui", ["--port", "x"])
    assert "invalid port: 'x'" in capsys.readouterr().err
