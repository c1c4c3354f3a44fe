"""`lab bisect`, `shrink`, `derender`, `load`: one script or capture, on the releases that it takes."""

from contextlib import ExitStack
from pathlib import Path
from typing import Final

from harmony_lab.bisect import (
    bisect,
    bisect_row,
    bisect_sentence,
    endpoint_of,
    recorded_scores,
    release_scorer,
    releases,
    script_of_capture,
)
from harmony_lab.commands.options import (
    ENDPOINTS,
    STAND_IN_PACKAGES,
    Environments,
    Milliseconds,
    Packaged,
    lab_command,
    step_time,
)
from harmony_lab.derender import checked_steps, derender, derendered_lines, derendered_row, scale_out
from harmony_lab.install import installed_versions
from harmony_lab.load import load_row, load_sentence, run_load
from harmony_lab.recording import Target
from harmony_lab.server import ServerOptions
from harmony_lab.shrink import sampler_on, server_error_in, shrink, shrunk_lines, shrunk_row
from harmony_lab.standin.install import FRONT_END, RUST
from harmony_lab.standin.steps import check_condition, schedule_of
from inspector.analysis.metrics import figures
from inspector.analysis.reading import read
from inspector.capture.capture import Endpoint
from inspector.capture.errors import LabError
from inspector.commands.asking import Connection, server_of
from inspector.commands.options import flag, option, required
from inspector.commands.shared import as_json, one_capture
from inspector.commands.terminal import print_json, say, tell
from inspector.files.store import save
from inspector.matrix import scripts
from inspector.matrix.results import UNSTREAMED, every_run

BISECTED_AT_ONCE: Final = 2
"""Front ends that a search starts together; a release with its own engine needs all memory for itself."""


class Bisect(Packaged):
    """Find the first release where an outcome changes."""

    what: str = required("name of a script, or a capture file with token IDs", "SCRIPT|FILE", positional=True)
    good: str = required("a release with the better outcome", "VERSION")
    bad: str = required("a release with the worse outcome", "VERSION")
    endpoint: Endpoint | None = option("default: the capture's endpoint, or chat", None, choices=ENDPOINTS)
    stream_interval: str = option(
        "tokens per step (default: 1), or unstreamed; on the stand-in engine also ragged", "1", "N"
    )
    repeat: int = option("send the request N times; the worst outcome counts", 3, "N")
    again: bool = flag("stand-in engine: also run releases for which the matrix has the result")
    json: bool = as_json()


def _bisect(options: Bisect) -> int:
    if options.good == options.bad:
        raise LabError(f"--good and --bad are both {options.good}; name two different releases")
    file = Path(options.what)
    endpoint = options.endpoint or Endpoint.CHAT
    if file.is_file():
        _, capture = one_capture(str(file))
        script = script_of_capture(capture)
        endpoint = options.endpoint or endpoint_of(capture)
    else:
        script = scripts.named([options.what])[0]
    lab, target = options.session(), Target(endpoint, script)
    steps = options.stream_interval
    check_condition(steps)
    if lab.package not in STAND_IN_PACKAGES and not steps.isdigit() and steps != UNSTREAMED:
        raise LabError(f"{steps} tokens per step need the stand-in engine: --package {FRONT_END} or {RUST}")
    scorer = release_scorer(lab, target, steps=steps, repeat=options.repeat)
    recorded_runs = every_run() if script.name != "capture" and not options.again else []
    change = bisect(
        lab,
        scorer,
        releases(lab.package),
        good=options.good,
        bad=options.bad,
        ready=installed_versions(lab.paths, lab.package),
        at_once=BISECTED_AT_ONCE if lab.package in STAND_IN_PACKAGES else 1,
        recorded=recorded_scores(recorded_runs, lab.package, target, steps),
    )
    if options.json:
        print_json(bisect_row(change))
    else:
        say(bisect_sentence(change, options.what))
    return 0


class Shrink(Packaged):
    """Find the shortest token list that a release still loses."""

    capture: Path = required("a capture file with token IDs", "FILE", positional=True)
    vllm: str | None = option("default: the capture's version", None, "VERSION")
    endpoint: Endpoint | None = option("default: the capture's endpoint, or chat", None, choices=ENDPOINTS)
    stream_interval: int | None = option(
        "default: the largest number of tokens in an event of the capture", None, "N"
    )
    tries: int = option("maximum number of requests", 300, "N")
    json: bool = as_json()


def _shrink(options: Shrink) -> int:
    _, capture = one_capture(str(options.capture))
    script = script_of_capture(capture)
    reading = read(capture)
    version = options.vllm or reading.server_version
    if version is None:
        raise LabError(f"{options.capture}: unknown vLLM version; set --vllm")
    server_error_in(capture)  # fails before a server is started
    interval = options.stream_interval or max(figures(reading).tokens_per_event_max, 1)
    endpoint = options.endpoint or endpoint_of(capture)
    lab = options.session()
    environment = lab.prepare(version)
    server_options = ServerOptions(stream_interval=interval, tools=bool(script.built_in))
    with ExitStack() as stack:
        running = lab.serving(stack, environment, server_options)
        server = sampler_on(running.base_url, script, endpoint, version=version, stream_interval=interval)
        shrunk = shrink(capture, script.sampled, server, tries=options.tries, say=tell)
    if options.json:
        print_json(shrunk_row(shrunk, version, interval))
    else:
        say(shrunk_lines(shrunk, version, interval))
    return 0


class Derender(Environments, Connection, needs=("release",)):
    """Have another release parse the tokens of a capture; exit code 1 if it loses text."""

    capture: Path = required("a chat capture with token IDs", "FILE", positional=True)
    front_end: str = option("an official release's Python front end", "", "VERSION", one_of="release")
    base_url: str | None = option("a running server of vLLM 0.24.0 or newer", None, "URL", one_of="release")
    out: Path | None = option("folder for the captures of what the release delivers", None, "DIR")
    json: bool = as_json()


def _derender(options: Derender) -> int:
    _, capture = one_capture(str(options.capture))
    checked_steps(capture)  # fails before a server is started
    if options.base_url:
        derendered = derender(capture, server_of(options, options.base_url))
    else:
        lab = options.session(FRONT_END)
        environment = lab.prepare(options.front_end)
        with ExitStack() as stack:
            running = lab.serving(stack, environment, ServerOptions(flags=scale_out(options.front_end)))
            derendered = derender(capture, server_of(options, running.base_url))
    if options.out:
        try:
            options.out.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise LabError(
                f"{options.out}: cannot be created ({error.strerror}); choose another --out"
            ) from error
        for name, inspection in derendered.responses.items():
            save(inspection.capture, options.out / f"{name}.jsonl")
    if options.json:
        print_json(derendered_row(derendered))
    else:
        say(derendered_lines(derendered))
    return int(not derendered.passed)


class Load(Environments, needs=("release",)):
    """Send one script many times concurrently, with engine steps at fixed times."""

    front_end: str = option("an official release's Python front end", "", "VERSION", one_of="release")
    rust: str = option("its Rust front end", "", "VERSION", one_of="release")
    script: str = option("script to send", "plain", "NAME")
    endpoint: Endpoint = option("", Endpoint.CHAT, choices=ENDPOINTS)
    streams: int = option("streams at once", 256, "N")
    stream_interval: str = option("tokens per step", "1", "N")
    step_ms: Milliseconds = step_time()
    out: Path | None = option("folder in which failed streams are saved", None, "DIR")
    json: bool = as_json()


def _load(options: Load) -> int:
    schedule_of(options.stream_interval)
    package, version = (FRONT_END, options.front_end) if options.front_end else (RUST, options.rust)
    result = run_load(
        options.session(package),
        version,
        Target(options.endpoint, scripts.named([options.script])[0]),
        steps=options.stream_interval,
        streams=options.streams,
        step_ms=options.step_ms,
        out=options.out,
    )
    if options.json:
        print_json(load_row(result))
    else:
        say(load_sentence(result))
    return 0


BISECT: Final = lab_command(
    Bisect, _bisect, "bisect plain --endpoint responses --stream-interval 3 --good 0.14.1 --bad 0.13.0"
)
SHRINK: Final = lab_command(
    Shrink,
    _shrink,
    "shrink fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl --vllm 0.14.1 --stream-interval 3",
)
DERENDER: Final = lab_command(
    Derender, _derender, "derender fixtures/chat-tool-call-dropped-vllm-0.13.0.jsonl --front-end 0.33.0"
)
LOAD: Final = lab_command(Load, _load, "load --front-end 0.14.1 --script plain --streams 256")
