"""The options of `compare --ask`: send one prompt to two servers and wait for the runs."""

from pathlib import Path

from inspector.capture.errors import InspectorError, StoreError
from inspector.commands.asking import Connection, Request, request_of, server_of
from inspector.commands.options import option
from inspector.net.runs.registry import Registry
from inspector.net.runs.trial import Trial


class Asked(
    Request,
    Connection,
    title="compare two servers",
    about="temperature is 0 and both seeds are the same unless you set them",
):
    """What `compare` sends, and to which servers."""

    ask: tuple[str, str] | None = option("the two servers, left one first", None, "URL")
    model: tuple[str, ...] = option("from /v1/models: one name, or one for each side", (), "NAME")
    runs: int = option("runs per server", 1, "N")
    out: str | None = option("save the captures in this folder", None, "DIR")


def given_without_ask(options: Asked) -> str | None:
    """The first option that needs --ask; None if there is none."""
    given = {
        "--model": options.model,
        "--runs": options.runs != 1,
        "--out": options.out,
        "--prompt": options.prompt,
        "--messages": options.messages,
        "--tools": options.tools,
    }
    return next((name for name, value in given.items() if value), None)


def asked(options: Asked, servers: tuple[str, str]) -> Trial:
    """Send the requests and wait; Ctrl-C stops them and keeps what has arrived."""
    if not 1 <= len(options.model) <= 2:
        raise InspectorError("--ask needs --model NAME, or two names if the servers use different names")
    if not (options.prompt or options.messages):
        raise InspectorError("--ask needs --prompt TEXT or --messages FILE")
    folder = Path(options.out) if options.out else None
    registry = Registry(folder)
    left, right = (
        (server_of(options, address), request_of(options, model))
        for address, model in zip(servers, (options.model[0], options.model[-1]), strict=True)
    )
    trial = registry.start_trial(left, right, runs=options.runs)
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
