"""The options of `compare --ask`: send one prompt to two servers and wait for the runs."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from inspector.capture.errors import InspectorError, StoreError
from inspector.commands.asking import add_connection_options, add_request_options, request_of, server_of
from inspector.net.runs.registry import Registry
from inspector.net.runs.trial import Trial


def add_ask_options(parser: ArgumentParser) -> None:
    """Add the options."""
    ask = parser.add_argument_group(
        "compare two servers", "temperature is 0 and both seeds are the same unless you set them"
    )
    ask.add_argument("--ask", nargs=2, metavar="URL", help="the two servers, left one first")
    ask.add_argument(
        "--model",
        nargs="+",
        metavar="NAME",
        default=[],
        help="from /v1/models: one name, or one for each side",
    )
    ask.add_argument("--runs", type=int, default=1, metavar="N", help="runs per server (default: 1)")
    ask.add_argument("--out", metavar="FOLDER", help="save the captures in this folder")
    add_request_options(ask, required=False)
    add_connection_options(ask)


def given_without_ask(arguments: Namespace) -> str | None:
    """The first option that needs --ask; None if there is none."""
    given = {
        "--model": arguments.model,
        "--runs": arguments.runs != 1,
        "--out": arguments.out,
        "--prompt": arguments.prompt,
        "--messages": arguments.messages,
        "--tools": arguments.tools,
    }
    return next((name for name, value in given.items() if value), None)


def asked(arguments: Namespace) -> Trial:
    """Send the requests and wait; Ctrl-C stops them and keeps what has arrived."""
    if not 1 <= len(arguments.model) <= 2:
        raise InspectorError("--ask needs --model NAME, or two names if the servers use different names")
    if not (arguments.prompt or arguments.messages):
        raise InspectorError("--ask needs --prompt TEXT or --messages FILE")
    folder = Path(arguments.out) if arguments.out else None
    registry = Registry(folder)
    left, right = (
        (server_of(arguments, address), request_of(arguments, model))
        for address, model in zip(arguments.ask, (arguments.model[0], arguments.model[-1]), strict=True)
    )
    trial = registry.start_trial(left, right, runs=arguments.runs)
    try:
        for run in trial.runs:
            registry.wait(run)
    except KeyboardInterrupt:
        trial.stop()
        for run in trial.runs:
            registry.wait(run, 5.0)
    for run in trial.runs:
        if run.trouble:
            raise StoreError(run.trouble)
    return trial
