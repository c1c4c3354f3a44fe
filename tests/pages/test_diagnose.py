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

import inspector
from inspector import Level
from inspector.inspection.triage import of_content
from inspector.issues import diagnosis_row
from pages.parts.diagnose import answers, source
from pages.ui.state import Session
from tests.support.pages import banner

ROOT = Path(__file__).parents[2]
LOG = gzip.decompress((ROOT / "fixtures" / "logs" / "vllm-0.13.0.log.gz").read_bytes())


def page(**query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "pages" / "diagnose.py"), default_timeout=180)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def titles(app: AppTest) -> list[str]:
    return [expander.label.replace("\\", "") for expander in app.expander]


def test_the_page_opens_with_a_place_to_paste() -> None:
    app = page()
    assert app.text_area[0].value == ""
    assert "Paste an error" in app.info[0].value


@pytest.mark.parametrize(
    ("example", "answer"),
    [
        ("under a benchmark", "1. ignore_eos, as benchmarks send it"),
        ("after a fine-tune", "1. A fine-tune learned"),
        ("with tools", "1. generation_config.json does not list 200012"),
        ("assistantary", "1. Tokens were lost between the role and"),
        ("leftover header", "1. "),
    ],
)
def test_an_example_is_diagnosed_on_a_click(example: str, answer: str) -> None:
    app = page()
    app.pills[0].set_value(example).run()
    assert not app.exception
    assert titles(app)[0].startswith(answer)


def test_an_unknown_failure_asks_for_the_log_and_opens_the_place_for_it() -> None:
    app = page()
    app.text_area[0].set_value("gpt-oss on vllm: openai.InternalServerError: a strange new thing").run()
    assert not app.exception
    why = banner(app)["why"]
    assert why.endswith("log for the same time.")
    assert "python -m" not in why
    app.button(key="diagnose_ask_log").click().run()
    assert not app.exception
    assert [box.label for box in app.file_uploader] == ["vLLM log"]


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
    assert len(app.code) == 3


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
    assert "harmony_parser.process(token_id)" in app.code[0].value


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
    assert answers.why(diagnosis) == diagnosis.answers[0].issue.steps[0].text
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
