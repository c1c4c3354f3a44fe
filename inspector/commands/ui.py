"""`ui`: start the dashboard, from the installed package or from the checkout."""

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.capture.replay_only import REPLAY_ONLY_VARIABLE
from inspector.commands.options import Command, Options, flag, option
from inspector.commands.serving import Port
from inspector.files.store import APP
from inspector.net.hosts import HOSTS_VARIABLE

_EXAMPLE: Final = """example:
  python -m inspector ui --port 8501

Captures are kept in the folder `captures`, or in the one that HARMONY_INSPECTOR_CAPTURES names. In a checkout
this is the same as `streamlit run app.py`; options after -- are Streamlit's.
"""


class Ui(Options):
    """Start the dashboard and print its address."""

    port: Port | None = option("default: 8501, or the next port that is free", None)
    host: str | None = option("address to listen on (default: 127.0.0.1)", None)
    allow_host: tuple[str, ...] = option(
        f"also answer to this host name; repeatable (or set {HOSTS_VARIABLE})", (), "NAME", repeatable=True
    )
    replay_only: bool = flag(
        "for visitors: connect to no server, read no file of this machine, keep uploads apart "
        f"(or set {REPLAY_ONLY_VARIABLE}=1)"
    )
    options: tuple[str, ...] = option(
        "after --: more options for streamlit run", (), "OPTION", positional=True
    )


def command_of(options: Ui) -> Sequence[str]:
    """The command line that starts the dashboard; raises InspectorError if its files are missing."""
    app = APP / "app.py"
    if not app.is_file():
        raise InspectorError(f"{app}: the dashboard is not there; install the package again")
    if find_spec("streamlit") is None:
        raise InspectorError('the dashboard needs the extra `ui`: pip install "harmony-inspector[ui]"')
    # -P: an `inspector` in the working folder is not the one that was installed.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(app)]
    if options.port is not None:
        command += ["--server.port", str(options.port)]
    if options.host is not None:
        command += ["--server.address", options.host]
    return [*command, *options.options]


def run(options: Ui) -> int:
    """Replace this process by the dashboard's, so that signals reach it."""
    command = command_of(options)
    if options.allow_host:
        names = [*filter(None, [os.environ.get(HOSTS_VARIABLE)]), *options.allow_host]
        os.environ[HOSTS_VARIABLE] = " ".join(names)
    if options.replay_only:
        os.environ[REPLAY_ONLY_VARIABLE] = "1"
    if os.name != "nt":  # there, exec would return to the prompt while the dashboard goes on
        os.execv(command[0], list(command))  # noqa: S606 -- a list, no shell
    return subprocess.call(command)


COMMAND: Final = Command(Ui, run, _EXAMPLE)
