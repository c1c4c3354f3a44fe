"""A pytest plugin: fixtures that serve and record gpt-oss streams, and a report of what was recorded.

pytest loads it wherever the distribution is installed, also for projects with a module `inspector` of their
own. So it is no part of the package, and imports that only for a test that asks for it: whichever `inspector`
is imported first is the one that all tests of the project get.
"""

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from inspector.capture.capture import Capture
    from inspector.net.client.transport import AsyncRecordingClient, RecordingClient
    from inspector.testing import HarmonyServer

__all__ = ["Recording"]

_ROWS = pytest.StashKey[list[dict[str, Any]]]()
_RECORDING = pytest.StashKey["Recording"]()
_WORKER = "harmony_rows"
_PACKAGE = Path(__file__).resolve().parent / "inspector"


def _stays_off() -> str:
    """A sentence if `inspector` is a module of the project, not the package beside this file; else empty."""
    try:
        spec = find_spec("inspector")
    except ValueError:  # a module that tests made up
        spec = None
    origin = None if spec is None else spec.origin
    if origin is not None and Path(origin).resolve().parent == _PACKAGE:
        return ""
    return f"harmony-inspector stays off, because `inspector` is {origin or 'another module'} here"


class Recording:
    """What the clients of one test received, as captures with chunk boundaries and times."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def http_client(self, **options: Any) -> "RecordingClient":
        """For `OpenAI(http_client=...)`; `options` are those of httpx.Client."""
        from inspector.net.client.transport import recording_client

        return recording_client(self._folder / "sync.jsonl", **options)

    def async_http_client(self, **options: Any) -> "AsyncRecordingClient":
        """For `AsyncOpenAI(http_client=...)`; `options` are those of httpx.AsyncClient."""
        from inspector.net.client.transport import async_recording_client

        return async_recording_client(self._folder / "async.jsonl", **options)

    @property
    def captures(self) -> "list[Capture]":
        """All responses so far, in the order in which they ended."""
        from inspector.files.store import load_all

        files = sorted(self._folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        return [capture for path in files for capture in load_all(path)]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    group = parser.getgroup("harmony", "gpt-oss (Harmony) streams")
    group.addoption(
        "--harmony-report",
        metavar="FILE",
        help="write the audit of every response that harmony_recording recorded, by test, as JSON",
    )
    group.addoption(
        "--harmony-captures",
        metavar="DIR",
        help="keep what harmony_recording recorded in a folder for each test, for `harmony-inspector audit`",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the report."""
    config.stash[_ROWS] = []
    if config.getoption("--harmony-report") and (sentence := _stays_off()):
        raise pytest.UsageError(sentence)


def pytest_report_header() -> str | None:
    """Say why the plugin stays off, if it does."""
    return _stays_off() or None


def _needs_the_package() -> None:
    if sentence := _stays_off():
        pytest.fail(sentence, pytrace=False)


@pytest.fixture(scope="session")
def _harmony_server() -> "Iterator[HarmonyServer]":
    _needs_the_package()
    from inspector.testing import serving

    with serving() as server:
        yield server


@pytest.fixture
def harmony_server(_harmony_server: "HarmonyServer") -> "HarmonyServer":
    """An OpenAI-compatible server on this machine that replays a gpt-oss stream, with faults on request."""
    _harmony_server.reset()
    return _harmony_server


@pytest.fixture
def harmony_recording(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Clients that record every response as a capture."""
    _needs_the_package()
    kept = request.config.getoption("--harmony-captures")
    recording = Recording(tmp_path_factory.mktemp("harmony") if kept is None else _folder(kept, request.node))
    request.node.stash[_RECORDING] = recording
    return recording


def _folder(kept: str, test: pytest.Item) -> Path:
    """A new folder for a test, whose name may hold any character; the same in each run in a new place."""
    folder = Path(kept) / re.sub(r"[^A-Za-z0-9_.=-]+", "-", test.name)[:80]
    try:
        Path(kept).mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            return Path(mkdtemp(prefix=f"{folder.name}-", dir=kept))
    except OSError as error:
        raise pytest.UsageError(f"--harmony-captures {kept}: cannot be written ({error.strerror})") from error
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Audit what a test recorded, and keep the rows with its outcome."""
    report: pytest.TestReport = yield  # type: ignore[assignment]
    if call.when == "call" and _RECORDING in item.stash and item.config.getoption("--harmony-report"):
        from inspector.inspection.inspection import inspect
        from inspector.views.rows import audit_dict

        rows = [audit_dict(inspect(capture)) for capture in item.stash[_RECORDING].captures]
        row = {"test": item.nodeid, "outcome": report.outcome, "captures": rows}
        item.config.stash[_ROWS].append(row)
    return report  # type: ignore[return-value]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report, or hand it to the process that started this worker (pytest-xdist)."""
    path, rows = session.config.getoption("--harmony-report"), session.config.stash[_ROWS]
    if path is None or _stays_off():
        return
    handed = getattr(session.config, "workeroutput", None)
    if handed is not None:
        handed[_WORKER] = json.dumps(rows)
        return
    from inspector.files.store import replacing

    with replacing(path, private=False) as file:
        file.write(json.dumps({"tests": rows}, indent=1).encode() + b"\n")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the rows of a worker that ended."""
    rows = json.loads(getattr(node, "workeroutput", {}).get(_WORKER, "[]"))
    node.config.stash[_ROWS].extend(rows)
