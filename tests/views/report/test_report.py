"""Reports hold what the audit found, load nothing, and hostile text stays text."""

import json
import os
import re
import shlex
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import explain
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.files.store import builtin, load, loads, save
from inspector.inspection.compare import compare
from inspector.inspection.inspection import Inspection, inspect
from inspector.protocol.harmony.vocab import encode
from inspector.views.audit_result import AuditResult
from inspector.views.report import html_report, markdown_report
from inspector.views.report.player import script
from tests.support.hostile import hostile
from tests.support.listening import free_port
from tests.support.streams import CLEAN, LEAK, Step, aborted, chat, chat_chunk

ROOT = Path(__file__).parents[3]
STORED = {row.name: row.path for row in builtin()}
ALLOWED = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "main",
    "noscript",
    "h1",
    "h2",
    "h3",
    "p",
    "dl",
    "dt",
    "dd",
    "strong",
    "b",
    "br",
    "small",
    "section",
    "header",
    "div",
    "span",
    "sub",
    "i",
    "ol",
    "ul",
    "li",
    "pre",
    "del",
    "ins",
    "figure",
    "svg",
    "polyline",
    "script",
    "canvas",
    "button",
    "figcaption",
    "details",
    "summary",
    "table",
    "tr",
    "th",
    "td",
}


class Page(HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "polyline":
            assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def stored(name: str) -> Inspection:
    return inspect(load(STORED[name]), name=f"/home/somebody/{name}.jsonl")


def read(page: str) -> Page:
    parsed = Page(page)
    assert parsed.open == []
    assert parsed.tags <= ALLOWED
    assert not any(
        name.startswith("on") or name in {"href", "src", "srcdoc"} for _, name, _ in parsed.attributes
    )
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    if scripts:  # the stream as data, in which no tag can begin, and our own player, which alone may run
        (kind, data), (_, player) = scripts
        assert "type='application/json'" in kind
        assert "<" not in data
        assert json.loads(data)["count"]
        assert player == script()
    digest = b64encode(sha256(script().encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'\"" in page
    return parsed


@pytest.mark.parametrize("name", STORED)
def test_a_page_of_a_real_capture_holds_verdict_findings_and_replay_and_loads_nothing(name: str) -> None:
    inspection = stored(name)
    html = html_report(inspection)
    page = read(html)
    assert "default-src 'none'" in html
    assert "url(" not in html
    result = AuditResult(inspection)
    words = [result.headline_with_prompt, result.fault, *result.prompt_warnings, result.readable or ""]
    assert [sentence for sentence in words if sentence not in page.text] == []
    joiner = {0x200D: "U+200D"}  # joins emoji; named, as any invisible character
    assert all(explain(finding).translate(joiner) in page.text for finding in inspection.findings[:20])
    assert f"python -m inspector audit {name}.jsonl" in page.text
    assert "/home/somebody" not in html


@pytest.mark.parametrize("name", STORED)
def test_a_bug_report_of_a_real_capture_names_no_folder(name: str) -> None:
    inspection = stored(name)
    text, result = markdown_report(inspection), AuditResult(inspection)
    assert text.startswith("**What happened:** ")
    notes = len(result.prompt_warnings) + bool(result.violations) + len(inspection.notes)
    assert text.count("\nNote: ") == notes
    assert "### Environment" in text
    assert f"python -m inspector play {name}.jsonl" in text
    assert "/home/somebody" not in text


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("C:\\logs\\run 7.txt", "'run 7.txt'"),
        ("stream.jsonl.gz", "stream.jsonl.gz"),
        ("export.har#2", "export.har-2.jsonl"),
        ("vllm-0.23.0-si3/chat-tool_call", "chat-tool_call.jsonl"),
        ("#", "-.jsonl"),
        ("", "capture.jsonl"),
    ],
)
def test_a_capture_that_is_no_file_is_replayed_under_the_name_of_its_download(name: str, file: str) -> None:
    text = markdown_report(replace(stored("chat-whole-vllm-0.14.1"), name=name))
    assert f"\npython -m inspector audit {file}\n" in text


def test_the_bug_report_ends_in_a_script_that_fails_as_it_says() -> None:
    text = markdown_report(stored("chat-unexpected-token-swallowed-vllm-0.32.0"))
    assert "### The shortest token list that still fails (3 tokens)" in text
    assert "`free-text-between-messages`" in text
    script = text.split("```python\n")[1].split("\n```")[0]
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=180, check=False)
    assert ran.returncode == 1
    assert b"Unexpected token 12606 while expecting start token 200006" in ran.stderr


def test_a_servers_loss_comes_with_the_command_that_has_a_real_server_repeat_it() -> None:
    text = markdown_report(stored("chat-tool-call-leak-vllm-0.14.1"))
    assert "python -m inspector lab serve --vllm 0.14.1 --stream-interval 3 --port 8000" in text
    assert "[[tokens 200005 35644 200008 23483 11122 13 200007]]" in text
    assert "- expected in `reasoning`: `  weather. `" in text
    assert "- `dropped token 21` (error)" in text


def test_texts_that_differ_and_are_right_are_not_called_equal() -> None:
    text = read(html_report(stored("completions-unexpected-token-200002-vllm-0.13.0"))).text
    assert "Complete, without what is not sent as text, according to token IDs." in text
    assert "Equal" not in text
    assert "Equal, according to token IDs." in read(html_report(inspect(chat(CLEAN)))).text


def test_a_list_of_token_ids_becomes_a_report() -> None:
    ids = loads(b"[200005, 35644, 200008, 976]", "ids.json")
    inspection = inspect(ids)
    assert "A list of token IDs has no delivered text." in read(html_report(inspection)).text
    assert "delivered:" not in markdown_report(inspection)


def test_texts_of_which_not_all_tokens_are_known_are_not_called_lost() -> None:
    steps: list[Step] = [("final<|message|>Hi", {"content": "Hi"}), ("", {"content": " there"})]
    text = read(html_report(inspect(chat(steps, version="0.12.0")))).text
    assert "Not all of the generated tokens are known." in text
    assert "not generated for this field" not in text


def test_a_report_has_the_texts_of_the_choice_that_is_wrong() -> None:
    ids = encode("<|channel|>final<|message|>Hi<|return|>")
    data = [
        *(
            chat_chunk(ids, {"content": text}, index=number, finish="stop")
            for number, text in enumerate(("Hi", ""))
        ),
        "[DONE]",
    ]
    inspection = inspect(replace(chat(CLEAN), events=[Event(text, 0.1) for text in data]))
    text = read(html_report(inspection)).text
    assert "choice 0, content" in text
    assert "choice 1, content" in text
    assert "Tokens and delivery of choice 1" in text
    assert "`choice 1, content`, generated according to token IDs" in markdown_report(inspection)


def test_a_report_says_how_many_choices_it_leaves_out() -> None:
    ids = encode("<|channel|>final<|message|>Hi<|return|>")

    def reports(*texts: str) -> tuple[str, str]:
        chunks = [
            chat_chunk(ids, {"content": text}, index=number, finish="stop")
            for number, text in enumerate(texts)
        ]
        inspection = inspect(replace(chat(CLEAN), events=[Event(text, 0.1) for text in [*chunks, "[DONE]"]]))
        return read(html_report(inspection)).text, markdown_report(inspection)

    page, issue = reports(*["Hi"] * 8)
    assert "more choice" not in page + issue
    page, issue = reports(*["Hi"] * 8, "")
    assert "choice 8, content" in page
    assert "and 1 more choice." in page
    assert "more choice" not in issue  # it has only what was delivered wrongly
    page, issue = reports(*["Hi"] * 3, *[""] * 10)
    assert "and 5 more choices, 2 of them with findings." in page
    assert "and the texts of 2 more choices with findings." in issue


def test_a_page_can_hold_how_it_compares() -> None:
    left, right = (
        inspect(chat(CLEAN, version="0.15.0"), name="a"),
        inspect(chat(LEAK, version="0.14.1"), name="b"),
    )
    comparison = compare(left, right)
    page = read(html_report(right, against=comparison))
    assert comparison.sentence in page.text
    assert comparison.sentence not in read(html_report(right)).text


def test_hostile_text_stays_text_in_the_page() -> None:
    html = html_report(hostile(), against=compare(hostile(), inspect(chat(CLEAN))))
    page = read(html)
    assert "<script>alert(1)</script>" in page.text
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "sk-secret" not in html
    assert "abcdefgh1234" not in html


def test_hostile_text_stays_in_code_in_the_bug_report() -> None:
    text = markdown_report(hostile())
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "sk-secret" not in text
    assert "abcdefgh1234" not in text
    outside, closing = [], None
    for line in text.split("\n"):
        stripped = line.lstrip("`")
        ticks = len(line) - len(stripped)
        if closing is None and ticks >= 3:
            closing = ticks
        elif closing is not None and ticks == closing and not stripped:
            closing = None
        elif closing is None:
            outside.append(line)
    assert closing is None
    for line in outside:
        if "<script>" in line or "onerror" in line or "@all" in line:
            assert "`" in line


TEXT = st.text(st.sampled_from("<>&`'\"\n \u202e\x00\ud800ab"), max_size=20)


@given(generated=TEXT, delivered=TEXT, name=TEXT)
def test_any_capture_becomes_a_page_and_a_bug_report(generated: str, delivered: str, name: str) -> None:
    spelled = generated.encode("utf-8", "replace").decode()
    chunk = {
        "choices": [
            {
                "index": 0,
                "delta": {"content": delivered, "reasoning": name},
                "token_ids": [*encode(f"<|channel|>final<|message|>{spelled}<|end|>"), 5, -3, 2**40],
            }
        ]
    }
    header = Header(endpoint=Endpoint.CHAT, request={name or "a": delivered}, status=200)
    inspection = inspect(Capture(header=header, events=[Event(json.dumps(chunk), 0.1)]), name=name)
    read(html_report(inspection))
    assert markdown_report(inspection).endswith("\n")


def test_a_page_of_many_tokens_stays_small() -> None:
    body = encode("word ") * 20_000
    data = json.dumps({"choices": [{"index": 0, "delta": {}, "token_ids": body}]})
    header = Header(endpoint=Endpoint.CHAT, status=200)
    begin = json.dumps(
        {"choices": [{"index": 0, "delta": {}, "token_ids": encode("<|channel|>final<|message|>")}]}
    )
    inspection = inspect(
        Capture(header=header, events=[Event(begin, 0.1), Event(data, 0.2), Event("[DONE]", 0.3)])
    )
    html = html_report(inspection)
    read(html)
    assert len(html) < 450_000  # half of it are token IDs and events, a fifth the player
    assert len(markdown_report(inspection)) < 200_000


def test_a_report_shows_the_token_that_was_never_sent() -> None:
    words = "Unexpected token 12606 while expecting start token 200006"
    inspection = inspect(aborted(["<|channel|>analysis<|message|>Hm"], words), name="x.jsonl")
    html, text = html_report(inspection), markdown_report(inspection)
    stream = json.loads(html.split("id='stream'>")[1].split("</script>")[0])
    assert [(cell["kind"], cell["id"]) for cell in stream["unsent"]] == [("gap", None), ("token", 12606)]
    assert stream["ids"][-1] == 12606
    assert "  - rejected, never sent: `comment`" in text
    assert f"  - parser: `{words}`" in text


def test_the_replay_commands_work_as_printed_on_the_page_and_on_the_command_line(tmp_path: Path) -> None:
    """Audit and play with the names that are printed; the lab's commands need a server and are left out."""
    for name in (
        "chat-tool-call-leak-vllm-0.14.1",
        "fixtures/chat-tool-call-leak-vllm-0.14.1.jsonl",
        "a b #2",
    ):
        capture = load(ROOT / "fixtures" / "chat-tool-call-leak-vllm-0.14.1.jsonl")
        section = markdown_report(inspect(capture, name=name)).split("### Replay\n")[1]
        script = section.split("```sh\n")[1].split("```")[0]
        commands = script.splitlines()
        audit, play, curl = (
            next(line for line in commands if word in line)
            for word in (" audit ", " play ", "localhost:8001")
        )
        assert script.startswith("# in the folder of the capture\n")
        file = shlex.split(audit)[-1]
        folder = tmp_path / name.replace("/", "_")
        folder.mkdir()
        save(capture, folder / file)
        completed = run(audit, folder)
        assert completed.returncode == 1
        assert "leaked 2 reasoning tokens" in completed.stdout
        port = str(free_port())
        with playing(play.replace("8001", port), folder):
            answer = run(curl.replace("8001", port), folder)
        assert '"content":" weather."' in answer.stdout.replace('": "', '":"')


def run(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    words = shlex.split(command)
    words[0] = sys.executable if words[0] == "python" else words[0]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@contextmanager
def playing(command: str, folder: Path) -> Iterator[None]:
    words = [sys.executable, *shlex.split(command)[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline()
            yield
        finally:
            server.terminate()
