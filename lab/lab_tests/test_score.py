"""Scores of captures written by hand: complete, error reported, silent loss."""

import json
from typing import Any

import pytest

from harmony_lab.score import score
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.matrix.results import ScriptOutcome
from inspector.matrix.scripts import Script, named
from inspector.protocol.harmony import vocab

SCRIPT = {script.name: script for script in named([])}


def chat(script: Script, *deltas: dict[str, Any], finish: str = "stop", ids: bool = True) -> Capture:
    """A chat stream: the ids in one event each delta, then the end."""
    chunks: list[dict[str, Any]] = []
    sampled = list(script.sampled)
    for number, delta in enumerate(deltas):
        choice: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": None}
        if ids:
            choice["token_ids"] = sampled if number == 0 else []
        chunks.append({"choices": [choice]})
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish, "token_ids": []}]})
    events = [Event(json.dumps(chunk), 0.1) for chunk in chunks] + [Event("[DONE]", 0.1)]
    return capture(Endpoint.CHAT, script, events)


def capture(endpoint: Endpoint, script: Script, events: list[Event], **end: Any) -> Capture:
    header = Header(endpoint=endpoint, status=200, script=script.sampled)
    return Capture(header=header, events=events, end=End(at_s=0.2, cut=False, **end))


def call(index: int, name: str, arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"name": name, "arguments": arguments}}]}


REASONING = {"reasoning": "User greets. Reply briefly."}
CONTENT = {"content": "Hello there! 👋🏽 How can I help?"}


def test_score_complete() -> None:
    scored = score(SCRIPT["plain"], chat(SCRIPT["plain"], REASONING, CONTENT))
    assert scored.outcome is ScriptOutcome.COMPLETE
    assert scored.differences == ()
    assert scored.kinds == ()


@pytest.mark.parametrize(
    "deltas",
    [
        (REASONING, {"content": "! can?"}),
        ({"content": "User greets. Reply briefly."}, CONTENT),
        (REASONING, CONTENT, CONTENT),
        (REASONING,),
    ],
    ids=["lost words", "reasoning in content", "twice", "no answer"],
)
def test_score_lost_misfiled_or_doubled_text(deltas: tuple[dict[str, Any], ...]) -> None:
    scored = score(SCRIPT["plain"], chat(SCRIPT["plain"], *deltas))
    assert scored.outcome is ScriptOutcome.SILENT
    assert scored.differences
    assert scored.kinds


def test_score_error_event_after_complete_text() -> None:
    complete = chat(SCRIPT["plain"], REASONING, CONTENT)
    error = Event('{"error": {"message": "Unexpected token 200002", "code": 400}}', 0.1)
    scored = score(SCRIPT["plain"], capture(Endpoint.CHAT, SCRIPT["plain"], [*complete.events[:-1], error]))
    assert scored.outcome is ScriptOutcome.REPORTED
    assert scored.differences == ("Unexpected token 200002",)


def test_score_cut_connection() -> None:
    events = list(chat(SCRIPT["plain"], REASONING).events[:1])
    header = Header(endpoint=Endpoint.CHAT, status=200)
    cut = Capture(header=header, events=events, end=End(at_s=1.0, cut=True, detail="peer closed"))
    assert score(SCRIPT["plain"], cut).differences == ("the connection was cut: peer closed",)


def test_score_http_error() -> None:
    header = Header(endpoint=Endpoint.CHAT, status=500)
    refused = Capture(header=header, events=[Event("boom", 0.1, kind=EventKind.BODY)])
    assert score(SCRIPT["plain"], refused).outcome is ScriptOutcome.REPORTED


def test_score_allows_line_feeds_only_between_pieces() -> None:
    script = SCRIPT["two_finals"]
    reasoning = {"reasoning": "Say it twice."}
    joined = chat(script, reasoning, {"content": "The first answer.\nThe second answer."})
    broken = chat(script, reasoning, {"content": "The first\nanswer.The second answer."})
    assert score(script, joined).outcome is ScriptOutcome.COMPLETE
    assert score(script, broken).outcome is ScriptOutcome.SILENT


def test_score_optional_text() -> None:
    script = SCRIPT["python_call"]
    for reasoning in ("Compute it.", "Compute it.print(6 * 7)"):
        assert score(script, chat(script, {"reasoning": reasoning})).outcome is ScriptOutcome.COMPLETE
    as_call = chat(script, {"reasoning": "Compute it."}, call(0, "python", "print(6 * 7)"))
    assert score(script, as_call).outcome is ScriptOutcome.COMPLETE
    assert score(script, chat(script, {"reasoning": "print(6 * 7)"})).outcome is ScriptOutcome.SILENT


def test_score_reformatted_arguments_of_unstreamed_responses() -> None:
    script = SCRIPT["unknown_recipient"]

    def answer(arguments: str) -> Capture:
        function = {"name": "someone", "arguments": arguments}
        message = {"reasoning": "Ask someone.", "tool_calls": [{"type": "function", "function": function}]}
        body = {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}
        return capture(Endpoint.CHAT, script, [Event(json.dumps(body), 0.1, kind=EventKind.BODY)])

    assert score(script, answer('{"q": 1}')).outcome is ScriptOutcome.COMPLETE
    assert score(script, answer('{"q": 2}')).outcome is ScriptOutcome.SILENT


def test_score_tool_calls() -> None:
    script = SCRIPT["same_call_twice"]
    paris, rome = '{"city":"Paris"}', '{"city":"Rome"}'
    complete = chat(script, call(0, "get_weather", paris), call(1, "get_weather", rome))
    swapped = chat(script, call(0, "get_weather", rome), call(1, "get_weather", paris))
    leaked = chat(script, call(0, "get_weather", paris[:-2]), call(1, "get_weather", '"}' + rome))
    assert score(script, complete).outcome is ScriptOutcome.COMPLETE
    assert score(script, swapped).outcome is ScriptOutcome.SILENT
    assert score(script, leaked).outcome is ScriptOutcome.SILENT


def test_score_stray_text() -> None:
    script = SCRIPT["text_between"]
    reasoning, content = {"reasoning": "Thinking."}, {"content": "Hi there."}
    lost = chat(script, reasoning, content)
    scored = chat(script, reasoning, {"content": "Here comes the answer.Hi there."})
    assert score(script, lost).outcome is ScriptOutcome.SILENT
    assert score(script, scored).outcome is ScriptOutcome.COMPLETE


def test_score_cut_stream_needs_finish_reason_length() -> None:
    script = SCRIPT["cut_in_reasoning"]
    delta = {"reasoning": "One two three four five six seven"}
    assert score(script, chat(script, delta, finish="length")).outcome is ScriptOutcome.COMPLETE
    without_length = score(script, chat(script, delta, finish="stop"))
    assert without_length.outcome is ScriptOutcome.SILENT
    assert "not told that the stream was cut" in without_length.differences[0]


def responses(script: Script, deltas: str, final: str) -> Capture:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": final}]}
    events: list[dict[str, Any]] = [
        {
            "type": "response.output_text.delta",
            "item_id": "m",
            "output_index": 0,
            "content_index": 0,
            "delta": deltas,
        },
        {"type": "response.completed", "response": {"status": "completed", "output": [item]}},
    ]
    rows = [
        Event(json.dumps({**row, "sequence_number": number}), 0.1, str(row["type"]))
        for number, row in enumerate(events)
    ]
    return capture(Endpoint.RESPONSES, script, rows)


def test_score_responses_deltas_and_final_object() -> None:
    script, text = SCRIPT["final_only"], "Paris is the capital of France."
    assert score(script, responses(script, text, text)).outcome is ScriptOutcome.COMPLETE
    assert score(script, responses(script, "Paris capital.", text)).differences[0].startswith("content: ")
    assert (
        score(script, responses(script, text, "")).differences[0].startswith("content of the final object: ")
    )


def test_score_unstreamed_responses() -> None:
    script = SCRIPT["cut_in_reasoning"]
    item = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "One two"}]}
    body = json.dumps({"object": "response", "status": "completed", "output": [item]})
    scored = score(script, capture(Endpoint.RESPONSES, script, [Event(body, 0.1, kind=EventKind.BODY)]))
    assert scored.outcome is ScriptOutcome.SILENT
    assert [words.partition(":")[0] for words in scored.differences] == [
        "reasoning",
        "the client is not told that the response was cut",
    ]


@pytest.mark.parametrize(("counted", "outcome"), [(23, ScriptOutcome.COMPLETE), (2, ScriptOutcome.SILENT)])
def test_score_tool_output_missing_from_next_prompt(counted: int, outcome: ScriptOutcome) -> None:
    script = SCRIPT["turn_python_first"]
    complete = responses(script, "The result is 42.", "The result is 42.")
    final = json.loads(complete.events[1].data)
    final["response"]["usage"] = {"output_tokens_details": {"tool_output_tokens_per_turn": [0, counted]}}
    events = [complete.events[0], complete.events[1]._replace(data=json.dumps(final))]
    assert score(script, capture(Endpoint.RESPONSES, script, events)).outcome is outcome


def raw(script: Script, ids: tuple[int, ...], text: str) -> Capture:
    choice = {"index": 0, "text": text, "token_ids": list(ids), "finish_reason": "stop"}
    events = [Event(json.dumps({"choices": [choice]}), 0.1), Event("[DONE]", 0.1)]
    return capture(Endpoint.COMPLETIONS, script, events)


def test_score_completions() -> None:
    script = SCRIPT["tool_call"]
    text = vocab.join_bytes(script.sampled[:-1]).decode()
    assert score(script, raw(script, script.sampled, text)).outcome is ScriptOutcome.COMPLETE
    assert score(script, raw(script, script.sampled, text + "<|call|>")).outcome is ScriptOutcome.COMPLETE
    assert score(script, raw(script, script.sampled[:-3], text)).outcome is ScriptOutcome.SILENT
    assert score(script, raw(script, script.sampled, text[:-4])).outcome is ScriptOutcome.SILENT
