"""Recorded rows and captures as conversations."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.capture.errors import InspectorError
from inspector.data.rollout import Cause, RolloutReport, check
from inspector.files.store import save
from inspector.protocol.harmony.vocab import encode
from tests.support.rollouts import (
    ANALYSIS,
    ANSWERED,
    CALL,
    CALLED,
    FINAL,
    HISTORY,
    NEXT,
    OPEN,
    PROMPT,
    RESULT,
    USER,
)

FIXTURES = Path(__file__).parents[3] / "fixtures" / "rollout"
SECOND = f"{PROMPT}{CALLED}{RESULT}{OPEN}"
LOST = f"{PROMPT}{CALL}{RESULT}{OPEN}"
OTHER_PROMPT = PROMPT.replace("What is the weather in Paris?", "Hi")


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def report_of(path: Path, rows: list[Any], **options: Any) -> RolloutReport:
    (report,) = check([written(path / "rows.jsonl", rows)], **options)
    return report


def vllm(prompt: str, generated: str, **members: Any) -> dict[str, Any]:
    response = {"prompt_token_ids": encode(prompt), "choices": [{"token_ids": encode(generated)}]}
    return {"request": {"messages": []}, "response": response, **members}


def pair(prompt: str, generated: str, first: str, second: str) -> dict[str, Any]:
    return {first: encode(prompt), second: encode(generated)}


def gym(*turns: tuple[str, str]) -> dict[str, Any]:
    output = [
        {"type": "message", **pair(*turn, "prompt_token_ids", "generation_token_ids")} for turn in turns
    ]
    return {"responses_create_params": {"input": []}, "response": {"output": output}, "reward": 1.0}


TURNS = [(PROMPT, CALLED), (LOST, FINAL)]
SHAPES = {
    "vllm": [vllm(*turn, session_id="a") for turn in TURNS],
    "completions": [
        {"response": {"choices": [pair(*turn, "prompt_token_ids", "token_ids")]}} for turn in TURNS
    ],
    "nemo-gym": [gym(*TURNS)],
    "chat-message": [
        {
            "prompt_token_ids": encode(prompt),
            "choices": [{"message": {"role": "assistant", "generation_token_ids": encode(generated)}}],
        }
        for prompt, generated in TURNS
    ],
    "trainer": [{"trajectory_id": 7, **pair(*turn, "prompt_ids", "response_ids")} for turn in TURNS],
    "steps": [{"trajectory": [{"tokens": pair(*turn, "prompt_ids", "completion_ids")} for turn in TURNS]}],
    "lists": [
        {
            "prompt_ids": [encode(prompt) for prompt, _ in TURNS],
            "completion_ids": [encode(text) for _, text in TURNS],
        }
    ],
}


@pytest.mark.parametrize("rows", SHAPES.values(), ids=SHAPES)
def test_the_shapes_of_servers_and_trainers_give_the_same_drift(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    report = report_of(tmp_path, rows)
    assert (report.conversations, report.turns, report.compared) == (1, 2, 1)
    (turn_break,) = report.breaks
    assert ([drift.cause for drift in turn_break.drifts], turn_break.turn) == ([Cause.ANALYSIS_LOST], 1)


def test_parquet_gives_the_same(tmp_path: Path) -> None:
    rows = [pair(*turn, "prompt_ids", "response_ids") for turn in TURNS]
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    (report,) = check([tmp_path / "rows.parquet"])
    assert report.counts == {Cause.ANALYSIS_LOST: 1}


def test_conversations_whose_rows_alternate_are_told_apart(tmp_path: Path) -> None:
    rows = [
        vllm(PROMPT, CALLED, conversation_id="a", mine=1),
        vllm(OTHER_PROMPT, ANSWERED, conversation_id="b", mine=1),
        vllm(SECOND, FINAL, conversation_id="a", mine=1),
        vllm(HISTORY, FINAL, conversation_id="c", mine=1),
    ]
    report = report_of(tmp_path, rows)
    assert (report.level, report.conversations, report.compared) == ("ok", 3, 1)
    assert report.sentence == "No drift: 1 later prompt extends the tokens before it."
    assert report_of(tmp_path, rows, group="mine").level == "error"


def test_rows_without_a_name_are_one_conversation_until_another_question(tmp_path: Path) -> None:
    rows = [vllm(PROMPT, CALLED), vllm(SECOND, FINAL), vllm(OTHER_PROMPT, ANSWERED), vllm(PROMPT, FINAL)]
    report = report_of(tmp_path, rows)
    assert (report.level, report.conversations, report.compared) == ("ok", 3, 1)
    changed = [vllm(PROMPT, CALLED), vllm(SECOND.replace("Paris?", "Rome?"), FINAL)]
    assert report_of(tmp_path, changed).counts == {Cause.MESSAGE_CHANGED: 1}
    shortened = [vllm(HISTORY, FINAL), vllm(HISTORY.replace(USER, ""), FINAL)]
    assert Cause.HISTORY_TRUNCATED in report_of(tmp_path, shortened).counts
    resampled = report_of(tmp_path, [vllm(PROMPT, FINAL), vllm(PROMPT, FINAL)])
    assert resampled.counts == {Cause.RESAMPLED: 1}


def test_independent_rows_without_a_name_are_conversations_of_their_own(tmp_path: Path) -> None:
    longer = OTHER_PROMPT + FINAL.replace("<|return|>", "<|end|>") + NEXT + OPEN
    report = report_of(tmp_path, [vllm(PROMPT, CALLED), vllm(longer, FINAL)])
    assert (report.level, report.conversations) == ("unknown", 2)


QUESTIONS = [PROMPT.replace("Paris", city) for city in ("Rome", "Oslo", "Bern", "Riga", "Graz")]


def test_interleaved_rows_without_a_name_find_their_conversations(tmp_path: Path) -> None:
    second = f"{CALLED}{RESULT}{OPEN}"
    rows = [vllm(prompt, CALLED) for prompt in QUESTIONS]
    rows += [vllm(prompt + second, FINAL) for prompt in reversed(QUESTIONS)]
    report = report_of(tmp_path, rows)
    assert (report.level, report.conversations, report.compared) == ("ok", 5, 5)
    lost = [vllm(prompt + LOST.removeprefix(PROMPT), FINAL) for prompt in reversed(QUESTIONS)]
    report = report_of(tmp_path, [*rows[:5], *lost])
    assert (report.compared, dict(report.counts)) == (5, {Cause.ANALYSIS_LOST: 5})


def test_later_prompts_that_several_conversations_fit_ask_for_the_key(tmp_path: Path) -> None:
    rows = [vllm(PROMPT, CALLED), vllm(OTHER_PROMPT, ANSWERED), vllm(PROMPT, CALLED), vllm(LOST, FINAL)]
    report = report_of(tmp_path, rows)
    assert (report.level, report.compared, report.ambiguous) == ("unknown", 0, 1)
    assert "--group" in report.sentence
    keyed = [row | {"meta": {"traj": name}} for row, name in zip(rows, "abca", strict=True)]
    assert report_of(tmp_path, keyed, group="meta.traj").counts == {Cause.ANALYSIS_LOST: 1}
    named = [row | {"meta": {"trajectory_id": name}} for row, name in zip(rows, "abca", strict=True)]
    assert report_of(tmp_path, named).counts == {Cause.ANALYSIS_LOST: 1}


def test_a_key_that_no_row_has_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InspectorError, match="no row with token IDs has the key traj; check --group"):
        report_of(tmp_path, [vllm(PROMPT, CALLED)], group="traj")


def test_prompts_whose_earlier_turns_are_not_there_are_not_ok(tmp_path: Path) -> None:
    histories = [vllm(f"{prompt}{CALLED}{RESULT}{OPEN}", FINAL) for prompt in QUESTIONS]
    report = report_of(tmp_path, [vllm(PROMPT, CALLED), vllm(SECOND, FINAL), *histories])
    assert (report.level, report.compared, report.unmatched) == ("unknown", 1, 5)
    assert RolloutReport(name="", compared=5, unmatched=5).level == "ok"
    assert RolloutReport(name="", compared=4, unmatched=5).level == "unknown"


def test_a_row_may_hold_several_trajectories(tmp_path: Path) -> None:
    turns = [(PROMPT, CALLED), (OTHER_PROMPT, ANSWERED), (PROMPT, FINAL), (SECOND, FINAL)]
    lists = {
        "prompt_ids": [encode(prompt) for prompt, _ in turns],
        "completion_ids": [encode(text) for _, text in turns],
    }
    report = report_of(tmp_path, [lists, lists])
    assert (report.level, report.conversations, report.compared) == ("ok", 6, 2)


def test_empty_lists_and_ids_of_other_models_are_no_turns(tmp_path: Path) -> None:
    foreign = [
        {"session_id": "a", "prompt_ids": [151644, 872] * at, "response_ids": [9, 151645]} for at in (2, 3)
    ]
    report = report_of(tmp_path, [vllm(PROMPT, CALLED), *foreign, {"prompt_ids": [], "response_ids": []}])
    assert (report.level, report.compared, report.foreign, report.unread) == ("unknown", 0, 2, 1)


def test_a_repeated_prompt_is_no_drift_of_the_format(tmp_path: Path) -> None:
    rows = [vllm(PROMPT, CALLED), vllm(PROMPT, FINAL), vllm(HISTORY, FINAL)]
    sentence = (
        "2 of 2 later prompts do not extend the tokens before them: 1 expected drift and 1 repeated prompt."
    )
    assert report_of(tmp_path, rows).sentence == sentence


@pytest.mark.parametrize("pad", [199999, 200002, 200017])
def test_padding_is_no_part_of_a_turn(tmp_path: Path, pad: int) -> None:
    turns = [(PROMPT, CALLED), (SECOND, FINAL), (f"{SECOND}{FINAL[:-10]}<|end|>{NEXT}{OPEN}", FINAL)]
    rows = [
        {
            "session_id": "a",
            "prompt_ids": [pad] * left + encode(prompt),
            "response_ids": encode(text) + [pad] * 5,
        }
        for left, (prompt, text) in zip((7, 2, 0), turns, strict=True)
    ]
    report = report_of(tmp_path, rows)
    assert (report.compared, dict(report.counts)) == (2, {Cause.RETURN_REPLACED: 1})


@pytest.mark.parametrize("keys", [("prompt", "completion"), ("input", "output")])
def test_texts_are_compared_where_no_ids_are(tmp_path: Path, keys: tuple[str, str]) -> None:
    def rows(*texts: tuple[str, str]) -> RolloutReport:
        dict_rows = [dict(zip(keys, pair, strict=True)) for pair in texts]
        (report,) = check([written(tmp_path / "texts.jsonl", dict_rows)])
        return report

    extended = rows((PROMPT, CALLED), (SECOND, ANSWERED))
    assert (extended.compared, extended.broken, extended.by_text) == (1, 0, 2)
    assert "by text" in extended.taken
    lost = rows((PROMPT, CALLED), (LOST, ANSWERED))
    assert lost.counts == {Cause.ANALYSIS_LOST: 1}
    cut = rows((PROMPT, ANALYSIS[:-9]), (f"{PROMPT}{ANALYSIS[:-9]}y more", ANSWERED))
    assert (cut.compared, cut.broken) == (1, 0)  # the same text, though a word goes on


def test_a_row_of_texts_without_special_tokens_is_no_turn(tmp_path: Path) -> None:
    with pytest.raises(InspectorError, match="prompt and completion, input and output"):
        check([written(tmp_path / "plain.jsonl", [{"prompt": "user\nHi\nassistant", "completion": "Hi"}])])


def test_rows_without_ids_are_counted_and_a_single_turn_is_unknown(tmp_path: Path) -> None:
    rows = [vllm(PROMPT, CALLED), {"note": "x"}, [1], {"prompt_ids": [1], "response_ids": [1 << 50]}]
    report = report_of(tmp_path, rows)
    assert (report.level, report.turns, report.unread) == ("unknown", 1, 3)
    assert report.taken == (
        "Read 1 turn of 1 conversation and compared 0 later prompts; 3 rows without token IDs."
    )


def test_the_list_is_limited_and_the_counts_are_not(tmp_path: Path) -> None:
    rows = [vllm(*turn, conversation_id=str(number)) for number in range(5) for turn in TURNS]
    report = report_of(tmp_path, rows, max_findings=2)
    assert (len(report.breaks), report.broken, report.counts) == (2, 5, {Cause.ANALYSIS_LOST: 5})


def capture(prompt: str, generated: str, *, ids: bool = True) -> Capture:
    choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}
    chunk: dict[str, Any] = {"object": "chat.completion.chunk", "choices": [choice]}
    if ids:
        choice["token_ids"] = encode(generated)
        chunk["prompt_token_ids"] = encode(prompt)
    header = Header(endpoint=Endpoint.CHAT, status=200)
    return Capture(header=header, events=[Event(json.dumps(chunk), 0.1)], end=End(at_s=0.2, cut=False))


def test_captures_are_one_conversation_in_the_order_of_their_files(tmp_path: Path) -> None:
    names = [tmp_path / f"{number}.jsonl" for number in range(3)]
    for name, turn in zip(names, [*TURNS, (f"{LOST}{FINAL}{OPEN}", FINAL)], strict=True):
        save(capture(*turn), name)
    (report,) = check(names)
    assert (report.name, report.turns, report.compared) == ("3 captures", 3, 2)
    assert [(turn_break.turn, turn_break.row) for turn_break in report.breaks] == [(1, 2)]
    assert [drift.cause for drift in report.breaks[0].drifts] == [Cause.ANALYSIS_LOST]


def test_a_file_without_token_ids_is_refused_in_one_sentence(tmp_path: Path) -> None:
    save(capture(PROMPT, FINAL, ids=False), tmp_path / "bare.jsonl")
    with pytest.raises(InspectorError, match="has no token IDs of prompt and response"):
        check([tmp_path / "bare.jsonl"])
    with pytest.raises(InspectorError, match="a row needs prompt_token_ids and token_ids"):
        check([written(tmp_path / "rows.jsonl", [{"text": "x"}])])
    with pytest.raises(InspectorError, match="no such file"):
        check([tmp_path / "missing.jsonl"])


def test_the_known_cases_are_found() -> None:
    loops, questions = check([FIXTURES / "tool-loops.jsonl", FIXTURES / "two-questions.jsonl"])
    assert {turn_break.conversation: turn_break.drifts[0].cause for turn_break in loops.breaks} == {
        "reasoning-lost": Cause.ANALYSIS_LOST,
        "arguments-parsed": Cause.ARGUMENTS_REWRITTEN,
        "encoded-again": Cause.RETOKENIZED,
    }
    assert (loops.level, loops.compared) == ("error", 4)
    assert (questions.level, list(questions.counts)) == (
        "warning",
        [Cause.ANALYSIS_DROPPED, Cause.RETURN_REPLACED],
    )


def test_every_key_of_the_answer_is_json() -> None:
    rows = [report.as_row for report in check([FIXTURES / "tool-loops.jsonl"])]
    assert json.loads(json.dumps(rows)) == rows
    assert rows[0]["causes"]["analysis_lost"] == 1
    assert ANALYSIS.startswith("<|channel|>" + rows[0]["breaks"][0]["drifts"][0]["seen"][:10])


@pytest.mark.slow
def test_conversations_that_interleave_beyond_those_held_are_counted_once(tmp_path: Path) -> None:
    conversation_count = 4_097
    rows = [vllm(PROMPT, CALLED, session_id=f"s{place}") for place in range(conversation_count)]
    rows += [vllm(SECOND, FINAL, session_id=f"s{place}") for place in range(conversation_count)]
    rows += [vllm(LOST, FINAL, session_id=f"s{conversation_count - 1}")]
    report = report_of(tmp_path, rows)
    assert (report.conversations, report.turns) == (conversation_count, 2 * conversation_count + 1)
    assert (report.compared, report.forgotten) == (1, conversation_count)
    assert [turn_break.turn for turn_break in report.breaks] == [2]  # turns go on counting
    assert report.as_row["not_compared"] == conversation_count
    assert "4,097 later turns not compared" in report.taken


@pytest.mark.slow
def test_nothing_compared_for_lack_of_room_is_said(tmp_path: Path) -> None:
    names = [f"s{place}" for place in range(4_097)]
    report = report_of(tmp_path, [vllm(PROMPT, CALLED, session_id=name) for name in [*names, *names]])
    assert report.level == "unknown"
    assert report.sentence == "Nothing was compared: the turns of each conversation are too far apart."
