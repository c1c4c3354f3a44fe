"""The Library page in a real browser: a row of its table opens in Replay, and a click narrows the filter."""

import re
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import FilePayload, Page, expect

from inspector.files.store import FIXTURES
from tests.browser.conftest import started
from tests.support.archives import scanned

LEAK = FIXTURES / "chat-tool-call-leak-vllm-0.14.1.jsonl"
FILTER = "version = '0.14.1' AND verdict = 'error' AND endpoint = 'chat' AND tokens > 5"


def test_a_filter_survives_a_reload_and_the_selected_row_opens_in_replay(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{app}library")
    heading, box = page.get_by_role("heading", level=1), page.get_by_role("textbox", name="Filter")
    expect(heading).to_contain_text("are damaged")
    expect(heading).not_to_contain_text("2 of 2")
    box.fill(FILTER)
    box.press("Enter")
    expect(heading).to_contain_text("2 of 2 responses")
    page.reload()
    expect(heading).to_contain_text("2 of 2 responses")
    expect(box).to_have_value(FILTER)
    page.get_by_role("cell", name="chat-tool-call-leak-vllm-0.14.1.jsonl", exact=True).click()
    page.wait_for_selector(".hi[data-ready]")
    expect(page).to_have_title(re.compile(r"^error: chat-tool-call-leak-vllm-0\.14\.1\.jsonl · Replay"))


def test_a_bar_and_a_row_narrow_the_filter_and_back_widens_it(
    app: str, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{app}library")
    heading, box = page.get_by_role("heading", level=1), page.get_by_role("textbox", name="Filter")
    expect(heading).to_contain_text("are damaged")
    whole = heading.inner_text()
    groups = page.get_by_role("table", name="Damaged captures of each group")
    groups.get_by_role("row").nth(1).click()
    expect(box).to_have_value("version = '0.13.0'")
    expect(heading).to_contain_text("2 of 8 responses")
    findings = page.get_by_role("table", name="Kinds of findings by the captures that have one")
    findings.get_by_role("row").nth(1).click()
    expect(box).to_have_value(re.compile(r"version = '0\.13\.0' AND finding\(kind = '\w+'\)"))
    page.go_back()
    expect(box).to_have_value("version = '0.13.0'")
    page.go_back()
    expect(box).to_have_value("")
    expect(heading).to_have_text(whole)


def test_a_place_that_is_typed_is_offered_by_its_name(
    app: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    scanned(tmp_path / "evals", LEAK)
    (tmp_path / "runs").mkdir()
    shutil.copy(LEAK, tmp_path / "runs")
    page = open_page()
    page.goto(f"{app}library")
    box = page.get_by_role("combobox", name="Scan")
    for name, words in (
        ("none", "no such folder or file"),
        ("evals", "1 of 1 response"),
        ("runs", "1 of 1 response"),
    ):
        box.click()
        box.fill(str(tmp_path / name))
        box.press("Enter")
        expect(page.get_by_test_id("stMain")).to_contain_text(words)
        if name != "none":
            page.wait_for_url(re.compile(f"scan={name}"))


def dropped(page: Page, name: str, files: Sequence[FilePayload] | Path) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(1500)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=name).filter(visible=True).first.click()
    chooser.value.set_files(files)


def counted(page: Page) -> dict[str, int]:
    """The table of what the clients got."""
    table = page.get_by_role("table", name="Captures by what the client got")
    expect(table).to_be_visible()
    cells = [row.inner_text().split("\t") for row in table.get_by_role("row").all()[1:]]
    return {first.strip(): int(last.strip()) for first, *_, last in cells}


def test_one_drop_of_many_files_leads_to_the_worst_capture(app: str, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.goto(app)
    page.wait_for_selector(".hi[data-ready]")
    files = [
        FilePayload(name=path.name, mimeType="", buffer=path.read_bytes())
        for path in FIXTURES.glob("*.jsonl")
    ]
    bad = [FilePayload(name=name, mimeType="", buffer=b"nothing") for name in ("notes.md", "stream")]
    dropped(page, "Open, drop or paste", [*files, *bad])
    page.wait_for_url(re.compile(r"/library\?scan=\d+(\+|%20)files"))
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"of {len(files)} responses")
    expect(page.get_by_text("2 files could not be read.")).to_be_visible()
    for name in ("notes.md", "stream"):
        expect(page.get_by_test_id("stAlert")).to_contain_text(name)
    counts = counted(page)
    assert sum(counts.values()) == len(files) + len(bad)
    assert counts["could not be read"] == len(bad)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"of {len(files)} responses")
    captures = page.get_by_role("table", name=re.compile("^Captures with"))
    captures.get_by_role("row").nth(1).get_by_role("button").click()
    page.wait_for_selector(".hi[data-ready]")
    expect(page).to_have_title(re.compile(r"^error: chat-\w.*swallowed.*Replay"))


def test_a_zip_and_a_folder_are_taken_as_they_are(
    app: str, open_page: Callable[..., Page], tmp_path: Path
) -> None:
    (tmp_path / "evals" / "deep").mkdir(parents=True)
    shutil.copy(LEAK, tmp_path / "evals" / "deep")
    (tmp_path / "evals" / ".hidden").write_text("x")
    log = ["INFO 11-26 started"] * 30 + ["ERROR Unexpected token 200002 while expecting start token 200006"]
    (tmp_path / "evals" / "server.log").write_text("\n".join(log))
    with zipfile.ZipFile(tmp_path / "runs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(LEAK, "a/leak.jsonl")
        archive.writestr("bomb.jsonl", bytes(64 * 2**20))
    page = open_page()
    page.goto(f"{app}library")
    content = (tmp_path / "runs.zip").read_bytes()
    dropped(page, "Choose files", [FilePayload(name="runs.zip", mimeType="", buffer=content)])
    page.wait_for_url(re.compile("scan=runs&"))
    assert counted(page) == {"broken tool call": 1, "could not be read": 1}
    expect(page.get_by_test_id("stAlert")).to_contain_text("bomb.jsonl: expands to 67,108,864 bytes")
    dropped(page, "Choose a folder", tmp_path / "evals")
    page.wait_for_url(re.compile("scan=evals"))
    assert counted(page) == {"broken tool call": 1, "could not be read": 1}
    captures = page.get_by_role("table", name=re.compile("^Captures with"))
    captures.get_by_role("button", name="server.log").click()
    page.wait_for_url(re.compile("/diagnose"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("emits <|return|>")


def test_the_example_is_there_without_a_scan(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    with started(tmp_path, "app.py") as address:
        page = open_page()
        page.goto(f"{address}library")
        expect(page.get_by_role("heading", level=1)).to_contain_text("of 4,800 responses are damaged")
        captures = page.get_by_role("table", name=re.compile("^Captures with"))
        captures.get_by_role("row").nth(1).get_by_role("button").click()
        page.wait_for_selector(".hi[data-ready]")
