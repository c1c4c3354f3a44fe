"""Two captures compared: tokens, delivery, causes, and one sentence for it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from inspector.analysis.audit import Kind
from inspector.capture.capture import Capture, ClosedBy, End, Endpoint, Event, Header
from inspector.files.store import builtin, load
from inspector.inspection.compare import Apart, Comparison, Divergence, Outcome, compare, compare_all
from inspector.inspection.inspection import Inspection, inspect
from inspector.matrix.results import all_runs as matrix_runs
from inspector.matrix.results import capture_of as matrix_capture
from inspector.protocol.harmony.vocab import encode
from inspector.views.comparison_rows import comparison_row, comparison_summary, difference_rows, timing_rows
from tests.support.streams import CLEAN, CLOSED, LEAK, LOSS, PIECES, Step, aborted, chat, chat_chunk

STORED = {fixture.name: fixture.path for fixture in builtin()}


def stored(name: str) -> Inspection:
    capture = load(STORED[name])
    return inspect(capture, name=name)


def compared(left: Capture, right: Capture) -> Comparison:
    return compare(inspect(left, name="left"), inspect(right, name="right"))


def asked(capture: Capture, **request: Any) -> Capture:
    return replace(capture, header=replace(capture.header, request=request))


@pytest.mark.parametrize(
    ("left", "right", "outcome", "sentence"),
    [
        (
            "chat-tool-call-dropped-vllm-0.13.0",
            "chat-tool-call-leak-vllm-0.14.1",
            Outcome.DELIVERY,
            "The tokens are the same; 0.13.0 lost 2 tokens of the reasoning, and 0.14.1 leaked 2 "
            "reasoning tokens into the answer.",
        ),
        (
            "responses-dropped-tokens-vllm-0.13.0",
            "responses-whole-vllm-0.14.1",
            Outcome.DELIVERY,
            "The servers' final texts are the same; only 0.13.0 lost 21 characters of the reasoning and "
            "25 characters of the answer (content).",
        ),
        (
            "chat-whole-one-token-per-step-vllm-0.13.0",
            "chat-reasoning-missing-vllm-0.32.0",
            Outcome.DELIVERY,
            "The tokens are the same; only 0.32.0 lost 7 tokens of the reasoning.",
        ),
        (
            "chat-whole-one-token-per-step-vllm-0.13.0",
            "chat-whole-vllm-0.14.1",
            Outcome.SAME,
            "The tokens are the same, and so is the delivered text.",
        ),
        (
            "chat-unknown-role-vllm-0.13.0",
            "chat-unknown-role-swallowed-vllm-0.32.0",
            Outcome.DELIVERY,
            "The tokens are the same up to token 10, where 0.13.0 stops; only 0.13.0 lost 1 token of "
            "the reasoning and sent an error.",
        ),
        (
            "chat-unexpected-token-200002-vllm-0.13.0",
            "chat-unexpected-token-12606-vllm-0.13.0",
            Outcome.TOKENS,
            "The tokens sent are the same up to token 4, where both servers stop at different rejected "
            "tokens: “<|return|>” on the left, “comment” on the right.",
        ),
        (
            "chat-tool-call-leak-vllm-0.14.1",
            "chat-preamble-tool-call-leak-vllm-0.14.1",
            Outcome.TOKENS,
            "The tokens differ from token 12 on: “ to” on the left, “<|message|>” on the right; the right "
            "server also delivered 1 token of the arguments of tool call 1 in the answer (content).",
        ),
    ],
)
def test_real_servers_are_told_apart_in_one_sentence(
    left: str, right: str, outcome: Outcome, sentence: str
) -> None:
    comparison = compare(stored(left), stored(right))
    assert (comparison.outcome, comparison.sentence) == (outcome, sentence)


def test_streams_that_stop_at_different_rejections_are_not_called_the_same() -> None:
    token, other_error = (
        f"Unexpected token {token_id} while expecting start token 200006" for token_id in (12606, 200002)
    )
    analysis = ["<|channel|>analysis<|message|>Hi<|end|>"]
    ended = inspect(aborted(analysis, token)), inspect(aborted(analysis, other_error))
    comparison = compare(*ended)
    assert comparison.outcome is Outcome.TOKENS
    assert (
        "where both servers stop at different rejected tokens: “comment” on the left" in comparison.sentence
    )
    assert "Neither server sent the rejected tokens." in comparison.why
    assert "fault" not in comparison.why
    assert compare(ended[0], ended[0]).outcome is Outcome.SAME

    begun = ["<|channel|>analysis<|message|>Hi<|end|><|start|>assistant"]
    roles = [
        inspect(aborted(begun, f"Unknown role: assistant{suffix}", event_per_token=False))
        for suffix in ("ary", "x")
    ]
    headers = "a header with “assistantary” on the left, a header with “assistantx” on the right"
    assert f"stop at different rejected headers: {headers}" in compare(*roles).sentence


def test_a_stream_that_stops_earlier_at_another_rejection_does_not_share_the_others_error() -> None:
    analysis = "<|channel|>analysis<|message|>Hi<|end|>"
    final = f"{analysis}<|start|>assistant<|channel|>final<|message|>Yes<|end|>"
    token, other_error = (
        f"Unexpected token {token_id} while expecting start token 200006" for token_id in (12606, 200002)
    )
    comparison = compared(aborted([analysis], token), aborted([final], other_error))
    assert "where the left server stops" in comparison.sentence
    assert f"The parser errors differ: “{token}” on the left, “{other_error}” on the right." in comparison.why


def test_a_client_that_left_accuses_no_server() -> None:
    clean = chat(CLEAN)
    end = End(at_s=1.0, cut=True, closed_by=ClosedBy.CLIENT)
    comparison = compared(replace(clean, events=clean.events[:3], end=end), clean)
    assert comparison.outcome is Outcome.UNKNOWN
    assert "the left server was left by its client" in comparison.sentence
    assert "unknown, not different" in comparison.why


def test_one_script_on_two_releases_of_the_lab_says_that_only_the_older_one_lost_text() -> None:
    runs = {run.version: run for run in matrix_runs() if run.stream_interval == 3}
    captures = [
        matrix_capture(runs[version], Endpoint.CHAT, "two_finals") for version in ("0.13.0", "0.14.1")
    ]
    left, right = (inspect(capture) for capture in captures if capture is not None)
    comparison = compare(left, right)
    assert (
        comparison.sentence == "The tokens are the same; only 0.13.0 lost 3 tokens of the answer (content)."
    )
    assert comparison.counts is not None
    assert comparison.counts.differing == 0
    assert {difference.left_state for difference in comparison.choice.apart} == {"dropped"}


def test_the_same_script_on_two_versions_is_the_same_tokens_delivered_apart() -> None:
    comparison = compare(
        stored("chat-tool-call-dropped-vllm-0.13.0"), stored("chat-tool-call-leak-vllm-0.14.1")
    )
    assert comparison.counts == (32, 0, 0, 0)
    assert comparison.divergence is None
    assert comparison.choice.apart == (Apart(4, 6, 4, None, "dropped", "content", "misrouted"),)
    assert [finding.kind for finding in comparison.findings.only_left] == [Kind.DROPPED]
    assert [finding.kind for finding in comparison.findings.only_right] == [Kind.MISROUTED]
    assert [finding.kind for finding, _ in comparison.findings.both] == [
        Kind.DROPPED,
        Kind.INVALID_TOOL_ARGUMENTS,
    ]
    assert {pair.field: pair.equal for pair in comparison.choice.delivered} == {
        "reasoning": True,
        "content": False,
        "tool_calls[0].name": True,
        "tool_calls[0].arguments": True,
    }
    assert [setting.name for setting in comparison.settings] == ["version"]


@pytest.mark.parametrize("name", STORED)
def test_a_capture_is_the_same_as_itself(name: str) -> None:
    inspection = stored(name)
    comparison = compare(inspection, inspection)
    assert comparison.same
    known = inspection.reading.choice.has_ids or inspection.reading.choice.has_finals
    assert comparison.outcome is (Outcome.SAME if known else Outcome.UNKNOWN)
    assert len(comparison.findings.both) == len(inspection.findings)
    assert comparison.settings == ()
    assert comparison.divergence is None


def test_the_loss_of_one_side_is_that_servers() -> None:
    comparison = compared(chat(CLEAN, version="0.14.1"), chat(LOSS, version="0.13.0"))
    assert comparison.sentence == "The tokens are the same; only 0.13.0 lost 2 tokens of the reasoning."
    assert comparison.why.startswith("The model did the same on both sides, so the fault is the server's.")
    assert not comparison.same


def test_sides_of_one_version_are_called_left_and_right() -> None:
    comparison = compared(chat(CLEAN), chat(LOSS))
    assert "only the right server lost 2 tokens" in comparison.sentence


def test_what_both_lost_is_said_of_both() -> None:
    comparison = compared(chat(LOSS, version="0.12.0"), chat(LOSS, version="0.13.0"))
    assert comparison.same
    assert comparison.sentence == (
        "The tokens are the same, and so is the delivered text; both servers lost 2 tokens of the reasoning."
    )
    assert comparison.why.startswith("The version makes no difference here.")


OTHER_ANSWER: Sequence[Step] = (
    *CLEAN[:2],
    ("<|start|>assistant<|channel|>final<|message|>Rainy", {"content": "Rainy"}),
    ("<|return|>", {}),
)


def test_the_first_divergence_names_token_and_event() -> None:
    comparison = compared(chat(CLEAN), chat(OTHER_ANSWER))
    assert comparison.outcome is Outcome.TOKENS
    place = len(
        encode(
            "<|channel|>analysis<|message|>Need weather.<|end|><|start|>assistant<|channel|>final<|message|>"
        )
    )
    assert comparison.divergence == Divergence(choice=0, token=place, event=2, right_event=2)
    assert comparison_row(comparison)["first_divergence"] == {"token": place, "event": 2}
    assert f"differ from token {place} on" in comparison.sentence


def test_a_finding_matches_through_the_alignment_when_tokens_were_added_before_it() -> None:
    longer: Sequence[Step] = (
        ("<|channel|>analysis<|message|>I do need", {"reasoning": "I do need"}),
        *LOSS[1:],
    )
    comparison = compared(chat(LOSS), chat(longer))
    (pair,) = comparison.findings.both
    assert [finding.kind for finding in pair] == [Kind.DROPPED, Kind.DROPPED]
    assert pair[0].token_start != pair[1].token_start
    assert comparison.findings.equal


def test_a_wider_loss_is_another_loss() -> None:
    wider: Sequence[Step] = (("<|channel|>analysis<|message|>Need", {}), *LOSS[1:])
    comparison = compared(chat(LOSS), chat(wider))
    assert len(comparison.findings.only_left) == len(comparison.findings.only_right) == 1
    assert not comparison.findings.both


@pytest.mark.parametrize(
    ("left", "right", "cause"),
    [
        (
            {"messages": [{"content": "a"}]},
            {"messages": [{"content": "b"}]},
            "The requests differ in messages.",
        ),
        (
            {"temperature": 0, "m": 1},
            {"temperature": 1, "m": 1},
            "The requests use different sampling parameters (temperature).",
        ),
        ({"temperature": 0}, {"temperature": 0}, "The requests are the same and greedy (temperature 0)"),
        ({"temperature": 1}, {"temperature": 1}, "The requests are the same and sample at temperature 1"),
        ({"top_p": 1}, {"top_p": 1}, "sample at the default temperature"),
        ({}, {"temperature": 0}, "sampl"),
    ],
)
def test_other_tokens_are_explained_from_the_requests(
    left: dict[str, Any], right: dict[str, Any], cause: str
) -> None:
    assert cause in compared(asked(chat(CLEAN), **left), asked(chat(OTHER_ANSWER), **right)).why


def test_what_is_unknown_on_one_side_is_no_difference() -> None:
    model = replace(chat(CLEAN).header, model="m", request={"messages": [{"content": "a"}]})
    bare = Capture(
        header=Header(endpoint=Endpoint.TOKENS), events=[Event("[200005, 35644, 200008, 1844, 200007]")]
    )
    comparison = compared(bare, replace(chat(OTHER_ANSWER), header=model))
    assert "models differ" not in comparison.why
    assert "requests differ" not in comparison.why
    assert "lacks its request" in comparison.why
    assert comparison.left.reading.server_label == "no server"


def test_prompt_ids_clear_or_accuse_the_template() -> None:
    def with_prompt(steps: Sequence[Step], ids: list[int]) -> Capture:
        capture = asked(chat(steps), temperature=0)
        chunk = json.dumps({"choices": [], "prompt_token_ids": ids})
        return replace(capture, events=[Event(chunk, 0.0), *capture.events])

    same_prompt = compared(with_prompt(CLEAN, [1, 2]), with_prompt(OTHER_ANSWER, [1, 2]))
    assert same_prompt.why.endswith("The prompt token IDs are the same, so the template is not the cause.")
    second = compared(with_prompt(CLEAN, [1, 2]), with_prompt(OTHER_ANSWER, [1, 3]))
    assert "the prompt token IDs differ" in second.why
    assert second.settings[-1] == ("prompt ids", *["2 IDs, first difference at 1"] * 2)


def test_without_ids_the_delivered_texts_are_all_that_can_be_compared() -> None:
    comparison = compared(chat(CLEAN, with_ids=False), chat(LOSS))
    assert comparison.outcome is Outcome.UNKNOWN
    assert comparison.sentence == (
        "It is unknown whether the tokens are the same; the delivered texts differ in the reasoning."
    )
    assert comparison.why.startswith("The left capture has no token IDs. To get them, send ")
    row = comparison_row(comparison)
    assert row["tokens"] == dict.fromkeys(("equal", "only_left", "only_right", "replaced"))
    assert row["first_divergence"] is None


def test_final_texts_that_differ_accuse_nobody() -> None:
    def answer(text: str) -> Capture:
        item = {"type": "message", "content": [{"type": "output_text", "text": text}]}
        body = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
        delta = {"type": "response.output_text.delta", "delta": text, "output_index": 0}
        events = [Event(json.dumps(payload), name=payload["type"]) for payload in (delta, body)]  # type: ignore[arg-type]
        return Capture(header=Header(endpoint=Endpoint.RESPONSES, status=200), events=events)

    comparison = compared(answer("yes"), answer("no"))
    assert comparison.outcome is Outcome.UNKNOWN
    assert comparison.sentence.startswith(
        "The final texts differ in the answer (content), and it is unknown whether model or"
    )
    assert compared(answer("yes"), answer("yes")).outcome is Outcome.SAME


def test_a_bare_list_of_tokens_holds_no_delivery() -> None:
    tokens = Capture(
        header=Header(endpoint=Endpoint.TOKENS),
        events=[Event(json.dumps(encode("".join(text for text, _ in CLEAN))))],
    )
    assert compared(tokens, chat(CLEAN)).sentence == "The tokens are the same."
    comparison = compared(tokens, chat(LOSS))
    assert comparison.outcome is Outcome.DELIVERY
    assert "only the right server lost 2 tokens of the reasoning" in comparison.sentence


def test_every_choice_is_compared() -> None:
    def two(second: str) -> Capture:
        data = [
            chat_chunk(
                encode(f"<|channel|>final<|message|>{text}<|return|>"),
                {"content": text},
                finish="stop",
                index=n,
            )
            for n, text in enumerate(("same", second))
        ]
        header = Header(endpoint=Endpoint.CHAT, status=200)
        return Capture(header=header, events=[Event(payload) for payload in [*data, "[DONE]"]], end=CLOSED)

    comparison = compared(two("red"), two("blue"))
    assert comparison.outcome is Outcome.TOKENS
    assert comparison.divergence is not None
    assert comparison.divergence.choice == 1
    assert "token 3 of choice 1" in comparison.sentence
    assert comparison_row(comparison)["delivered"]["choices[1].content"]["equal"] is False
    single = compared(two("red"), chat(CLEAN))
    assert single.outcome is Outcome.UNKNOWN
    assert single.sentence.startswith("The two responses have different numbers of choices")


def test_a_row_holds_the_contract_and_is_json() -> None:
    comparison = compared(chat(CLEAN), chat(LEAK))
    row = json.loads(json.dumps(comparison_row(comparison)))
    assert row["tokens"] == {"equal": 14, "only_left": 0, "only_right": 0, "replaced": 0}
    assert row["delivered"]["reasoning"] == {"equal": False, "left": "Need weather.", "right": "Need"}
    assert row["delivered"]["content"]["equal"] is False
    assert row["first_divergence"] is None
    assert [finding["kind"] for finding in row["findings"]["only_right"]] == ["misrouted"]
    assert (row["findings"]["only_left"], row["findings"]["both"]) == ([], [])


def test_differences_stand_in_token_order_and_timing_keeps_its_units() -> None:
    comparison = compared(chat(CLEAN), chat(LEAK, gap_s=0.5))
    assert [row["what"] for row in difference_rows(comparison)] == [
        "delivered differently",
        "finding only right",
    ]
    first = timing_rows(comparison)[0]
    assert first == {"figure": "first token", "unit": "s", "left": 0.01, "right": 0.5}


def test_several_captures_stand_in_one_list_against_the_reference() -> None:
    comparisons = compare_all(
        inspect(chat(CLEAN)),
        [inspect(chat(LEAK), name="a"), inspect(chat(CLEAN), name="b")],
    )
    rows = [comparison_summary(comparison) for comparison in comparisons]
    assert [(row["capture"], row["findings_new"], row["delivered_equal"]) for row in rows] == [
        ("a", 1, False),
        ("b", 0, True),
    ]


@given(left=PIECES, right=PIECES)
def test_any_two_streams_compare_and_mirror_each_other(left: Sequence[Step], right: Sequence[Step]) -> None:
    comparison, back = compared(chat(left), chat(right)), compared(chat(right), chat(left))
    assert comparison.same == back.same
    assert (comparison.outcome is Outcome.SAME) == (
        comparison.same and comparison.outcome is not Outcome.UNKNOWN
    )
    assert comparison.counts is not None
    assert back.counts is not None
    assert comparison.counts.differing == back.counts.differing
    assert len(comparison.findings.both) + len(comparison.findings.only_left) == len(comparison.left.findings)
    assert len(comparison.findings.both) + len(comparison.findings.only_right) == len(
        comparison.right.findings
    )
    ids = comparison.left.reading.choice.tokens.ids
    if comparison.divergence is not None:
        place = comparison.divergence.token
        assert ids[:place] == comparison.right.reading.choice.tokens.ids[:place]
    json.dumps(comparison_row(comparison))
    assert all(stretch.start < stretch.end <= len(ids) for stretch in comparison.choice.apart)


def test_settings_survive_hostile_requests() -> None:
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(50):
        inner["a"] = inner = {}
    comparison = compared(
        asked(chat(CLEAN), **{"x.y[0]": "\u202e" * 5000, **deep}),
        asked(chat(CLEAN), **deep, b=None),
    )
    (setting,) = [row for row in comparison.settings if row.left is not None]
    assert len(setting.left or "") == 400


def test_a_side_that_failed_before_its_first_token_leaves_nothing_to_compare() -> None:
    body = json.dumps({"error": {"message": "max_tokens must be at least 1", "code": 400}})
    refused = Capture(
        header=Header(endpoint=Endpoint.CHAT, status=400), events=[Event(body, 0.1)], end=CLOSED
    )
    comparison = compare(inspect(refused), inspect(chat(CLEAN, with_ids=False)))
    assert (comparison.outcome, comparison.sentence) == (
        Outcome.UNKNOWN,
        "The left server delivered nothing, so there is nothing to compare.",
    )
    assert comparison.why.startswith("Left: The request was rejected (HTTP 400)")
    both_failed = compare(inspect(refused), inspect(refused))
    assert both_failed.sentence == "Neither server delivered anything, so there is nothing to compare."
