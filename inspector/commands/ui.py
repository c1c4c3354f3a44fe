"""`ui`: start the dashboard, from the installed package or from the checkout."""

import os
import subprocess
import sys
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

from inspector.capture.errors import InspectorError
from inspector.commands.serving import port_number
from inspector.commands.terminal import Commands
from inspector.files.store import APP
from inspector.net.hosts import HOSTS_VARIABLE

_EXAMPLE: Final = """example:
  python -m inspector ui --port 8501

Captures are kept in the folder `captures`, or in the one that HARMONY_INSPECTOR_CAPTURES names. In a checkout
this is the same as `streamlit run app.py`; options after -- are Streamlit's.
"""


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "ui",
        description="Start the dashboard and print its address.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=port_number, help="default: 8501, or the next port that is free")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help=f"also answer to this host name; repeatable (or set {HOSTS_VARIABLE})",
    )
    parser.add_argument(
        "options",
        nargs="*",
        metavar="OPTION",
        help="after --: more options for streamlit run",
    )
    parser.set_defaults(run=run)


def command_of(arguments: Namespace) -> Sequence[str]:
    """The command line that starts the dashboard; raises InspectorError if its files are missing."""
    app = APP / "app.py"
    if not app.is_file():
        raise InspectorError(f"{app}: the dashboard is not there; install the package again")
    if find_spec("streamlit") is None:
        raise InspectorError('the dashboard needs the extra `ui`: pip install "harmony-inspector[ui]"')
    # -P: an `inspector` in the working folder is not the one that was installed.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(app)]
    if arguments.port is not None:
        command += ["--server.port", str(arguments.port)]
    if arguments.host is not None:
        command += ["--server.address", arguments.host]
    return [*command, *arguments.options]


def run(arguments: Namespace) -> int:
    """Replace this process by the dashboard's, so that signals reach it."""
    command = command_of(arguments)
    if arguments.allow_host:
        names = [*filter(None, [os.environ.get(HOSTS_VARIABLE)]), *arguments.allow_host]
        os.environ[HOSTS_VARIABLE] = " ".join(names)
    if os.name != "nt":  # there, exec would return to the prompt while the dashboard goes on
        os.execv(command[0], list(command))  # noqa: S606 -- a list, no shell
    return subprocess.call(command)
