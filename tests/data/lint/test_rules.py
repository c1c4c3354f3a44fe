"""Each rule: what breaks it, where, and what does not."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inspector.data.lint import RULES, Column, Form, LintFinding, LintReport, Rule, lint
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import encode, encode_plain

USER = "<|start|>user<|message|>Hi<|end|>"
ANALYSIS = "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>Hello."
CALL = '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}'
RESULT = "<|start|>functions.f to=assistant<|channel|>commentary<|message|>1<|end|>"
SYSTEM = "<|start|>system<|message|>You are ChatGPT.<|end|>"


def report_of(tmp_path: Path, rows: Sequence[Any], *columns: Column, **options: Any) -> LintReport:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return lint(path, columns=columns, **options)


def findings(tmp_path: Path, *rows: Any, **options: Any) -> list[LintFinding]:
    return list(report_of(tmp_path, rows, **options).findings)


BROKEN_TEXT = [
    (Rule.DOUBLE_TERMINATOR, f"{USER}{FINAL}<|end|><|return|>", "<|return|>"),
    (Rule.DOUBLE_TERMINATOR, f"{USER}{FINAL}<|return|><|return|>", "<|return|>"),
    (Rule.DOUBLE_TERMINATOR, f"{USER}{CALL}<|call|><|end|>{RESULT}{FINAL}<|return|>", "<|end|>"),
    (Rule.REJECTED_TOKEN, f"{USER}\n{FINAL}<|return|>", "\n"),
    (Rule.REJECTED_TOKEN, f"{USER}{FINAL}<|return|>\n", "\n"),
    (Rule.REJECTED_HEADER, f"{USER}<|start|>Assistant<|channel|>final<|message|>x<|return|>", "<|start|>Ass"),
    (
        Rule.REJECTED_HEADER,
        f"{USER}<|start|>assistant<|channel|>commentary <|constrain|>json to=f.g<|message|>{{}}<|call|>",
        "<|start|>assistant",
    ),
    (
        Rule.REJECTED_HEADER,
        f"{USER}{CALL}<|call|><|start|>functions.f<|channel|>commentary<|message|>1<|end|>",
        "<|start|>functions.f<",
    ),
    (
        Rule.REJECTED_HEADER,
        f"{USER}<|start|>assistant<|channel|>final Hello.<|return|>",
        "<|start|>assistant",
    ),
    (Rule.SPECIAL_TOKEN_IN_BODY, f"{USER.removesuffix('<|end|>')}{FINAL}<|end|>", "<|start|>assistant"),
    (Rule.MISPLACED_RETURN, f"{USER}{FINAL}<|return|>{USER}{FINAL}<|return|>", "<|return|><|start|>user"),
    (Rule.MISPLACED_RETURN, f"{USER}{ANALYSIS[:-7]}<|return|>{FINAL}<|return|>", "<|return|><|start|>assist"),
    (
        Rule.CALL_WITHOUT_CALL_TOKEN,
        f"{USER}{CALL}<|end|>{RESULT}{FINAL}<|return|>",
        "<|end|><|start|>functions",
    ),
    (Rule.CALL_TOKEN_WITHOUT_CALL, f"{USER}{FINAL}<|call|>", "<|call|>"),
    (Rule.TRUNCATED, f"{USER}{FINAL}", "."),
    (Rule.TRUNCATED, f"{USER}<|start|>assistant<|channel|>comm", "comm"),
    (Rule.TRUNCATED, f"{USER}<|start|>", "<|start|>"),
    (Rule.EMPTY_FINAL, f"{USER}{FINAL[:-6]} \n<|return|>", "<|start|>assistant"),
    (Rule.MISSING_FINAL, f"{USER}{ANALYSIS}", "<|start|>assistant"),
    (Rule.MISSING_CHANNEL, f"{USER}<|start|>assistant<|message|>Hello.<|end|>", "<|start|>assistant"),
    (Rule.UNKNOWN_CHANNEL, f"{USER}{FINAL.replace('final', 'answer')}<|end|>", "<|start|>assistant"),
    (Rule.RECIPIENT_SPELLING, f"{USER}{CALL.replace('functions.', '')}<|call|>", "<|start|>assistant"),
    (
        Rule.CONSTRAIN_SPELLING,
        f"{USER}<|start|>assistant<|channel|>commentary <|constrain|>json<|message|>{{}}<|call|>",
        "<|start|>assistant",
    ),
    (Rule.CALL_ON_FINAL, f"{USER}{CALL.replace('commentary', 'final')}<|call|>", "<|start|>assistant"),
    (Rule.ANALYSIS_KEPT, f"{USER}{ANALYSIS}{FINAL}<|end|>{USER}{FINAL}<|return|>", "<|start|>assistant"),
]


@pytest.mark.parametrize("form", [Form.TEXT, Form.IDS])
@pytest.mark.parametrize(("rule", "text", "place"), BROKEN_TEXT, ids=lambda value: str(value)[:40])
def test_a_rendered_row_that_breaks_a_rule_has_one_finding_at_its_place(
    tmp_path: Path, rule: Rule, text: str, place: str, form: Form
) -> None:
    ids = encode(SYSTEM + text)
    row = {"text": SYSTEM + text} if form is Form.TEXT else {"input_ids": ids}
    (finding,) = findings(tmp_path, row)
    assert (finding.rule, finding.row, finding.column) == (rule, 1, next(iter(row)))
    assert finding.at is not None
    from_place = (SYSTEM + text)[finding.at :] if form is Form.TEXT else text_of(ids[finding.at :])
    assert from_place.startswith(place)


CLEAN_TEXT = [
    f"{SYSTEM}{USER}{FINAL}<|return|>",
    f"{SYSTEM}{USER}<|start|>assistant",
    f"{SYSTEM}{USER}<|start|>assistant<|channel|>analysis<|message|>",
    f"{SYSTEM}{USER}{ANALYSIS}{CALL}<|call|>",
    f"{SYSTEM}{USER}{ANALYSIS}{CALL}<|call|>{RESULT}<|start|>assistant",
    f"{SYSTEM}{USER}{ANALYSIS}<|start|>assistant",
    f"{SYSTEM}{USER}{ANALYSIS}{FINAL}<|return|>",
    # the chat template of gpt-oss writes a call like this
    f"{SYSTEM}{USER}<|start|>assistant to=functions.f<|channel|>commentary json<|message|>{{}}<|call|>"
    f"{RESULT}{FINAL}<|return|>",
    # the model writes a structured answer like this
    f"{SYSTEM}{USER}<|start|>assistant<|channel|>final <|constrain|>json<|message|>{{}}<|return|>",
    f"{SYSTEM}{USER}{CALL.replace('functions.f', 'python').replace('commentary', 'analysis')}<|call|>",
    f"{SYSTEM}{USER}{FINAL}<|return|>{SYSTEM}{USER}{FINAL}<|return|>",
    f"{SYSTEM}{USER.replace('Hi', 'What is <|im_end|> and |channel|?')}{FINAL}<|return|>",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.<|return|>",
    "The analysis of the final report: `assistantfinal` begins a transcript. The assistant finalized it.",
    "analysis is a word, as are assistant and final.",
]


@pytest.mark.parametrize("text", CLEAN_TEXT, ids=lambda text: text[-40:])
def test_a_sound_row_has_no_finding(tmp_path: Path, text: str) -> None:
    assert findings(tmp_path, {"text": text}) == []


def test_two_breaches_are_two_findings_in_token_order(tmp_path: Path) -> None:
    breaches = findings(tmp_path, {"text": f"{USER}{FINAL}<|call|>{USER}\n{FINAL}"})
    assert [finding.rule for finding in breaches] == [
        Rule.CALL_TOKEN_WITHOUT_CALL,
        Rule.REJECTED_TOKEN,
        Rule.TRUNCATED,
    ]


def test_ordinary_tokens_that_spell_a_special_token(tmp_path: Path) -> None:
    text = f"{USER}{FINAL}<|return|>"
    (finding,) = findings(tmp_path, {"input_ids": encode_plain(text)})
    assert (finding.rule, finding.at) == (Rule.SPELLED_SPECIAL_TOKEN, 0)
    assert "spells 7 special tokens" in finding.note
    head, tail = encode(f"{USER}{FINAL}"), encode_plain(" See <|channel|>.")
    (inside,) = findings(tmp_path, {"input_ids": [*head, *tail, 200002]})
    assert inside.rule is Rule.SPELLED_SPECIAL_TOKEN
    assert len(head) < (inside.at or 0) < len(head) + len(tail)
    assert inside.excerpt.startswith("<|channel|>")


def test_ordinary_tokens_that_spell_a_special_token_in_a_header(tmp_path: Path) -> None:
    developer = [200006, 1428, 200008, 12194, 200007]
    ids = [*developer, 200006, 173781, 27, 91, 21453, 91, 29, 17196, 200008, 13225, 200002]
    (finding,) = findings(tmp_path, {"input_ids": ids})
    assert (finding.rule, finding.message, finding.at) == (Rule.SPELLED_SPECIAL_TOKEN, 1, 7)


@pytest.mark.parametrize("form", [Form.TEXT, Form.IDS])
@pytest.mark.parametrize("cut", ["assistant", "<|channel|>", "analysis", "<|message|>"])
def test_a_completion_goes_on_wherever_the_header_of_its_prompt_ends(
    tmp_path: Path, cut: str, form: Form
) -> None:
    completion = f"{ANALYSIS}{FINAL}<|return|>"
    for text in (completion.partition(cut)[2], cut + completion.partition(cut)[2]):
        row = {"completion": text} if form is Form.TEXT else {"completion": encode(text)}
        assert findings(tmp_path, row) == []
    (finding,) = findings(
        tmp_path, {"completion": completion.partition(cut)[2].replace("<|end|>", "<|end|>\n", 1)}
    )
    assert finding.rule is Rule.REJECTED_TOKEN


def test_characters_of_several_tokens_do_not_move_the_place(tmp_path: Path) -> None:
    text = f"{USER.replace('Hi', '👋🏽 Größe 日本')}{FINAL}<|end|><|return|>"
    (finding,) = findings(tmp_path, {"text": text})
    assert finding.at == text.rindex("<|return|>")


def test_an_answer_that_ends_in_end_is_wrong_in_a_completion_and_for_training_only(tmp_path: Path) -> None:
    row = f"{SYSTEM}{USER}{FINAL}<|end|>"
    assert findings(tmp_path, {"text": row}) == []
    (in_training,) = findings(tmp_path, {"text": row}, training=True)
    completion = f"{ANALYSIS}{FINAL}<|end|>".removeprefix("<|start|>assistant")
    (in_completion,) = findings(tmp_path, {"completion": completion})
    assert [in_training.rule, in_completion.rule] == [Rule.END_FOR_RETURN] * 2
    assert (in_training.at, in_completion.at) == (row.rindex("<|end|>"), completion.rindex("<|end|>"))


def test_rows_that_end_differently_are_one_finding_for_the_column(tmp_path: Path) -> None:
    texts = [
        f"{USER}{FINAL}<|return|>",
        f"{USER}{FINAL}<|end|>",
        f"{USER}{FINAL}<|end|>",
        f"{USER}<|start|>assistant",
    ]
    report = report_of(tmp_path, [{"text": text} for text in texts])
    (finding,) = report.findings
    assert (finding.rule, finding.row, report.level) == (Rule.MIXED_ENDINGS, 2, "warning")
    assert finding.note == "1 end in <|return|>, 2 in <|end|>."


@pytest.mark.parametrize("pad", [199999, 200002, 200017])
def test_padding_is_no_part_of_a_row(tmp_path: Path, pad: int) -> None:
    row = encode(f"{SYSTEM}{USER}{FINAL}<|return|>")
    rows = [[*row, *[pad] * 4], [*[pad] * 4, *row], [*[pad] * 3, *row, *[pad] * 3], [pad] * 4]
    assert findings(tmp_path, *({"input_ids": ids} for ids in rows)) == []
    (finding,) = findings(tmp_path, {"input_ids": [*[199999] * 2, *encode(f"{USER}\n{FINAL}<|return|>")]})
    assert finding.at == 2 + len(encode(USER))


def test_padding_after_a_tool_call_and_short_padding_are_no_part_of_a_row(tmp_path: Path) -> None:
    called = encode(f"{SYSTEM}{USER}{CALL}<|call|>")
    answered = encode(f"{SYSTEM}{USER}{FINAL}<|return|>")
    rows = [[*called, *[200002] * 3], [200002, *answered], [*answered, 200002]]
    assert findings(tmp_path, *({"input_ids": ids} for ids in rows)) == []
    (finding,) = findings(tmp_path, {"input_ids": rows[2]})  # no other row shows that it is padding
    assert finding.rule is Rule.DOUBLE_TERMINATOR


def test_labels_are_no_token_ids(tmp_path: Path) -> None:
    ids = encode(f"{SYSTEM}{USER}{FINAL}<|return|>") * 4
    report = report_of(tmp_path, [{"input_ids": [*ids, *[199999] * 3], "labels": [*ids, *[-100] * 3]}])
    assert [column.name for column in report.columns] == ["input_ids"]
    assert report.level == "ok"


def test_a_preference_is_no_score(tmp_path: Path) -> None:
    completion = f"{FINAL}<|return|>".removeprefix("<|start|>assistant")
    row = {"prompt": f"{SYSTEM}{USER}<|start|>assistant", "completion": completion}
    report = report_of(tmp_path, [row | {"label": True}, row | {"label": False}])
    assert [column.form for column in report.columns] == [Form.TEXT, Form.TEXT]
    assert report.level == "ok"
    (finding,) = findings(tmp_path, row | {"label": "4"})
    assert finding.rule is Rule.RAW_HARMONY_ANSWER


def chat(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}, *messages]}


def call(arguments: object = '{"a": 1}', name: str | None = "f", identity: str = "c1") -> dict[str, Any]:
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(content: str | None = None, **members: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **members}


BROKEN_CHAT = [
    (Rule.UNKNOWN_ROLE, chat({"role": "bot", "content": "x"}, assistant("Hello."))),
    (Rule.SPECIAL_TOKEN_IN_MESSAGE, chat(assistant("<|channel|>final<|message|>Hello."))),
    (Rule.SPECIAL_TOKEN_IN_MESSAGE, chat(assistant("Hello.", thinking="Hm.<|end|>"))),
    (Rule.STRIPPED_TRANSCRIPT, chat(assistant("analysisWe greet.assistantfinalHello."))),
    (Rule.CALL_WITHOUT_NAME, chat(assistant(tool_calls=[call(name=None)]))),
    (Rule.ARGUMENTS_NOT_JSON, chat(assistant(tool_calls=[call('{"a": ')]))),
    (Rule.SEVERAL_CALLS, chat(assistant(tool_calls=[call(), call(identity="c2")]))),
    (Rule.CONTENT_AND_THINKING, chat(assistant("Let me see.", thinking="Hm.", tool_calls=[call()]))),
    (Rule.EMPTY_FINAL, chat(assistant(""))),
    (Rule.MISSING_FINAL, chat(assistant(None, reasoning_content="Hm."))),
    (Rule.RESULT_WITHOUT_CALL, chat({"role": "tool", "content": "1"}, assistant("Hello."))),
    (
        Rule.RESULT_WITHOUT_CALL,
        chat(assistant(tool_calls=[call()]), {"role": "tool", "tool_call_id": "c9", "content": "1"}),
    ),
    (
        Rule.EMPTY_FINAL,
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": " "}]},
    ),
    (Rule.UNKNOWN_CHANNEL, chat(assistant("Hello.", channel="answer"))),
    (Rule.CALL_WITHOUT_RESULT, chat(assistant(tool_calls=[call()]), assistant("One."))),
    (
        Rule.CALL_WITHOUT_RESULT,
        chat(assistant(tool_calls=[call()]), {"role": "user", "content": "And?"}, assistant("One.")),
    ),
    (Rule.SPECIAL_TOKEN_IN_MESSAGE, chat(assistant(tool_calls=[call(name="ls<|channel|>commentary")]))),
    (Rule.PREFIX_IN_NAME, chat(assistant(tool_calls=[call(name="functions.ls")]))),
    (Rule.THINK_TAG, chat(assistant("<think>Hm.</think>\nHello."))),
    (Rule.THINK_TAG, chat(assistant("Hm.\n</think>\n\nHello."))),
    (Rule.MISSING_CHANNEL, chat(assistant("Hm.", channel="analysis"), assistant("Hello."))),
    (Rule.RECIPIENT_SPELLING, chat(assistant("{}", channel="commentary", recipient="f"))),
    (Rule.MISSING_FINAL, chat(assistant([{"type": "text", "text": "Hm."}], channel="analysis"))),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("rule", "row"), BROKEN_CHAT, ids=lambda value: str(value)[:40])
def test_messages_that_break_a_rule_have_one_finding(tmp_path: Path, rule: Rule, row: dict[str, Any]) -> None:
    (finding,) = findings(tmp_path, row)
    assert finding.rule is rule
    assert finding.message in {1, 2}


def test_sound_messages_have_no_finding(tmp_path: Path) -> None:
    rows = [
        chat(assistant("Hello.", thinking="Hm.")),
        chat(
            assistant(tool_calls=[call({"a": 1})], thinking="Hm."),
            {"role": "tool", "content": "1"},
            assistant("One."),
        ),
        chat(assistant([{"type": "text", "text": "Hello."}])),  # type: ignore[arg-type]
        chat(assistant("Put the reasoning in `<think>` and close it with `</think>`.")),
        chat(  # Inspect's calls have the name as `function`
            assistant(tool_calls=[{"id": "c1", "function": "f", "arguments": {"a": 1}}]),
            {"role": "tool", "tool_call_id": "c1", "function": "f", "content": "1"},
            assistant("One."),
        ),
        {"messages": json.dumps(chat(assistant("Hello."))["messages"])},
        chat(
            assistant(function_call={"name": "f", "arguments": "{}"}),
            {"role": "function", "name": "f", "content": "1"},
            assistant("One."),
        ),
        {
            "messages": [
                {"role": "user", "content": "Why do I get analysisWe need...assistantfinalHi?"},
                assistant("The server does not parse Harmony."),
            ]
        },
        {
            "messages": [
                {"from": "human", "value": "Hi"},
                {"from": "function_call", "value": '{"name": "f", "arguments": {}}'},
                {"from": "observation", "value": "1"},
                {"from": "gpt", "value": "One."},
            ]
        },
    ]
    assert findings(tmp_path, *rows) == []


def test_reasoning_that_the_rendering_of_an_open_turn_lacks(tmp_path: Path) -> None:
    messages = chat(assistant(thinking="Hm.", tool_calls=[call()]), {"role": "tool", "content": "1"})
    with_reasoning = f"{USER}{ANALYSIS}{CALL}<|call|>{RESULT}<|start|>assistant"
    assert findings(tmp_path, {**messages, "text": with_reasoning}) == []
    (finding,) = findings(tmp_path, {**messages, "text": with_reasoning.replace(ANALYSIS, "")})
    assert (finding.rule, finding.column, finding.excerpt) == (Rule.ANALYSIS_DROPPED, "text", "Hm.")
    finished_turn = chat(
        assistant(thinking="Hm.", tool_calls=[call()]), {"role": "tool", "content": "1"}, assistant("One.")
    )
    assert (
        findings(tmp_path, {**finished_turn, "text": f"{USER}{CALL}<|call|>{RESULT}{FINAL}<|return|>"}) == []
    )


RAW = "<|channel|>analysis<|message|>Sum.<|end|><|start|>assistant<|channel|>final<|message|>4<|return|>"
STRIPPED = "analysisSum.assistantfinal4"


@pytest.mark.parametrize(
    ("rule", "text", "at"),
    [
        (Rule.RAW_HARMONY_ANSWER, RAW, 0),
        (Rule.RAW_HARMONY_ANSWER, f"4{RAW}", 1),
        (Rule.STRIPPED_TRANSCRIPT, STRIPPED, 12),
        (Rule.STRIPPED_TRANSCRIPT, "analysisThe user asks for a sum. First", 0),
        (Rule.STRIPPED_TRANSCRIPT, "Sum.assistantfinal4", 4),
        (Rule.STRIPPED_TRANSCRIPT, 'commentary to=functions.f json{"a": 1}', 0),
        (Rule.STRIPPED_TRANSCRIPT, "analysisUse the tool.assistantcommentary to=functions.f json{}", 21),
        (Rule.EMPTY_ANSWER, " ", None),
    ],
)
def test_a_scored_text_that_is_no_answer(tmp_path: Path, rule: Rule, text: str, at: int | None) -> None:
    (finding,) = findings(tmp_path, {"doc_id": 0, "target": "4", "filtered_resps": [text]})
    assert (finding.rule, finding.at, finding.column) == (rule, at, "filtered_resps")


@pytest.mark.parametrize(
    "row",
    [
        {"doc_id": 0, "resps": [[RAW]], "filtered_resps": [RAW], "exact_match": 0.0},
        {"doc_id": 0, "native_id": "1", "model_output": [{"continuation": RAW}], "metrics": {}},
        {"id": 1, "output": {"choices": [{"message": {"role": "assistant", "content": RAW}}]}, "scores": {}},
        {"id": 1, "output": {"choices": []}, "scores": {"match": {"value": "I", "answer": RAW}}},
        {"prompt": "2 + 2", "prediction": RAW, "reference": "4"},
        {"question": "2 + 2", "responses": [RAW], "score": 0.0},
    ],
    ids=["lm-eval", "olmes", "inspect", "inspect-score", "plain", "several"],
)
def test_logs_of_evaluations_are_recognized(tmp_path: Path, row: dict[str, Any]) -> None:
    (finding,) = findings(tmp_path, row)
    assert finding.rule is Rule.RAW_HARMONY_ANSWER


def test_other_columns_beside_scored_text_are_checked_too(tmp_path: Path) -> None:
    row = {
        "response": RAW,
        "score": 0.0,
        "messages": [{"role": "bot", "content": "x"}],
        "prompt": f"{USER}\n",
    }
    assert [finding.rule for finding in findings(tmp_path, row)] == [
        Rule.RAW_HARMONY_ANSWER,
        Rule.UNKNOWN_ROLE,
        Rule.REJECTED_TOKEN,
    ]


def test_text_that_a_filter_removed_is_not_scored(tmp_path: Path) -> None:
    assert findings(tmp_path, {"doc_id": 0, "resps": [[RAW]], "filtered_resps": ["4"]}) == []


def test_every_rule_has_a_row_and_is_tested() -> None:
    assert set(RULES) == set(Rule)
    source = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert [rule.name for rule in Rule if f"Rule.{rule.name}" not in source] == []
