"""A disk that takes no recordings: responses are counted with the reason, said, and audited from memory."""

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from starlette.applications import Starlette

from inspector.capture.capture import Capture, End, render
from inspector.capture.errors import StoreError
from inspector.files.recording import UNWRITTEN, Memory, Recording, Unwritten
from inspector.fleet.watch import Keep, Retention, Watch
from inspector.fleet.watch.canary import Canary
from inspector.fleet.watch.redacting import RedactingSink
from inspector.fleet.watch.unrecorded import UnrecordedLog
from inspector.net.client.address import Server
from inspector.net.client.recorder import Sink
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import RUNS_KEPT, Registry
from inspector.net.tap import DashboardTap, FolderSink, parse_upstreams
from inspector.net.tap.dashboard import _ReportingSink
from tests.support.builtin import CAPTURES, TOOL
from tests.support.command import ROOT
from tests.support.counting_metrics import CountingMetrics, value
from tests.support.listening import listening
from tests.support.upstreams import raw

FOLDER_REMOVED = {"upstream": "up", "reason": "folder removed"}
FAULTS = {"disk full": (resource.RLIMIT_FSIZE, 700), "too many open files": (resource.RLIMIT_NOFILE, 0)}
PROGRAM = """
import resource, sys
from inspector.fleet.watch import Metrics, Retention, Watch
from tests.fleet.watch.test_unrecorded import recorded_by
from tests.support.builtin import CAPTURES, TOOL
from tests.support.counting_metrics import CountingMetrics, value
from inspector.net.tap import FolderSink
from functools import partial
from pathlib import Path
metrics = CountingMetrics()
watch = Watch(metrics, Retention(None), say=print)
ended, unwritten = partial(watch.ended, "up"), partial(watch.unwritten, "up")
sink = FolderSink(Path(sys.argv[1]), finished=ended, unwritten=unwritten)
watch._workers.submit(len, "").result()
limit, most = int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))
recorded_by(sink, CAPTURES[TOOL])
metrics.wait(1)
watch.close()
for metric in metrics.registry.collect():
    for sample in metric.samples:
        if sample.value and sample.name.endswith("_total"):
            print(sample.name, sample.labels.get("reason", sample.labels.get("outcome")), sample.value)
"""


def recorded_by(sink: Sink, capture: Capture, before_events: Callable[[], object] = lambda: None) -> None:
    run = sink.opened(capture.header)
    for number, event in enumerate(capture.events):
        sink.event(run, event)
        if number == 3:
            before_events()
    sink.ended(run, capture.end or End(at_s=1.0, cut=False))


@pytest.mark.slow
@pytest.mark.parametrize("reason", FAULTS)
def test_what_the_system_refuses_is_counted_said_and_audited(reason: str, tmp_path: Path) -> None:
    limit, max_size = FAULTS[reason]
    completed = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM, str(tmp_path), str(int(limit)), str(max_size)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=180,
        check=False,
    )
    label = {"disk full": "file too large"}.get(reason, reason)  # what RLIMIT_FSIZE gives
    assert f"unrecorded_responses_total {label} 1.0" in completed.stdout, completed.stdout + completed.stderr
    assert "responses_total damaged 1.0" in completed.stdout
    assert "unaudited" not in completed.stdout
    assert f"1 response not recorded ({label}: 1): " in completed.stdout
    assert completed.stderr == ""


@pytest.mark.parametrize("moment", ["before", "during"])
def test_a_removed_folder_is_counted_and_the_response_audited(moment: str, tmp_path: Path) -> None:
    metrics, lines, folder = CountingMetrics(), list[str](), tmp_path / "captures"
    watch = Watch(metrics, Retention(folder), say=lines.append)
    sink = FolderSink(folder, finished=partial(watch.ended, "up"), unwritten=partial(watch.unwritten, "up"))
    remove = partial(shutil.rmtree, folder, ignore_errors=True)
    if moment == "before":
        remove()
    recorded_by(sink, CAPTURES[TOOL], remove)
    metrics.wait(1)
    watch.close()
    assert value(metrics, "unrecorded_responses_total", **FOLDER_REMOVED) == 1
    assert value(metrics, "responses_total", outcome="damaged") == 1
    assert value(metrics, "unaudited_streams_total") == 0
    [line] = lines
    assert line.startswith("1 response not recorded (folder removed: 1): ")
    assert UNWRITTEN.take(UNWRITTEN.limit), "memory was not given back"
    UNWRITTEN.release(UNWRITTEN.limit)


def test_the_file_and_memory_together_are_the_whole_recording(tmp_path: Path) -> None:
    """Cut within a line by the disk, as one that is full does."""
    capture = CAPTURES[TOOL]
    for cut in (0, 5, len(capture.events)):
        recording = Recording(tmp_path / f"{cut}.jsonl", capture.header)
        recording.write(capture.events[:cut])
        assert recording._writer is not None
        recording._writer._file.write(b'{"t": 0.1, "da')
        recording.error = StoreError("full")
        for event in capture.events[cut:]:
            recording.write((event,))
        recording.end(capture.end or End(at_s=1.0, cut=False))
        unwritten = recording.unwritten()
        assert unwritten is not None
        complete = Recording(tmp_path / f"{cut}-whole.jsonl", capture.header)
        complete.write(capture.events)
        complete.end(capture.end or End(at_s=1.0, cut=False))
        assert unwritten.content == complete.path.read_bytes()
        unwritten.release()


def test_memory_is_bounded_and_what_it_does_not_hold_counts_as_not_audited(tmp_path: Path) -> None:
    memory, metrics = Memory(2000), CountingMetrics()
    recording = Recording(tmp_path / "gone" / "x.jsonl", CAPTURES[TOOL].header, memory=memory)
    recording.write(CAPTURES[TOOL].events)
    recording.end(End(at_s=1.0, cut=False))
    unwritten = recording.unwritten()
    assert unwritten is not None
    assert unwritten.content is None
    assert memory.take(2000), "memory was not given back"
    watch = Watch(metrics, Retention(None), say=lambda _: None)
    watch.unwritten("up", unwritten)
    watch.close()
    assert value(metrics, "unrecorded_responses_total", **FOLDER_REMOVED) == 1
    assert value(metrics, "unaudited_streams_total", upstream="up", reason="not recorded") == 1


def test_a_part_that_is_on_disk_goes_where_nothing_is_kept(tmp_path: Path) -> None:
    metrics, path = CountingMetrics(), tmp_path / "x.jsonl"
    path.write_text("a part")
    content = "\n".join(render(CAPTURES[TOOL])).encode()
    watch = Watch(metrics, Retention(tmp_path, Keep.NONE), say=lambda _: None)
    watch.unwritten("up", Unwritten(error=StoreError("full"), path=path, content=content))
    watch.close()
    assert not path.exists()


def test_the_dashboards_tap_counts_and_audits_what_its_folder_does_not_take(
    playback: str, tmp_path: Path
) -> None:
    metrics, lines = CountingMetrics(), list[str]()
    (tmp_path / "file").write_text("")
    registry = Registry(tmp_path / "file" / "captures")
    watch = Watch(metrics, Retention(registry.folder), say=lines.append)
    tap = DashboardTap(
        parse_upstreams(f"up={playback}"), registry, run_of=registry.get, watching=lambda: watch
    )
    body = {"model": TOOL, "stream": True, "return_token_ids": True}
    with listening(Starlette(middleware=tap.middleware, lifespan=tap.lifespan)) as at:
        assert raw(f"{at}/tap/up/v1/chat/completions", body)
        metrics.wait(1)
    watch.close()
    assert value(metrics, "unrecorded_responses_total", upstream="up") == 1
    assert value(metrics, "responses_total", outcome="damaged") == 1
    assert len(lines) == 1


def test_a_response_that_many_shorter_ones_overtake_is_audited(tmp_path: Path) -> None:
    """The registry forgets the oldest run in the call that ends it."""
    ended = list[object]()
    registry = Registry(tmp_path)
    sink = _ReportingSink(registry, ended.append, registry.get)
    capture = CAPTURES[TOOL]
    run = sink.opened(capture.header)
    shorter_runs = [sink.opened(capture.header) for _ in range(RUNS_KEPT)]
    for run_id in (shorter_runs[-1], run):
        sink.ended(run_id, End(at_s=1.0, cut=False))
    assert registry.get(run) is None, "this test shows nothing otherwise"
    for run_id in shorter_runs[:-1]:
        sink.ended(run_id, End(at_s=1.0, cut=False))
    assert ended[:2] == [tmp_path / f"{run_id}.jsonl" for run_id in (shorter_runs[-1], run)]


def test_a_redacting_tap_and_a_canary_count_it_too(playback: str, tmp_path: Path) -> None:
    metrics = CountingMetrics()
    watch = Watch(metrics, Retention(None), say=lambda _: None)
    folder = tmp_path / "captures"
    sink = RedactingSink(folder, unwritten=partial(watch.unwritten, "up"))
    canaries = [
        Canary(
            Server(base_url=playback),
            [LiveRequest(model=TOOL, prompt="hi")],
            tmp_path / "file" / "captures",
            watch,
            metrics,
            name=f"canary {redact}",
            redact=redact,
        )
        for redact in (False, True)
    ]
    (tmp_path / "file").write_text("")
    shutil.rmtree(folder)
    recorded_by(sink, CAPTURES[TOOL])
    for canary in canaries:
        canary.once()
    metrics.wait(3)
    sink.close()
    watch.close()
    for name in ("up", "canary False", "canary True"):
        assert value(metrics, "unrecorded_responses_total", upstream=name) == 1, name
        assert value(metrics, "responses_total", upstream=name, outcome="damaged") == 1, name
    assert value(metrics, "unaudited_streams_total") == 0


def test_a_line_a_minute_has_the_number_of_responses() -> None:
    lines, minutes = list[str](), list[Callable[[], None]]()
    log = UnrecordedLog(lines.append, later=minutes.append)
    full, missing = StoreError("a: full", errno=28), StoreError("b: gone", errno=2)
    for error in (full, full, full, missing):
        log.add(error)
    assert lines == ["1 response not recorded (disk full: 1): a: full"]
    minutes.pop()()
    assert lines[1:] == ["3 responses not recorded (disk full: 2, folder removed: 1): b: gone"]
    minutes.pop()()
    assert (len(lines), minutes) == (2, []), "nothing failed in that minute"
    log.add(missing)
    log.add(missing)
    log.flush()
    assert lines[2:] == ["1 response not recorded (folder removed: 1): b: gone"] * 2
