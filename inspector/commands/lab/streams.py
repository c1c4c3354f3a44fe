"""`lab bisect`, `shrink`, `derender`, `load`: one script or capture, on the releases that it takes."""

from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from inspector.analysis.metrics import figures
from inspector.analysis.reading import read
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.commands.asking import add_connection_options, server_of
from inspector.commands.lab.options import (
    ENDPOINTS,
    STAND_IN_PACKAGES,
    add_json,
    add_package,
    add_step_ms,
    lab_command,
    release_of,
    session_of,
)
from inspector.commands.shared import one_capture
from inspector.commands.terminal import Commands, print_json, say, tell
from inspector.files.store import save
from inspector.lab import scripts
from inspector.lab.bisect import (
    bisect,
    bisect_row,
    bisect_sentence,
    endpoint_of,
    recorded_scores,
    release_scorer,
    releases,
    script_of_capture,
)
from inspector.lab.derender import checked_steps, derender, derendered_lines, derendered_row, scale_out
from inspector.lab.install import installed_versions
from inspector.lab.load import load_row, load_sentence, run_load
from inspector.lab.recording import Target
from inspector.lab.results import every_run
from inspector.lab.server import ServerOptions
from inspector.lab.shrink import sampler_on, server_error_in, shrink, shrunk_lines, shrunk_row
from inspector.lab.standin.install import FRONT_END, RUST
from inspector.lab.standin.steps import UNSTREAMED, check_condition, schedule_of

BISECTED_AT_ONCE: Final = 2
"""Front ends that a search starts together; a release with its own engine needs all memory for itself."""


def add_bisect(commands: Commands) -> None:
    """`lab bisect`: find the first release where an outcome changes."""
    parser = lab_command(
        commands,
        "bisect",
        _bisect,
        "find the first release where an outcome changes",
        "lab bisect plain --endpoint responses --stream-interval 3 --good 0.14.1 --bad 0.13.0",
    )
    add_package(parser)
    parser.add_argument(
        "what", metavar="SCRIPT_OR_CAPTURE", help="name of a script, or a capture file with token IDs"
    )
    parser.add_argument("--good", required=True, metavar="VERSION", help="a release with the better outcome")
    parser.add_argument("--bad", required=True, metavar="VERSION", help="a release with the worse outcome")
    parser.add_argument("--endpoint", choices=ENDPOINTS, help="default: the capture's endpoint, or chat")
    parser.add_argument(
        "--stream-interval",
        default="1",
        metavar="N",
        help="tokens per step (default: 1), or unstreamed; on the stand-in engine also ragged",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        default=3,
        metavar="N",
        help="send the request N times; the worst outcome counts (default: 3)",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="stand-in engine: also run releases for which the matrix has the result",
    )
    add_json(parser)


def _bisect(arguments: Namespace) -> int:
    if arguments.good == arguments.bad:
        raise LabError(f"--good and --bad are both {arguments.good}; name two different releases")
    file = Path(arguments.what)
    endpoint = Endpoint(arguments.endpoint) if arguments.endpoint else Endpoint.CHAT
    if file.is_file():
        _, capture = one_capture(str(file))
        script = script_of_capture(capture)
        endpoint = Endpoint(arguments.endpoint) if arguments.endpoint else endpoint_of(capture)
    else:
        script = scripts.named([arguments.what])[0]
    lab, target = session_of(arguments), Target(endpoint, script)
    steps: str = arguments.stream_interval
    check_condition(steps)
    if lab.package not in STAND_IN_PACKAGES and not steps.isdigit() and steps != UNSTREAMED:
        raise LabError(f"{steps} tokens per step need the stand-in engine: --package {FRONT_END} or {RUST}")
    scorer = release_scorer(lab, target, steps=steps, repeat=arguments.repeat)
    recorded_runs = every_run() if script.name != "capture" and not arguments.again else []
    change = bisect(
        lab,
        scorer,
        releases(lab.package),
        good=arguments.good,
        bad=arguments.bad,
        ready=installed_versions(lab.paths, lab.package),
        at_once=BISECTED_AT_ONCE if lab.package in STAND_IN_PACKAGES else 1,
        recorded=recorded_scores(recorded_runs, lab.package, target, steps),
    )
    if arguments.json:
        print_json(bisect_row(change))
    else:
        say(bisect_sentence(change, arguments.what))
    return 0


def add_shrink(commands: Commands) -> None:
    """`lab shrink`: find the shortest token list that a release still loses."""
    parser = lab_command(
        commands,
        "shrink",
        _shrink,
        "find the shortest token list that a release still loses",
        "lab shrink fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl --vllm 0.14.1 --stream-interval 3",
    )
    add_package(parser)
    parser.add_argument("capture", type=Path, metavar="CAPTURE", help="a capture file with token IDs")
    parser.add_argument("--vllm", metavar="VERSION", help="default: the capture's version")
    parser.add_argument("--endpoint", choices=ENDPOINTS, help="default: the capture's endpoint, or chat")
    parser.add_argument(
        "--stream-interval",
        type=int,
        metavar="N",
        help="default: the largest number of tokens in an event of the capture",
    )
    parser.add_argument(
        "--tries", type=int, default=300, metavar="N", help="maximum number of requests (default: 300)"
    )
    add_json(parser)


def _shrink(arguments: Namespace) -> int:
    _, capture = one_capture(str(arguments.capture))
    script = script_of_capture(capture)
    reading = read(capture)
    version = arguments.vllm or reading.server_version
    if version is None:
        raise LabError(f"{arguments.capture}: unknown vLLM version; set --vllm")
    server_error_in(capture)  # fails before a server is started
    interval = arguments.stream_interval or max(figures(reading).tokens_per_event_max, 1)
    endpoint = Endpoint(arguments.endpoint) if arguments.endpoint else endpoint_of(capture)
    lab = session_of(arguments)
    environment = lab.prepare(version)
    options = ServerOptions(stream_interval=interval, tools=bool(script.built_in))
    with ExitStack() as stack:
        running = lab.serving(stack, environment, options)
        server = sampler_on(running.base_url, script, endpoint, version=version, stream_interval=interval)
        shrunk = shrink(capture, script.sampled, server, tries=arguments.tries, say=tell)
    if arguments.json:
        print_json(shrunk_row(shrunk, version, interval))
    else:
        say(shrunk_lines(shrunk, version, interval))
    return 0


def add_derender(commands: Commands) -> None:
    """`lab derender`: have another release parse the tokens of a capture; exit code 1 if it loses text."""
    parser = lab_command(
        commands,
        "derender",
        _derender,
        "have another release parse the tokens of a capture; exit code 1 if it loses text",
        "lab derender fixtures/chat-tool-call-dropped-vllm-0.13.0.jsonl --front-end 0.33.0",
    )
    parser.add_argument("capture", type=Path, metavar="CAPTURE", help="a chat capture with token IDs")
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--front-end", metavar="VERSION", help="an official release's Python front end")
    group.add_argument("--base-url", metavar="URL", help="a running server of vLLM 0.24.0 or newer")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the captures of what the release delivers"
    )
    add_json(parser)
    add_connection_options(parser)


def _derender(arguments: Namespace) -> int:
    _, capture = one_capture(str(arguments.capture))
    checked_steps(capture)  # fails before a server is started
    if arguments.base_url:
        derendered = derender(capture, server_of(arguments))
    else:
        lab = session_of(arguments, FRONT_END)
        environment = lab.prepare(arguments.front_end)
        with ExitStack() as stack:
            running = lab.serving(stack, environment, ServerOptions(flags=scale_out(arguments.front_end)))
            derendered = derender(capture, server_of(arguments, running.base_url))
    if arguments.out:
        try:
            arguments.out.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(
                f"{arguments.out}: cannot be created ({error.strerror}); choose another --out"
            ) from error
        for name, inspection in derendered.responses.items():
            save(inspection.capture, arguments.out / f"{name}.jsonl")
    if arguments.json:
        print_json(derendered_row(derendered))
    else:
        say(derendered_lines(derendered))
    return int(not derendered.passed)


def add_load(commands: Commands) -> None:
    """`lab load`: send one script many times concurrently."""
    parser = lab_command(
        commands,
        "load",
        _load,
        "send one script many times concurrently, with engine steps at fixed times",
        "lab load --front-end 0.14.1 --script plain --streams 256",
    )
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--front-end", metavar="VERSION", help="an official release's Python front end")
    group.add_argument("--rust", metavar="VERSION", help="its Rust front end")
    parser.add_argument("--script", default="plain", metavar="NAME", help="script to send (default: plain)")
    parser.add_argument("--endpoint", choices=ENDPOINTS, default="chat", help="default: chat")
    parser.add_argument(
        "--streams", type=int, default=256, metavar="N", help="streams at once (default: 256)"
    )
    parser.add_argument("--stream-interval", default="1", metavar="N", help="tokens per step (default: 1)")
    add_step_ms(parser)
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder in which failed streams are saved")
    add_json(parser)


def _load(arguments: Namespace) -> int:
    schedule_of(arguments.stream_interval)
    package, version = release_of(arguments)
    result = run_load(
        session_of(arguments, package),
        version,
        Target(Endpoint(arguments.endpoint), scripts.named([arguments.script])[0]),
        steps=arguments.stream_interval,
        streams=arguments.streams,
        step_ms=arguments.step_ms,
        out=arguments.out,
    )
    if arguments.json:
        print_json(load_row(result))
    else:
        say(load_sentence(result))
    return 0
