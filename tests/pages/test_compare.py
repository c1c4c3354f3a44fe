"""The Compare page, without a browser: what it says and sends for pairs of captures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import inspector
from inspector.files.store import builtin
from pages.ui.charts import both_over_time
from tests.support.pages import as_file, banner, drawn
from tests.support.streams import CLEAN, LEAK, chat, long_answer
from tests.support.strips import unpacked

PAGE = str(Path(__file__).parents[2] / "pages" / "compare.py")


def page(**query: str) -> AppTest:
    app = AppTest.from_file(PAGE, default_timeout=120)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def rows(app: AppTest) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(drawn(app, "fields").json)[0]["rows"]
    return rows


def sides(app: AppTest) -> list[str]:
    """The captures that stand in the pickers and in the address, which agree."""
    selected = [app.selectbox(key=f"compare_{side}").value for side in ("left", "right")]
    linked = [app.query_params[side] for side in ("left", "right")]
    assert [name[0] if isinstance(name, list) else name for name in linked] == selected
    return selected


def test_the_page_opens_on_one_script_and_two_versions() -> None:
    app = page()
    verdict = banner(app)
    assert verdict["sentence"].startswith("The tokens are the same; 0.13.0 lost 2 tokens of the reasoning")
    assert verdict["level"] == "error"
    head, _, payload = drawn(app, "strip").bytes.partition(b"\n")
    assert json.loads(head)["token"] == 4
    servers = [picture["server"] for picture in unpacked(payload)["pipelines"]]
    assert servers == ["vLLM 0.13.0", "vLLM 0.14.1"]
    assert [row["equal"] for row in rows(app)] == [True, False, True, True]
    assert app.query_params["left"] == "chat-tool-call-dropped-vllm-0.13.0"


def test_the_chosen_token_shows_the_event_that_brought_it_on_each_side() -> None:
    (raw,) = json.loads(drawn(page(), "raw").json)
    assert raw["cell"] == 4
    assert [(event["side"], event["event"], event["more"]) for event in raw["events"]] == [
        ("left", 3, 0),
        ("right", 3, 0),
    ]
    assert [json.loads(event["text"])["choices"][0]["token_ids"] for event in raw["events"]] == [
        [11122, 13, 200007]
    ] * 2


def test_a_link_opens_its_pair_and_final_texts_make_two_strips() -> None:
    app = page(left="responses-dropped-tokens-vllm-0.13.0", right="responses-whole-vllm-0.14.1")
    assert "only 0.13.0 lost 21 characters of the reasoning" in banner(app)["sentence"]
    strips = [
        component
        for component in app.get("bidi_component")
        if component.proto.component_name == "inspector_strip"
    ]
    assert len(strips) == 2
    assert [text.value for text in app.caption][:2] == ["left: vLLM 0.13.0", "right: vLLM 0.14.1"]


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_link_to_a_capture_that_is_gone_compares_nothing_else_in_its_place(side: str) -> None:
    app = page(**{side: "<script>"})
    assert "not found" in app.warning[0].value
    assert not [
        component
        for component in app.get("bidi_component")
        if component.proto.component_name == "inspector_banner"
    ]
    assert "<script>" in app.query_params[side], "a reload says it again"
    app.selectbox(key=f"compare_{side}").set_value("chat-whole-vllm-0.14.1").run()
    assert not app.warning
    assert "sentence" in banner(app)


def test_uploaded_captures_can_be_compared() -> None:
    app = page()
    files = [
        ("good.jsonl", chat(CLEAN, version="1.0.0")),
        ("leak.jsonl", chat(LEAK, version="0.9.0")),
    ]
    app.file_uploader[0].set_value(
        [(name, as_file(capture), "application/octet-stream") for name, capture in files]
    )
    app.run()
    assert not app.exception
    assert sides(app) == ["good.jsonl", "leak.jsonl"], "two files become left and right without a click"
    assert banner(app)["sentence"] == (
        "The tokens are the same; only 0.9.0 leaked 2 reasoning tokens into the answer."
    )
    app.selectbox(key="compare_right").set_value("chat-tool-call-leak-vllm-0.14.1").run()
    assert sides(app) == ["good.jsonl", "chat-tool-call-leak-vllm-0.14.1"], "a choice holds: files act once"


def test_files_that_come_one_by_one_take_the_left_side_then_the_right() -> None:
    app = page()
    files = [(name, as_file(chat(CLEAN, version=name)), "") for name in ("a.jsonl", "b.jsonl", "c.jsonl")]
    for count, expected in enumerate(
        (
            ["a.jsonl", "chat-tool-call-leak-vllm-0.14.1"],
            ["a.jsonl", "b.jsonl"],
            ["a.jsonl", "c.jsonl"],
        )
    ):
        app.file_uploader[0].set_value([files[count]]).run()
        assert not app.exception
        assert sides(app) == expected


def test_files_uploaded_while_servers_are_asked_are_compared() -> None:
    app = page()
    app.segmented_control(key="compare_from").set_value("Ask two servers").run()
    files = [(name, as_file(chat(CLEAN, version=name)), "") for name in ("a.jsonl", "b.jsonl")]
    app.file_uploader[0].set_value(files).run()
    assert not app.exception
    assert sides(app) == ["a.jsonl", "b.jsonl"]


def test_swap_exchanges_the_sides() -> None:
    app = page()
    before = sides(app)
    app.button(key="compare_swap").click().run()
    assert not app.exception
    assert sides(app) == before[::-1]
    assert "0.14.1 leaked 2 reasoning tokens" in banner(app)["sentence"].split(", and")[0]


def test_every_pair_with_the_first_capture_is_drawn() -> None:
    names = [row.name for row in builtin()]
    app = page(left=names[0], right=names[0])
    assert banner(app)["level"] == "warning"
    for name in names[1:]:
        app.selectbox(key="compare_right").set_value(name)
        app.run()
        assert not app.exception
        assert banner(app)["sentence"]


def test_both_sides_are_drawn_on_one_axis_of_time() -> None:
    sides = [
        (name, inspector.inspect(chat(CLEAN, gap_s=gap_s)).reading)
        for name, gap_s in (("a", 0.5), ("b", 0.25))
    ]
    figure = both_over_time(sides, "light")
    assert figure is not None
    totals, waits, sizes = figure.data[:3]
    count = len(sides[0][1].choice.tokens)
    assert totals.y[-1] == sum(sizes.y) == count
    assert set(waits.y[1:]) == {500.0}
    assert set(figure.data[4].y[1:]) == {250.0}
    assert [trace.name for trace in figure.data] == ["a"] * 3 + ["b"] * 3
    ids = inspector.loads(b"[200005, 35644]", "ids.json")
    assert both_over_time([("ids alone", inspector.inspect(ids).reading)], "dark") is None


def test_long_equal_stretches_can_be_folded() -> None:
    app = page()
    assert not app.toggle
    captures = [("left.jsonl", long_answer()), ("right.jsonl", long_answer(lost=350))]
    app.file_uploader[0].set_value(
        [(name, as_file(capture), "application/octet-stream") for name, capture in captures]
    )
    app.run()
    [fold] = app.toggle
    assert re.fullmatch(r"Collapse 3\d\d equal tokens far from any difference", fold.label)
    counts = []
    for folded in (False, True):
        app.toggle[0].set_value(folded).run()
        assert not app.exception
        _, _, payload = drawn(app, "strip").bytes.partition(b"\n")
        counts.append(unpacked(payload)["count"])
    assert counts[0] == 404
    assert counts[1] == 404 - int(fold.label.split()[1])


def test_prompts_are_compared_by_their_first_token_that_differs() -> None:
    app = AppTest.from_file(PAGE, default_timeout=120)
    app.query_params["left"] = "chat-whole-vllm-0.14.1"
    app.query_params["right"] = "chat-raw-harmony-in-history-vllm-0.32.0"
    app.session_state["compare_prompts"] = True
    app.run()
    assert not app.exception
    assert app.expander[0].label.startswith("Prompts: ")
    assert app.expander[0].label.endswith(" tokens, different from token 35 on")
    assert [element for element in app.text if "in message 0 (system)" in element.value]
    prompts = [
        component.proto
        for component in app.get("bidi_component")
        if component.proto.component_name == "inspector_prompt"
    ]
    assert [json.loads(prompt.json)["blocks"][0]["notes"] for prompt in prompts] == [
        ["Token 35 is the first that differs."]
    ] * 2


def test_equal_prompts_are_one_line() -> None:
    assert page().expander[0].label == "Prompts: the same 205 tokens on both sides"
