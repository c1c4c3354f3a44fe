"""`probe`: many streams of a server, audited as they end; `probe_run` does it, here are the options."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from typing import Final, NamedTuple

from inspector.capture.capture import Endpoint
from inspector.commands.asking import add_connection_options, add_usual_options
from inspector.commands.redact import add_redact_option
from inspector.commands.shared import Commands
from inspector.protocol.wire.endpoints import asked_endpoints

FAIL_ON: Final = ("damaged", "failed", "unknown", "never")
"""What an exit code of 1 stands for; each includes those before it."""

_MIX: Final = "mix"
_AMOUNT: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kM]?) ?(requests?|tokens?|s|m|h|min)")
_UNITS: Final = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

_EXAMPLE: Final = """example:
  python -m inspector probe --base-url http://localhost:8000/v1 --endpoint responses \\
      --prompt "What is the weather in Paris?" --concurrency 5 --repeat 100
  python -m inspector probe --base-url http://localhost:8000/v1 --prompts prompts.jsonl --sweep
  python -m inspector probe --against http://old:8000/v1 http://new:8000/v1 --prompt "Hello" --requests 300
  python -m inspector probe --base-url http://prod:8000/v1 --prompts prompts.txt --rate 40 --share 0.01 \\
      --budget 1h

Each response is recorded and audited as it ends. Captures of responses that are not ok are kept in the folder
of --out, with a row for each request; the same command resumes a run that was stopped.

exit codes: 0 nothing at the level of --fail-on, 1 something, 2 a server or file failed, or you stopped it
"""


class Amount(NamedTuple):
    """A budget: an amount of `requests`, `tokens` or `seconds`."""

    value: float
    unit: str


def add_parser(commands: Commands) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "probe",
        help="send many requests and count the responses that arrive damaged",
        description="Send many requests to a server, audit each stream, and report how many lost text.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    _servers(parser)
    _requests(parser)
    _load(parser)
    _output(parser)
    parser.set_defaults(run=run)


def run(arguments: Namespace) -> int:
    """Probe; what does it is imported here, as it brings the lab's scripts and the network."""
    from inspector.commands.probe_run import run as run_probe  # noqa: PLC0415 -- see above

    return run_probe(arguments)


def _servers(parser: ArgumentParser) -> None:
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--base-url", metavar="URL", help="e.g. http://localhost:8000/v1")
    group.add_argument(
        "--against",
        nargs=2,
        metavar="URL",
        help="two servers A and B: send each request to both, and compare their rates",
    )
    parser.add_argument(
        "--model",
        nargs="+",
        default=[],
        metavar="NAME",
        help="one name, or one for each server (default: the first that the server lists)",
    )
    add_connection_options(parser)


def _requests(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("requests", "prompts and endpoints are used in turn")
    group.add_argument("--prompt", action="append", default=[], metavar="TEXT", help="repeatable")
    group.add_argument(
        "--prompts",
        action="append",
        default=[],
        metavar="FILE",
        help="one prompt per line; .jsonl: a text, a list of messages or a request per line; .json: messages",
    )
    group.add_argument(
        "--script",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="scripts of the lab, for a server of the lab",
    )
    names = [endpoint.value for endpoint in asked_endpoints()]
    group.add_argument(
        "--endpoint",
        nargs="+",
        choices=[*names, _MIX],
        default=[Endpoint.CHAT.value],
        metavar="NAME",
        help=f"{', '.join(names)}, several of them, or mix for all (default: chat)",
    )
    add_usual_options(group)
    group.add_argument(
        "--control",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="send this share of requests to completions instead, as a control; counted separately",
    )
    group.add_argument(
        "--unstreamed",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="send this share of requests without streaming; 1 for all",
    )


def _load(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("load")
    group.add_argument(
        "--concurrency",
        type=int,
        metavar="N",
        help="workers that send one request after the other (default: 1); with --rate the most requests in "
        "flight (default: 256)",
    )
    group.add_argument("--repeat", type=int, metavar="N", help="requests per worker (default: 20)")
    group.add_argument("--requests", type=int, metavar="N", help="requests in all, for each server")
    group.add_argument(
        "--rate",
        type=float,
        metavar="R",
        help="send R requests per second on average, whatever the server does",
    )
    group.add_argument(
        "--share", type=_share, default=1.0, metavar="SHARE", help="send only this share of --rate"
    )
    group.add_argument(
        "--budget",
        action="append",
        type=_amount,
        default=[],
        metavar="AMOUNT",
        help="end after 500requests, 2Mtokens or 10m, whichever is first; repeatable",
    )
    group.add_argument(
        "--warm-up",
        type=int,
        metavar="N",
        help="send N requests first that are not counted (default: 0, with --sweep 5)",
    )
    group.add_argument(
        "--sweep",
        nargs="?",
        type=int,
        const=64,
        metavar="LIMIT",
        help="raise the number of workers up to LIMIT (default: 64) until responses are damaged",
    )
    group.add_argument(
        "--smallest-rate",
        type=_share,
        default=0.01,
        metavar="SHARE",
        help="with --sweep: the loss rate to rule out before a load counts as free of loss (default: 0.01)",
    )


def _output(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--out",
        metavar="DIR",
        help="folder for rows and captures; resumes a run that is in it (default: a new one in captures/)",
    )
    group.add_argument(
        "--keep-clean",
        type=_share,
        default=0.0,
        metavar="SHARE",
        help="also keep this share of the captures that are ok",
    )
    add_redact_option(group)
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    for name, words in (
        ("csv", "one line per request"),
        ("junit", "a test report"),
        ("sarif", "SARIF 2.1.0"),
    ):
        group.add_argument(f"--{name}", metavar="FILE", help=f"also write {words}; - for standard output")
    group.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        default="failed",
        help="exit with 1 for damaged responses, also for failed (default), also for unknown ones, or never",
    )
    group.add_argument("--quiet", action="store_true", help="print no progress")


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ArgumentTypeError(f"invalid share {text[:40]!r}: expected 0 to 1")
    return share


def _amount(text: str) -> Amount:
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ArgumentTypeError(f"invalid budget {text[:40]!r}: expected e.g. 500requests, 2Mtokens or 10m")
    value = float(found[1]) * {"": 1, "k": 1000, "M": 1_000_000}[found[2]]
    unit = found[3]
    if unit in _UNITS:
        return Amount(value * _UNITS[unit], "seconds")
    return Amount(value, "tokens" if unit.startswith("token") else "requests")
