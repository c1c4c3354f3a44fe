"""Scores of captures written by hand: whole, told, silent."""

import json
from typing import Any

import pytest

from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.lab.score import Outcome, score
from inspector.lab.scripts import Script, named
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


def test_everything_in_its_field_is_whole() -> None:
    scored = score(SCRIPT["plain"], chat(SCRIPT["plain"], REASONING, CONTENT))
    assert scored.outcome is Outcome.WHOLE
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
def test_lost_moved_or_doubled_text_is_silent(deltas: tuple[dict[str, Any], ...]) -> None:
    scored = score(SCRIPT["plain"], chat(SCRIPT["plain"], *deltas))
    assert scored.outcome is Outcome.SILENT
    assert scored.differences
    assert scored.kinds


def test_an_error_event_is_told_even_when_all_text_came() -> None:
    whole = chat(SCRIPT["plain"], REASONING, CONTENT)
    error = Event('{"error": {"message": "Unexpected token 200002", "code": 400}}', 0.1)
    scored = score(SCRIPT["plain"], capture(Endpoint.CHAT, SCRIPT["plain"], [*whole.events[:-1], error]))
    assert scored.outcome is Outcome.TOLD
    assert scored.differences == ("Unexpected token 200002",)


def test_a_connection_that_is_cut_is_told() -> None:
    events = list(chat(SCRIPT["plain"], REASONING).events[:1])
    header = Header(endpoint=Endpoint.CHAT, status=200)
    cut = Capture(header=header, events=events, end=End(at_s=1.0, cut=True, detail="peer closed"))
    assert score(SCRIPT["plain"], cut).differences == ("the connection was cut: peer closed",)


def test_a_refused_request_is_told() -> None:
    header = Header(endpoint=Endpoint.CHAT, status=500)
    refused = Capture(header=header, events=[Event("boom", 0.1, kind=EventKind.BODY)])
    assert score(SCRIPT["plain"], refused).outcome is Outcome.TOLD


def test_line_feeds_between_pieces_are_allowed_and_inside_they_are_not() -> None:
    script = SCRIPT["two_finals"]
    reasoning = {"reasoning": "Say it twice."}
    joined = chat(script, reasoning, {"content": "The first answer.\nThe second answer."})
    broken = chat(script, reasoning, {"content": "The first\nanswer.The second answer."})
    assert score(script, joined).outcome is Outcome.WHOLE
    assert score(script, broken).outcome is Outcome.SILENT


def test_text_that_no_field_is_promised_for_may_come_or_not() -> None:
    script = SCRIPT["python_call"]
    for reasoning in ("Compute it.", "Compute it.print(6 * 7)"):
        assert score(script, chat(script, {"reasoning": reasoning})).outcome is Outcome.WHOLE
    as_call = chat(script, {"reasoning": "Compute it."}, call(0, "python", "print(6 * 7)"))
    assert score(script, as_call).outcome is Outcome.WHOLE
    assert score(script, chat(script, {"reasoning": "print(6 * 7)"})).outcome is Outcome.SILENT


def test_text_that_may_come_as_a_call_may_be_reformatted_where_nothing_is_streamed() -> None:
    script = SCRIPT["unknown_recipient"]

    def answer(arguments: str) -> Capture:
        function = {"name": "someone", "arguments": arguments}
        message = {"reasoning": "Ask someone.", "tool_calls": [{"type": "function", "function": function}]}
        body = {"object": "chat.completion", "choices": [{"index": 0, "message": message}]}
        return capture(Endpoint.CHAT, script, [Event(json.dumps(body), 0.1, kind=EventKind.BODY)])

    assert score(script, answer('{"q": 1}')).outcome is Outcome.WHOLE
    assert score(script, answer('{"q": 2}')).outcome is Outcome.SILENT


def test_tool_calls_are_compared_by_name_and_arguments_in_order() -> None:
    script = SCRIPT["same_call_twice"]
    paris, rome = '{"city":"Paris"}', '{"city":"Rome"}'
    whole = chat(script, call(0, "get_weather", paris), call(1, "get_weather", rome))
    swapped = chat(script, call(0, "get_weather", rome), call(1, "get_weather", paris))
    leaked = chat(script, call(0, "get_weather", paris[:-2]), call(1, "get_weather", '"}' + rome))
    assert score(script, whole).outcome is Outcome.WHOLE
    assert score(script, swapped).outcome is Outcome.SILENT
    assert score(script, leaked).outcome is Outcome.SILENT


def test_text_beside_any_message_must_be_somewhere() -> None:
    script = SCRIPT["text_between"]
    reasoning, content = {"reasoning": "Thinking."}, {"content": "Hi there."}
    lost = chat(script, reasoning, content)
    found = chat(script, reasoning, {"content": "Here comes the answer.Hi there."})
    assert score(script, lost).outcome is Outcome.SILENT
    assert score(script, found).outcome is Outcome.WHOLE


def test_a_cut_stream_must_say_so() -> None:
    script = SCRIPT["cut_in_reasoning"]
    delta = {"reasoning": "One two three four five six seven"}
    assert score(script, chat(script, delta, finish="length")).outcome is Outcome.WHOLE
    told_nothing = score(script, chat(script, delta, finish="stop"))
    assert told_nothing.outcome is Outcome.SILENT
    assert "not told that the stream was cut" in told_nothing.differences[0]


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


def test_responses_must_be_whole_in_deltas_and_in_the_final_object() -> None:
    script, text = SCRIPT["final_only"], "Paris is the capital of France."
    assert score(script, responses(script, text, text)).outcome is Outcome.WHOLE
    assert score(script, responses(script, "Paris capital.", text)).differences[0].startswith("content: ")
    assert (
        score(script, responses(script, text, "")).differences[0].startswith("content of the final object: ")
    )


def test_a_response_that_is_not_streamed_is_compared_once_and_called_a_response() -> None:
    script = SCRIPT["cut_in_reasoning"]
    item = {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "One two"}]}
    body = json.dumps({"object": "response", "status": "completed", "output": [item]})
    scored = score(script, capture(Endpoint.RESPONSES, script, [Event(body, 0.1, kind=EventKind.BODY)]))
    assert scored.outcome is Outcome.SILENT
    assert [words.partition(":")[0] for words in scored.differences] == [
        "reasoning",
        "the client is not told that the response was cut",
    ]


@pytest.mark.parametrize(("counted", "outcome"), [(23, Outcome.WHOLE), (2, Outcome.SILENT)])
def test_a_tools_output_must_reach_the_next_turns_prompt(counted: int, outcome: Outcome) -> None:
    script = SCRIPT["turn_python_first"]
    whole = responses(script, "The result is 42.", "The result is 42.")
    final = json.loads(whole.events[1].data)
    final["response"]["usage"] = {"output_tokens_details": {"tool_output_tokens_per_turn": [0, counted]}}
    events = [whole.events[0], whole.events[1]._replace(data=json.dumps(final))]
    assert score(script, capture(Endpoint.RESPONSES, script, events)).outcome is outcome


def raw(script: Script, ids: tuple[int, ...], text: str) -> Capture:
    choice = {"index": 0, "text": text, "token_ids": list(ids), "finish_reason": "stop"}
    events = [Event(json.dumps({"choices": [choice]}), 0.1), Event("[DONE]", 0.1)]
    return capture(Endpoint.COMPLETIONS, script, events)


def test_plain_completions_must_show_every_token_but_the_text_of_the_stop() -> None:
    script = SCRIPT["tool_call"]
    text = vocab.join_bytes(script.sampled[:-1]).decode()
    assert score(script, raw(script, script.sampled, text)).outcome is Outcome.WHOLE
    assert score(script, raw(script, script.sampled, text + "<|call|>")).outcome is Outcome.WHOLE
    assert score(script, raw(script, script.sampled[:-3], text)).outcome is Outcome.SILENT
    assert score(script, raw(script, script.sampled, text[:-4])).outcome is Outcome.SILENT
