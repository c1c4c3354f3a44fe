"""`lab`: real vLLM releases without a GPU, from the command line."""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from inspector.commands import lab_runs
from inspector.commands.asking import add_connection_options
from inspector.commands.lab_exchange import fixtures_command
from inspector.commands.lab_options import (
    ENDPOINTS,
    add_package,
    add_release,
    add_selection,
    add_step_ms,
    lab_command,
)
from inspector.commands.shared import Commands
from inspector.lab.install import NEWEST


def add_parser(commands: Commands) -> None:
    """Add `lab` and its own commands."""
    lab = commands.add_parser(
        "lab",
        help="run real vLLM releases on a CPU with scripted tokens",
        description="Install, start, record, compare and bisect vLLM releases. See docs/lab.md.",
        epilog="example:\n  python -m inspector lab serve --vllm 0.32.0 --stream-interval 3",
        formatter_class=RawDescriptionHelpFormatter,
    )
    _add_commands(lab)


def _add_commands(lab: ArgumentParser) -> None:
    inner = lab.add_subparsers(metavar="LAB-COMMAND", required=True)

    install = lab_command(
        inner, "install", lab_runs.install_command, "install releases", "lab install 0.32.0 0.13.0"
    )
    add_package(install)
    install.add_argument(
        "versions", nargs="*", metavar="VERSION", help=f"releases for the CPU (default: {NEWEST})"
    )
    install.add_argument("--python", default=sys.executable, help="Python interpreter for the environments")
    install.add_argument(
        "--front-end",
        nargs="+",
        default=[],
        metavar="VERSION",
        help="the Python API server of an official release, for the stand-in engine",
    )
    install.add_argument(
        "--rust", nargs="+", default=[], metavar="VERSION", help="the Rust front end of an official release"
    )

    adopted = lab_command(
        inner,
        "adopt",
        lab_runs.adopt_command,
        "use an existing environment made from requirements-lab.txt",
        "lab adopt .venv-lab",
    )
    adopted.add_argument("path", type=Path, metavar="DIR", help="folder of the environment")

    serve = lab_command(
        inner,
        "serve",
        lab_runs.serve_command,
        "start one release and keep it running",
        "lab serve --vllm 0.32.0 --stream-interval 3 --port 8000 -- --max-num-seqs 8",
    )
    add_package(serve)
    add_release(serve)
    serve.add_argument(
        "--stream-interval",
        default="1",
        metavar="N",
        help="tokens per step (default: 1); on the stand-in engine also ragged:7, burst:16, 3+stall:500@4, "
        "3+abort@4, +length, +error, +die",
    )
    serve.add_argument(
        "--load",
        action="store_true",
        help="stand-in engine: send steps at fixed times, so that a busy server merges them",
    )
    add_step_ms(serve)
    serve.add_argument("--port", type=int, default=8000, help="0 selects a free port (default: 8000)")
    serve.add_argument("--tools", action="store_true", help="also start the tool servers (python, browser)")
    serve.add_argument("flags", nargs="*", metavar="FLAG", help="after --: more flags for vllm serve")

    record = lab_command(
        inner,
        "record",
        lab_runs.record_command,
        "record every script of one release as captures",
        "lab record --vllm 0.32.0 --stream-interval 1 3 --out captures",
    )
    add_package(record)
    add_release(record)
    record.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="folder in which captures are saved"
    )
    add_selection(record)

    conform = lab_command(
        inner,
        "matrix",
        lab_runs.matrix_command,
        "record and score releases; resumes after an interruption",
        "lab matrix 0.13.0 0.14.1 0.32.0 --stream-interval 1 3 --html matrix.html",
    )
    add_package(conform)
    conform.add_argument(
        "versions",
        nargs="*",
        metavar="VERSION",
        help="without versions: only read and score existing results",
    )
    conform.add_argument(
        "--front-end",
        nargs="+",
        default=[],
        metavar="VERSION",
        help="Python front ends of official releases on the stand-in engine",
    )
    conform.add_argument(
        "--rust", nargs="+", default=[], metavar="VERSION", help="Rust front ends on the stand-in engine"
    )
    conform.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the results (default: in the lab's folder)"
    )
    conform.add_argument("--json", action="store_true", help="print the scores as JSON")
    conform.add_argument("--html", type=Path, metavar="FILE", help="write the matrix as an HTML page")
    conform.add_argument(
        "--publish",
        type=Path,
        metavar="DIR",
        help="write static pages with an address for each cell, a feed of changes, and JSON",
    )
    conform.add_argument(
        "--changes", action="store_true", help="report what changed from each release to the next"
    )
    conform.add_argument(
        "--twins",
        action="store_true",
        help="report where a stream and the unstreamed response to the same request differ",
    )
    conform.add_argument("--rescore", action="store_true", help="score the stored captures again")
    add_selection(conform)

    search = lab_command(
        inner,
        "bisect",
        lab_runs.bisect_command,
        "find the first release where an outcome changes",
        "lab bisect plain --endpoint responses --stream-interval 3 --good 0.14.1 --bad 0.13.0",
    )
    add_package(search)
    search.add_argument(
        "what", metavar="SCRIPT_OR_CAPTURE", help="name of a script, or a capture file with token IDs"
    )
    search.add_argument("--good", required=True, metavar="VERSION", help="a release with the better outcome")
    search.add_argument("--bad", required=True, metavar="VERSION", help="a release with the worse outcome")
    search.add_argument("--endpoint", choices=ENDPOINTS, help="default: the capture's endpoint, or chat")
    search.add_argument(
        "--stream-interval",
        default="1",
        metavar="N",
        help="tokens per step (default: 1), or unstreamed; on the stand-in engine also ragged",
    )
    search.add_argument(
        "--repeat",
        type=int,
        default=3,
        metavar="N",
        help="send the request N times; the worst outcome counts (default: 3)",
    )
    search.add_argument(
        "--again",
        action="store_true",
        help="stand-in engine: also run releases for which the matrix has the result",
    )
    search.add_argument("--json", action="store_true", help="print the result as JSON")

    smaller = lab_command(
        inner,
        "shrink",
        lab_runs.shrink_command,
        "find the shortest token list that a release still loses",
        "lab shrink fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl --vllm 0.14.1 --stream-interval 3",
    )
    add_package(smaller)
    smaller.add_argument("capture", type=Path, metavar="CAPTURE", help="a capture file with token IDs")
    smaller.add_argument("--vllm", metavar="VERSION", help="default: the capture's version")
    smaller.add_argument("--endpoint", choices=ENDPOINTS, help="default: the capture's endpoint, or chat")
    smaller.add_argument(
        "--stream-interval",
        type=int,
        metavar="N",
        help="default: the largest number of tokens in an event of the capture",
    )
    smaller.add_argument(
        "--tries", type=int, default=300, metavar="N", help="maximum number of requests (default: 300)"
    )
    smaller.add_argument("--json", action="store_true", help="print the result as JSON")

    again = lab_command(
        inner,
        "derender",
        lab_runs.derender_command,
        "have another release parse the tokens of a capture; exit code 1 if it loses text",
        "lab derender fixtures/chat-tool-call-dropped-vllm-0.13.0.jsonl --front-end 0.33.0",
    )
    again.add_argument("capture", type=Path, metavar="CAPTURE", help="a chat capture with token IDs")
    group = again.add_mutually_exclusive_group(required=True)
    group.add_argument("--front-end", metavar="VERSION", help="an official release's Python front end")
    group.add_argument("--base-url", metavar="URL", help="a running server of vLLM 0.24.0 or newer")
    again.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the captures of what the release delivers"
    )
    again.add_argument("--json", action="store_true", help="print the result as JSON")
    add_connection_options(again)

    load = lab_command(
        inner,
        "load",
        lab_runs.load_command,
        "send one script many times concurrently, with engine steps at fixed times",
        "lab load --front-end 0.14.1 --script plain --streams 256",
    )
    group = load.add_mutually_exclusive_group(required=True)
    group.add_argument("--front-end", metavar="VERSION", help="an official release's Python front end")
    group.add_argument("--rust", metavar="VERSION", help="its Rust front end")
    load.add_argument("--script", default="plain", metavar="NAME", help="script to send (default: plain)")
    load.add_argument("--endpoint", choices=ENDPOINTS, default="chat", help="default: chat")
    load.add_argument("--streams", type=int, default=256, metavar="N", help="streams at once (default: 256)")
    load.add_argument("--stream-interval", default="1", metavar="N", help="tokens per step (default: 1)")
    add_step_ms(load)
    load.add_argument("--out", type=Path, metavar="DIR", help="folder in which failed streams are saved")
    load.add_argument("--json", action="store_true", help="print the result as JSON")

    gate = lab_command(
        inner,
        "gate",
        lab_runs.gate_command,
        "compare a release or a wheel with a base; exit code 1 if a result became worse",
        "lab gate --base 0.32.0 --wheel vllm-0.33.1.dev4-cp38-abi3-linux_x86_64.whl",
    )
    gate.add_argument("--base", required=True, metavar="VERSION", help="an official release")
    group = gate.add_mutually_exclusive_group(required=True)
    group.add_argument("--front-end", metavar="VERSION", help="an official release as the change")
    group.add_argument("--wheel", type=Path, metavar="FILE", help="a wheel of vLLM as the change")
    group.add_argument(
        "--source",
        type=Path,
        metavar="DIR",
        help="a checkout of vLLM as the change: its Python files over those of the base",
    )
    gate.add_argument("--rust", action="store_true", help="compare the Rust front ends of both")
    gate.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the results (default: in the lab's folder)"
    )
    gate.add_argument("--json", action="store_true", help="print the result as JSON")
    gate.add_argument("--markdown", type=Path, metavar="FILE", help="write the result for a pull request")
    add_selection(gate)

    watch = lab_command(
        inner,
        "watch",
        lab_runs.watch_command,
        "record the releases on the package index that are newer than the results, and report what changed",
        "lab watch --markdown change.md --publish pages",
    )
    watch.add_argument("--rust", action="store_true", help="the Rust front end (default: the Python one)")
    watch.add_argument(
        "--out", type=Path, metavar="DIR", help="folder of the results (default: in the lab's folder)"
    )
    watch.add_argument(
        "--after", metavar="VERSION", help="record the releases after this one (default: the newest result)"
    )
    watch.add_argument("--json", action="store_true", help="print the result as JSON")
    watch.add_argument("--markdown", type=Path, metavar="FILE", help="write the change report")
    watch.add_argument("--publish", type=Path, metavar="DIR", help="write the static pages of all results")
    add_selection(watch)

    fixtures = lab_command(
        inner,
        "fixtures",
        fixtures_command,
        "exchange scripts with CanIToolCall, or export them as tests for a checkout of vLLM",
        "lab fixtures canitoolcall/fixtures/gpt-oss/*.jsonl",
        environments=False,
    )
    fixtures.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="fixtures to read; exit code 1 if one differs",
    )
    fixtures.add_argument("--out", type=Path, metavar="FILE", help="write the scripts as fixtures")
    fixtures.add_argument(
        "--source-url", metavar="URL", help="with --out: where the scripts can be read, for their provenance"
    )
    fixtures.add_argument("--revision", metavar="REV", help="with --out: commit or release of that source")
    fixtures.add_argument(
        "--vllm-tests",
        type=Path,
        metavar="DIR",
        help="write the scripts as a pytest file with data, for a checkout of vLLM 0.24 or newer",
    )

    listing = lab_command(
        inner, "scripts", lab_runs.scripts_command, "list the scripts", "lab scripts", environments=False
    )
    listing.add_argument("--json", action="store_true", help="print the scripts with token IDs as JSON")
