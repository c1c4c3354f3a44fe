"""A process that only replays connects to nobody and reads no file of its machine for a visitor."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inspector.capture.errors import ConnectionFailed, InspectorError, StoreError
from inspector.capture.replay_only import REPLAY_ONLY_VARIABLE, UPLOAD_MB, replay_only, upload_mb
from inspector.commands.ui import COMMAND
from inspector.data.scan.jobs import ScanJobs
from inspector.data.scan.offers import EXAMPLE, SCANS_VARIABLE, offered_scans, typed_place
from inspector.data.scan.remote import download, open_url, remote_files
from inspector.files.store import FIXTURES
from inspector.fleet.doctor import check_server
from inspector.net.client.address import Server
from inspector.net.client.request import LiveRequest
from inspector.net.runs.registry import FOLDER_VARIABLE, Registry
from inspector.net.tap.dashboard import UPSTREAMS_VARIABLE, configured_upstreams
from tests.support.archives import scanned
from tests.support.raw_server import raw_server


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REPLAY_ONLY_VARIABLE, "1")


@pytest.mark.parametrize(("value", "on"), [("", False), ("0", False), ("1", True), ("true", True)])
def test_the_switch(value: str, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REPLAY_ONLY_VARIABLE, value)
    assert replay_only() is on
    assert upload_mb(1024) == (UPLOAD_MB if on else 1024)
    assert upload_mb(1) == 1


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1:8501/playback/v1", "http://localhost:8000/v1", "https://example.com/v1"),
        *("http://169.254.169.254/latest", "http://[::1]:8000", "example.com", "file:///etc/passwd", ""),
    ],
)
@pytest.mark.usefixtures("public")
def test_no_address_makes_a_server(address: str) -> None:
    with pytest.raises(ConnectionFailed, match="only replays and connects to no server"):
        Server(base_url=address)


@pytest.mark.usefixtures("public")
@pytest.mark.parametrize(
    "ask",
    [
        *(open_url, remote_files, lambda url: download(url, 1)),
        lambda url: check_server(Server(base_url=url)),
        lambda url: Registry(None).start(Server(base_url=url), LiveRequest(model="m")),
    ],
)
def test_a_server_that_listens_is_not_asked(ask: Callable[[str], object]) -> None:
    with raw_server({}) as server:
        with pytest.raises(ConnectionFailed, match="connects to no server"):
            ask(server.v1)
        assert server.asked == []


@pytest.mark.usefixtures("public")
def test_a_tap_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UPSTREAMS_VARIABLE, "main=http://127.0.0.1:8000")
    with pytest.raises(InspectorError, match="connects to no server"):
        configured_upstreams()


@pytest.mark.usefixtures("public")
def test_typed_places_are_rejected_alike_whether_they_exist_or_not(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/")
    sentences = set()
    for place in ("/", "/etc/passwd", "/no/such/place", "~", ".", "", "a\0b", str(FIXTURES), str(link)):
        with pytest.raises(StoreError) as error:
            typed_place(place)
        sentences.add(str(error.value))
    assert len(sentences) == 1, "otherwise the sentence says which files there are"


@pytest.mark.usefixtures("public")
def test_a_scan_reads_only_what_is_in_its_folder_and_the_built_in_captures(tmp_path: Path) -> None:
    folder, beside = tmp_path / "visitor", tmp_path / "other"
    for path in (folder, beside):
        path.mkdir()
        (path / "a.jsonl").write_bytes(next(FIXTURES.glob("*.jsonl")).read_bytes())
    (folder / "link").symlink_to(beside)
    jobs = ScanJobs()
    for place in (beside, folder / ".." / "other", folder / "link", "/", FIXTURES / "..", "s3://bucket/a"):
        with pytest.raises(StoreError, match="reads no files of its machine"):
            jobs.start([str(place)], folder)
    for place in (folder / "a.jsonl", FIXTURES / "chat-tool*.jsonl"):
        job = jobs.start([str(place)], folder)
        assert job.wait(60)
        assert (job.trouble, job.progress is not None) == ("", True)


def test_scans_of_the_machine_are_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = next(FIXTURES.glob("*.jsonl"))
    for name in ("captures/run", "operator/run", "visitor/run"):
        scanned(tmp_path / name, capture)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "captures"))
    monkeypatch.setenv(SCANS_VARIABLE, str(tmp_path / "operator"))
    own = tmp_path / "visitor"
    assert len(offered_scans([own])) == 4
    monkeypatch.setenv(REPLAY_ONLY_VARIABLE, "1")
    assert set(offered_scans([own]).values()) == {own / "run", EXAMPLE.resolve()}


def test_the_command_has_the_switch() -> None:
    assert COMMAND.parsed("ui", ["--replay-only"]).replay_only
    assert not COMMAND.parsed("ui", []).replay_only
