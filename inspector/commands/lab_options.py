"""Options that the commands of `lab` share."""

import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from inspector.commands.shared import Commands
from inspector.lab import scripts
from inspector.lab.install import CPU_PACKAGE, GPU_PACKAGE
from inspector.lab.paths import ENVIRONMENT_VARIABLE, default_root
from inspector.lab.process import kill_is_interrupt
from inspector.lab.server import STEP_MS
from inspector.lab.standin.install import FRONT_END, RUST

ENDPOINTS: Final = [endpoint.value for endpoint in scripts.ENDPOINTS]
_LONGEST_STEP_MS: Final = 10_000


def lab_command(
    inner: Commands,
    name: str,
    run: Callable[[Namespace], int],
    words: str,
    example: str,
    *,
    environments: bool = True,
) -> ArgumentParser:
    """A command of `lab`, with the option for the folder of the environments if it uses any."""
    parser = inner.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        epilog=f"example:\n  python -m inspector {example}",
        formatter_class=RawDescriptionHelpFormatter,
        conflict_handler="resolve",
    )
    # Once every command took these two; a script that passes one to a command without use for it still runs.
    parser.add_argument("--package", default=CPU_PACKAGE, help=SUPPRESS)
    parser.add_argument("--lab", type=Path, default=default_root(), help=SUPPRESS)
    if environments:
        parser.add_argument(
            "--lab",
            type=Path,
            default=default_root(),
            metavar="DIR",
            help=f"folder of environments and logs (default: {ENVIRONMENT_VARIABLE}, or the user's cache "
            "folder)",
        )

    def guarded(arguments: Namespace) -> int:
        with kill_is_interrupt():
            return run(arguments)

    parser.set_defaults(run=guarded)
    return parser


def add_package(parser: ArgumentParser) -> None:
    """What runs a release, for commands that do not say it otherwise."""
    parser.add_argument(
        "--package",
        choices=(CPU_PACKAGE, GPU_PACKAGE, FRONT_END, RUST),
        default=CPU_PACKAGE,
        help=f"what runs a release (default: {CPU_PACKAGE}; {GPU_PACKAGE} needs a GPU; {FRONT_END} and "
        f"{RUST} are the front ends of official releases on the stand-in engine)",
    )


def add_step_ms(parser: ArgumentParser) -> None:
    """How long an engine step takes under load."""
    parser.add_argument(
        "--step-ms",
        type=_milliseconds,
        default=STEP_MS,
        metavar="MS",
        help=f"milliseconds between two steps under load (default: {STEP_MS})",
    )


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _LONGEST_STEP_MS):
        raise ArgumentTypeError(f"invalid number of milliseconds: {text!r}; 1 to {_LONGEST_STEP_MS}")
    return int(text)


def add_release(parser: ArgumentParser) -> None:
    """Which release is served, and by what."""
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--vllm", metavar="VERSION", help="a release with its own engine, on the CPU")
    group.add_argument(
        "--front-end",
        metavar="VERSION",
        help="an official release's Python front end, on the stand-in engine",
    )
    group.add_argument("--rust", metavar="VERSION", help="its Rust front end, on the stand-in engine")


def add_selection(parser: ArgumentParser) -> None:
    """What is recorded of a release, and how."""
    parser.add_argument(
        "--stream-interval",
        nargs="+",
        metavar="N",
        help="tokens per step, or unstreamed (default: 1 3; on the stand-in engine 1 3 ragged unstreamed)",
    )
    parser.add_argument(
        "--endpoint",
        nargs="+",
        choices=ENDPOINTS,
        default=ENDPOINTS,
        metavar="NAME",
        help=f"{', '.join(ENDPOINTS)} (default: all)",
    )
    parser.add_argument("--script", nargs="+", default=[], metavar="NAME", help="record only these scripts")
    parser.add_argument("--jobs", type=int, default=4, metavar="N", help="concurrent requests (default: 4)")
    parser.add_argument("--python", default=sys.executable, help=SUPPRESS)
