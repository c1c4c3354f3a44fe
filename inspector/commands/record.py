"""`record`: send one request and save its stream as a capture."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from inspector.capture.errors import ConnectionFailed, StoreError
from inspector.capture.formats import count
from inspector.commands.asking import AskedServer, Request, request_of, server_of
from inspector.commands.options import Command, option, required
from inspector.commands.progress import progress
from inspector.commands.redact import fresh, redacting
from inspector.commands.terminal import Verdict, say, tell
from inspector.files.store import save
from inspector.inspection.inspection import inspect
from inspector.inspection.masking import masked
from inspector.net.client.server_info import first_model
from inspector.net.runs.registry import Registry
from inspector.views.audit_result import AuditResult

_EXAMPLE = """example:
  python -m inspector record --base-url http://localhost:8000/v1 --model openai/gpt-oss-20b \\
      --endpoint chat --prompt "What is the weather in Paris?" --out weather.jsonl

--endpoint completions sends the Harmony prompt as token IDs. No parser runs on that stream, so it
shows every sampled token (the ground truth). --and-truth records both, in two files.

exit codes: 0 recorded, 1 recorded but the stream failed, 2 nothing could be recorded
"""


class Record(AskedServer, Request, needs=("text",)):
    """Send one streaming request with the openai client and save every event with its time."""

    model: str = option("a model of the server (default: the first that it lists)", "")
    out: str = required("file for the capture; must not exist yet", "FILE")
    and_truth: str | None = option(
        "also send the prompt to completions, and save that capture here", None, "FILE"
    )
    redact_text: bool = redacting()


def run(options: Record) -> int:
    """Record one request."""
    server = server_of(options, options.base_url)
    request = request_of(options, options.model or first_model(server, options.endpoint))
    registry = Registry(None)
    paths = [_free(options.out)]
    if options.and_truth:
        paths.append(_free(options.and_truth))
        if paths[0].resolve() == paths[1].resolve():
            raise StoreError(f"{paths[1]}: same file as --out; choose another name for --and-truth")
        files = (None, None) if options.redact_text else (paths[0], paths[1])
        runs = list(registry.start_both(server, request, paths=files))
    else:
        runs = [registry.start(server, request, path=None if options.redact_text else paths[0])]
    with progress() as step:
        step(lambda: count(sum(len(live_run.events) for live_run in runs), "event"))
        try:
            for live_run in runs:
                registry.wait(live_run)
        except KeyboardInterrupt:
            for live_run in runs:
                live_run.stop()
                registry.wait(live_run, 5.0)
    for live_run in runs:
        if live_run.trouble:
            raise StoreError(live_run.trouble)
    failed = [live_run for live_run in runs if live_run.outcome.failed and not live_run.events]
    if failed:
        for live_run, path in zip(runs, paths, strict=True):
            if not live_run.events and not options.redact_text:
                with suppress(OSError):
                    path.unlink()  # an empty capture would block the next attempt
        raise ConnectionFailed(failed[0].outcome.failure)
    standins = fresh() if options.redact_text else None
    for live_run, path in zip(runs, paths, strict=True):
        capture = live_run.capture()
        if standins is not None:
            capture = masked(capture, standins, name=str(path))
            save(capture, path)
        looked = inspect(capture, name=str(path))
        pace = live_run.pace()
        rate = "" if pace.tokens_per_s is None else f", {pace.tokens_per_s:,.0f} tokens/s"
        say(f"{path}: {count(len(live_run.events), 'event')}, {AuditResult(looked).tokens.words}{rate}")
        say(Verdict(f"  {looked.verdict.level.upper()}: {looked.verdict.sentence}"))
        for note in live_run.outcome.notes:
            say(f"  note: {note}")
        if live_run.outcome.failed:
            tell(f"inspector: {live_run.outcome.failure}")
    return int(any(live_run.outcome.failed for live_run in runs))


def _free(name: str) -> Path:
    """A path that can be written, checked before the request is sent."""
    path = Path(name)
    if path.exists():
        raise StoreError(f"{path}: file already exists; choose another name")
    if not path.parent.is_dir():
        raise StoreError(f"{path.parent}: no such folder; create it first")
    return path


COMMAND: Final = Command(Record, run, _EXAMPLE)
