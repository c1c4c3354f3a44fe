"""The Diagnose page: what goes in, what is said, and that nothing of the input is read as markup."""

import gzip
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

import inspector
from inspector import Level
from inspector.inspection.triage import of_content
from inspector.issues import catalogue, diagnosis_row
from pages.parts.diagnose import answers, source
from pages.ui.state import Session
from tests.support.pages import banner

ROOT = Path(__file__).parents[2]
LOG = gzip.decompress((ROOT / "fixtures" / "logs" / "vllm-0.13.0.log.gz").read_bytes())


def page(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "frame.py"), default_timeout=180)
    for name, value in query.items():
        app.query_params[name] = value
    app.switch_page("diagnose.py").run()
    assert not app.exception
    return app


def titles(app: AppTest) -> list[str]:
    return [expander.label.replace("\\", "") for expander in app.expander]


def test_the_page_opens_with_a_place_to_paste_and_the_frequent_messages() -> None:
    app = page()
    assert app.text_area[0].value == ""
    assert len(cards(app)) == len(source.FREQUENT) == 5


def cards(app: AppTest) -> list[Button]:
    return [button for button in app.button if (button.key or "").startswith("diagnose_card_")]


def test_the_frequent_messages_are_those_with_the_most_public_threads() -> None:
    entries = [issue for issue in catalogue() if not issue.general]

    def threads(text: str) -> set[str]:
        matching = [
            issue
            for issue in entries
            if any(pattern.literal in text and pattern.expression.search(text) for pattern in issue.patterns)
        ]
        return {link for issue in matching for link in issue.links if "/pull/" not in link}

    by_text = {
        text: threads(text)
        for issue in entries
        for text in issue.examples
        if "\n" not in text and len(text) < 160
    }
    counted: set[str] = set()
    frequent: dict[str, int] = {}
    while len(frequent) < 5:  # a thread counts for one message
        text = max(by_text, key=lambda text: len(by_text[text] - counted))
        frequent[text] = len(by_text[text] - counted)
        counted |= by_text[text]
    assert frequent == source.FREQUENT


@pytest.mark.parametrize(
    ("place", "answer"),
    [
        (0, "1. The accelerator computes wrong tokens"),
        (1, "1. The model closes a message with"),
        (2, "1. "),
        (3, "1. Tool calls arrive as content"),
        (4, "1. "),
    ],
)
def test_a_frequent_message_is_diagnosed_on_a_click(place: int, answer: str) -> None:
    app = page()
    cards(app)[place].click().run()
    assert not app.exception
    assert titles(app)[0].startswith(answer)
    app.text_area[0].set_value("HarmonyError: Unknown role: final").run()
    assert cards(app) == []


def test_a_release_that_is_cleared_leads_to_its_row_of_the_matrix() -> None:
    app = page()
    app.text_area[0].set_value("empty tool calls on 0.33").run()
    assert not app.exception
    assert banner(app)["sentence"].startswith("Not your version: vLLM 0.33.0 delivers all 25 chat scripts")
    assert titles(app)[0].startswith("Tool calls arrive as content, or not at all")
    [link] = app.get("page_link")
    assert link.proto.query_string == "endpoint=chat&class=calls&release=0.33.0"


def test_an_unknown_failure_asks_for_the_log_and_opens_the_place_for_it() -> None:
    app = page()
    app.text_area[0].set_value("gpt-oss on vllm: openai.InternalServerError: a strange new thing").run()
    assert not app.exception
    why = banner(app)["why"]
    assert why.endswith("log for the same time.")
    assert "python -m" not in why
    app.button(key="diagnose_ask_log").click().run()
    assert not app.exception
    assert "vLLM log" in [box.label for box in app.file_uploader]


def test_pasted_text_is_diagnosed() -> None:
    app = page()
    app.text_area[0].input("HarmonyError: Unknown role: final").run()
    assert titles(app)[0] == "1. A header begins with a word that is not a role"


def test_a_failing_line_is_shown_as_it_is_and_not_as_markup() -> None:
    hostile = "Unknown role: [x](javascript:alert(1))**bold**<img/src=x>$x^2$"
    app = page()
    app.text_area[0].input(hostile).run()
    assert not app.exception
    for element in (*app.markdown, *app.caption):
        assert not re.search(r"(?<!\\)(?:\]\(javascript|\*\*bold|<img|\$x)", element.value)


def test_a_capture_in_the_address_bar_is_diagnosed() -> None:
    app = page(capture="chat-tool-call-leak-vllm-0.14.1")
    assert titles(app)[0] == "1. Text of an engine step that spans two messages is filed under one channel"
    assert "known issue: chat-stream-multi-channel-chunk" in [
        element.value.replace("\\", "") for element in app.caption
    ]


def test_unknown_failure_shows_the_closest_issues_as_no_match() -> None:
    app = page()
    app.text_area[0].input("vLLM 0.32.0, gpt-oss: RuntimeError: the moon is in the seventh house").run()
    assert not app.exception
    assert len(titles(app)) == 3
    assert any(caption.value.startswith("No match:") for caption in app.caption)
    assert sum(element.value == "**To settle it**" for element in app.markdown) == 3


def test_upload_limit_of_the_server_allows_a_log() -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert config["server"]["maxUploadSize"] >= source.LOG_LIMIT_MB


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
def test_a_log_is_read_plain_and_packed(pack: Callable[[bytes], bytes]) -> None:
    app = page()
    app.segmented_control[0].set_value("Log").run()
    app.file_uploader[0].set_value(("vllm.log", pack(LOG), "text/plain")).run()
    assert not app.exception
    assert titles(app)[0].startswith("1. generation_config.json does not list 200012")
    table = app.dataframe[0].value
    assert list(table.columns) == ["times", "share", "message", "known issue"]
    assert table["times"][0] == 4
    assert "\x1b" not in "".join(element.value for element in app.code)
    assert any("harmony_parser.process(token_id)" in element.value for element in app.code)


def test_a_log_that_was_opened_on_replay_is_read_without_another_upload() -> None:
    app = AppTest.from_file(str(ROOT / "pages" / "diagnose.py"), default_timeout=180)
    app.session_state["inspector"] = Session(log=("vllm.log", LOG))
    app.session_state["diagnose_kind"] = "Log"
    app.run()
    assert not app.exception
    assert titles(app)
    assert any(element.value.replace("\\", "").startswith("Showing vllm.log") for element in app.caption)


def test_damaged_log_is_one_error() -> None:
    app = page()
    app.segmented_control[0].set_value("Log").run()
    app.file_uploader[0].set_value(("my_vllm.log.gz", gzip.compress(LOG)[:-20], "text/plain")).run()
    assert not app.exception
    [error] = app.error
    assert error.value.replace("\\", "").startswith("my_vllm.log.gz: the gzip file is damaged")


def test_the_facts_of_a_log_name_version_lines_and_requests() -> None:
    diagnosis = inspector.diagnose_text(LOG.decode().splitlines())
    chips = [" ".join(fact).strip() for fact in answers.facts(diagnosis)]
    assert chips[:2] == ["vLLM 0.13.0 by start-up line", "896 lines"]
    assert "22 /v1/responses" in chips


def test_level_of_known_unknown_and_empty_texts() -> None:
    diagnosis = inspector.diagnose_text("Unknown role: final")
    unknown = inspector.diagnose_text("ValueError: nobody knows")
    nothing = inspector.diagnose_text("all is well")
    assert [answers.level(diagnosis) for diagnosis in (diagnosis, unknown, nothing)] == [
        Level.ERROR,
        Level.UNKNOWN,
        Level.UNKNOWN,
    ]
    assert answers.why(diagnosis) == ""
    assert answers.fix(diagnosis)[0].text == diagnosis.answers[0].issue.steps[0].text
    assert answers.why(unknown).startswith("Nothing in this text is from vLLM")
    assert answers.why(nothing).startswith("Paste the error line")


@pytest.mark.parametrize(
    ("text", "level", "advice"),
    [
        ("content is null", Level.UNKNOWN, "To settle it"),
        ("ollama run gpt-oss:20b fails with tools", Level.WARNING, "What to do"),
        ("(EngineCore pid=1) ERROR EngineCore failed to start.", Level.WARNING, "What to do"),
    ],
)
def test_texts_without_an_entry_say_what_to_do(text: str, level: Level, advice: str) -> None:
    assert answers.level(inspector.diagnose_text(text)) is level
    app = page()
    app.text_area[0].input(text).run()
    assert not app.exception
    assert any(advice in element.value for element in app.markdown)


def test_the_page_shows_the_confidence_of_the_match() -> None:
    app = page()
    app.text_area[0].input("Unexpected token 12606 while expecting start token 200006").run()
    assert any("match: medium" in element.value for element in app.markdown)


def test_the_download_is_what_the_command_prints() -> None:
    diagnosis = inspector.diagnose_text("Unknown role: final")
    row = diagnosis_row("dashboard", diagnosis)
    assert json.loads(json.dumps(row))["answers"][0]["id"] == "unknown-role-other"


def test_a_pasted_response_is_diagnosed_as_the_command_does_and_opens_in_replay() -> None:
    content = (ROOT / "fixtures" / "responses-dropped-tokens-vllm-0.13.0.jsonl").read_text("utf-8")
    app = page()
    app.text_area[0].input(content).run()
    assert not app.exception
    assert titles(app)[0].startswith("1. Responses deltas lack tokens")
    assert "diagnose_open" in {button.key for button in app.button}
    app.text_area[0].input("HarmonyError: Unknown role: final").run()
    assert "diagnose_open" not in {button.key for button in app.button}


def test_several_pasted_captures_get_one_sentence() -> None:
    content = (ROOT / "fixtures" / "chat-whole-vllm-0.14.1.jsonl").read_text("utf-8")
    app = page()
    app.text_area[0].input(content + content).run()
    assert "split the file" in app.error[0].value


def test_level_of_a_capture_without_evidence_is_unknown() -> None:
    message = {"role": "assistant", "content": "Hello."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    dump = json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]})
    diagnosis, _ = of_content(dump.encode(), "dump")
    assert answers.level(diagnosis) is Level.UNKNOWN


def test_the_text_is_still_there_when_the_page_is_opened_again() -> None:
    before = page()
    before.text_area[0].input("HarmonyError: Unknown role: final").run()
    app = AppTest.from_file(str(ROOT / "pages" / "diagnose.py"), default_timeout=180)
    app.session_state["inspector"] = before.session_state["inspector"]  # all that another page leaves
    app.run()
    assert not app.exception
    assert app.text_area[0].value == "HarmonyError: Unknown role: final"
    assert titles(app)[0] == "1. A header begins with a word that is not a role"
