"""One stream a kind of finding, written as tables; what must be found stands beside it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from inspector.audit import Finding, Kind, Severity, audit, explain
from inspector.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.harmony.vocab import encode
from inspector.reading import Evidence, read
from tests.support.streams import CLOSED, Step, chat, chat_chunk, completion

ANALYSIS: Step = ("<|channel|>analysis<|message|>", {"role": "assistant", "content": ""})
FINAL: Step = ("<|end|><|start|>assistant<|channel|>final<|message|>", {})
STOP: Step = ("<|return|>", {})


def said(text: str, **delta: Any) -> Step:
    return text, delta


def call(index: int, arguments: str | None = None, name: str | None = None) -> dict[str, Any]:
    function = {"name": name} if name is not None else {}
    if arguments is not None:
        function["arguments"] = arguments
    return {"tool_calls": [{"index": index, "function": function}]}


def opened(name: str, *, first: bool = True) -> str:
    start = "" if first else "<|start|>assistant"
    return f"{start}<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"


def found(capture: Capture) -> list[Finding]:
    return audit(read(capture))


def brief(findings: Sequence[Finding]) -> list[tuple[Kind, str | None, str | None, str | None]]:
    return [(one.kind, one.field, one.generated, one.delivered) for one in findings]


def places(finding: Finding) -> tuple[int | None, int | None, int | None, int | None]:
    return finding.token_start, finding.token_end, finding.event_start, finding.event_end


def asked(capture: Capture, **request: Any) -> Capture:
    return replace(capture, header=replace(capture.header, request=request))


GOOD: list[Step] = [
    ANALYSIS,
    said("Think", reasoning="Think", reasoning_content="Think"),
    said(" hard.", reasoning=" hard.", reasoning_content=" hard."),
    FINAL,
    said("Yes", content="Yes"),
    said(" sir", content=" sir"),
    STOP,
]


def changed(**steps: Mapping[str, Any]) -> list[Step]:
    """GOOD with the deltas of some steps, `_4=...`, replaced."""
    return [(text, steps.get(f"_{number}", delta)) for number, (text, delta) in enumerate(GOOD)]


def test_a_whole_stream_has_no_finding() -> None:
    assert found(chat(GOOD, usage=15)) == []


def test_reasoning_under_two_names_is_one_delivery() -> None:
    assert read(chat(GOOD)).choice.delivered().reasoning == "Think hard."


def test_lost_text_is_dropped_at_its_tokens_and_events() -> None:
    (finding,) = found(chat(changed(_2={})))
    assert brief([finding]) == [(Kind.DROPPED, "reasoning", " hard.", "")]
    assert places(finding) == (4, 6, 2, 3)
    assert finding.severity is Severity.ERROR


def test_a_whole_lost_message_is_one_finding() -> None:
    (finding,) = found(chat(changed(_4={}, _5={})))
    assert brief([finding]) == [(Kind.DROPPED, "content", "Yes sir", "")]


def test_text_in_another_field_is_misrouted() -> None:
    (finding,) = found(chat(changed(_2={"content": " hard."})))
    assert brief([finding]) == [(Kind.MISROUTED, "reasoning", " hard.", " hard.")]
    assert (finding.delivered_in, places(finding)) == ("content", (4, 6, 2, 3))


def test_text_in_another_field_and_another_event_is_misrouted() -> None:
    (finding,) = found(chat(changed(_2={}, _3={"content": " hard."})))
    assert brief([finding]) == [(Kind.MISROUTED, "reasoning", " hard.", " hard.")]


def test_text_that_arrives_an_event_later_is_no_finding() -> None:
    steps = changed(_1={}, _2={"reasoning": "Think"}, _3={"reasoning": " hard."})
    assert found(chat(steps)) == []


def test_text_held_back_does_not_hide_a_loss() -> None:
    steps = [
        ANALYSIS,
        said("one"),
        said(" two", reasoning="one"),
        said(" three", reasoning=" two"),
        said(" four"),
        said(" five", reasoning=" four"),
        ("<|end|>", {"reasoning": " five"}),
    ]
    assert brief(found(chat(steps))) == [(Kind.DROPPED, "reasoning", " three", "")]


def test_text_held_back_is_told_from_equal_words_of_its_event() -> None:
    steps = [
        ANALYSIS,
        said(" the"),
        said(" cat the", reasoning=" the"),
        said(" dog", reasoning=" cat the"),
        said(" lost"),
        ("<|end|>", {"reasoning": " dog"}),
    ]
    assert brief(found(chat(steps))) == [(Kind.DROPPED, "reasoning", " lost", "")]


def test_equal_words_are_told_apart_by_the_event_that_carried_them() -> None:
    steps = [ANALYSIS, *(said(" the", reasoning=" the") for _ in range(5)), ("<|end|>", {})]
    steps[3] = (" the", {})
    (finding,) = found(chat(steps))
    assert places(finding) == (5, 6, 3, 4)


def test_of_equal_words_in_one_event_the_first_are_lost() -> None:
    steps: list[Step] = [ANALYSIS, (" the the the", {"reasoning": " the"}), ("<|end|>", {})]
    (finding,) = found(chat(steps))
    assert (finding.kind, finding.token_start, finding.token_end) == (Kind.DROPPED, 3, 5)


def test_of_equal_words_apart_in_one_event_the_first_are_lost() -> None:
    steps: list[Step] = [ANALYSIS, (" the cat the dog the", {"reasoning": " the the"}), ("<|end|>", {})]
    findings = found(chat(steps))
    assert [(one.kind, one.token_start, one.token_end) for one in findings] == [
        (Kind.DROPPED, 3, 5),
        (Kind.DROPPED, 6, 7),
    ]


def test_text_sent_twice_is_duplicated_and_names_the_tokens_that_it_repeats() -> None:
    (finding,) = found(chat(changed(_5={"content": " sir sir"})))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, " sir")]
    assert (finding.token_start, finding.token_end) == (13, 14)


def test_text_from_nowhere_is_duplicated_without_tokens() -> None:
    (finding,) = found(chat(changed(_6={"content": "Bye!"})))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, "Bye!")]
    assert finding.token_start is None


def test_swapped_text_is_reordered() -> None:
    (finding,) = found(chat(changed(_4={"content": " sir"}, _5={"content": "Yes"})))
    assert finding.kind is Kind.REORDERED
    assert finding.generated in {"Yes", " sir"}


@pytest.mark.parametrize(("sent", "generated"), [("es sir", "Yes"), ("sir", "Yes sir")])
def test_text_that_begins_inside_a_token_is_garbled(sent: str, generated: str) -> None:
    (finding,) = found(chat([*GOOD[:4], said("Yes sir", content=sent), STOP]))
    assert brief([finding]) == [(Kind.GARBLED, "content", generated, sent.removesuffix(" sir"))]


def test_a_character_sent_in_halves_is_garbled() -> None:
    hand = encode(" 👋")
    assert len(hand) == 2
    data = [
        chat_chunk(encode("<|channel|>final<|message|>"), {}),
        chat_chunk(hand[:1], {"content": " \ufffd"}),
        chat_chunk(hand[1:], {"content": "\ufffd"}),
        chat_chunk(encode("<|return|>"), {}, finish="stop"),
        "[DONE]",
    ]
    (finding,) = found(Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(one) for one in data]))
    assert brief([finding]) == [(Kind.GARBLED, "content", "👋", "\ufffd\ufffd")]
    assert (finding.token_start, finding.token_end) == (4, 5)


def test_a_character_held_back_to_its_last_token_is_no_finding() -> None:
    hand = encode(" 👋")
    data = [
        chat_chunk(encode("<|channel|>final<|message|>"), {}),
        chat_chunk(hand[:1], {"content": " "}),
        chat_chunk(hand[1:], {"content": "👋"}),
        chat_chunk(encode("<|return|>"), {}, finish="stop"),
        "[DONE]",
    ]
    assert found(Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(one) for one in data])) == []


@pytest.mark.parametrize("sent", [" ", " \ufffd"])
def test_a_character_that_the_end_cuts_off_may_come_or_not(sent: str) -> None:
    data = [
        chat_chunk(encode("<|channel|>final<|message|>Hi"), {"content": "Hi"}),
        chat_chunk(encode(" 👋")[:1], {"content": sent}, finish="length"),
        "[DONE]",
    ]
    findings = found(Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(one) for one in data]))
    assert [one.kind for one in findings] == [Kind.TRUNCATED]


CALLS: list[Step] = [
    (opened("f"), call(0, "", "f")),
    ('{"a":', call(0, '{"a":')),
    ("1}", call(0, "1}")),
    ("<|call|>", {}),
    (opened("g", first=False), call(1, "", "g")),
    ('{"b":', call(1, '{"b":')),
    ("2}", call(1, "2}")),
    ("<|call|>", {}),
]


def calls(**steps: Mapping[str, Any]) -> Capture:
    table = [(text, steps.get(f"_{number}", delta)) for number, (text, delta) in enumerate(CALLS)]
    return chat(table, finish="tool_calls")


def test_two_whole_calls_have_no_finding() -> None:
    assert found(calls()) == []


def test_the_end_of_a_call_under_the_next_index_is_misrouted_and_breaks_the_arguments() -> None:
    findings = found(calls(_2=call(1, "1}")))
    assert (Kind.MISROUTED, "tool_calls[0].arguments", "1}", "1}") in brief(findings)
    assert {one.kind for one in findings} == {Kind.MISROUTED, Kind.INVALID_TOOL_ARGUMENTS}


def test_the_end_of_a_call_under_an_index_without_a_name_is_not_told_twice() -> None:
    findings = found(chat([*CALLS[:2], ("1}<|call|>", call(1, "1}"))], finish="tool_calls"))
    assert {one.kind for one in findings} == {Kind.MISROUTED, Kind.INVALID_TOOL_ARGUMENTS}
    assert [one.delivered_in for one in findings if one.delivered_in] == ["tool_calls[1].arguments"]


def test_a_lost_call_is_one_finding_and_the_shift_of_the_next_one_is_none() -> None:
    capture = calls(_0={}, _1={}, _2={}, _4=call(0, "", "g"), _5=call(0, '{"b":'), _6=call(0, "2}"))
    (finding,) = found(capture)
    assert brief([finding]) == [(Kind.DROPPED, "tool_calls[0].arguments", '{"a":1}', "")]
    assert "call of “f”" in explain(finding)


@pytest.mark.parametrize("lost", [0, 1])
def test_of_two_equal_calls_the_event_tells_which_is_lost(lost: int) -> None:
    head = "<|start|>assistant<|channel|>commentary to=functions.f json<|message|>{}"
    steps: list[Step] = [
        (head.removeprefix("<|start|>assistant"), {}),
        ("<|call|>", {}),
        (head, {}),
        ("<|call|>", {}),
    ]
    kept = 2 * (1 - lost)
    steps[kept] = (steps[kept][0], call(0, "{}", "f"))
    (finding,) = found(chat(steps))
    assert (finding.kind, finding.field) == (Kind.DROPPED, f"tool_calls[{lost}].arguments")
    assert finding.event_start == 2 * lost


def test_calls_counted_from_one_are_told_as_protocol() -> None:
    capture = calls(
        _0=call(1, "", "f"), _1=call(1, '{"a":'), _2=call(1, "1}"),
        _4=call(2, "", "g"), _5=call(2, '{"b":'), _6=call(2, "2}"),
    )  # fmt: skip
    assert [one.kind for one in found(capture)] == [Kind.PROTOCOL]


def test_arguments_that_lose_a_token_are_dropped_and_no_json() -> None:
    findings = found(calls(_1={}))
    assert brief(findings) == [
        (Kind.DROPPED, "tool_calls[0].arguments", '{"a":', ""),
        (Kind.INVALID_TOOL_ARGUMENTS, "tool_calls[0].arguments", '{"a":1}', "1}"),
    ]
    assert {one.severity for one in findings} == {Severity.ERROR}


def test_arguments_that_were_never_json_are_a_warning() -> None:
    steps: list[Step] = [(opened("f") + "nope", call(0, "nope", "f")), ("<|call|>", {})]
    (finding,) = found(chat(steps, finish="tool_calls"))
    assert (finding.kind, finding.severity) == (Kind.INVALID_TOOL_ARGUMENTS, Severity.WARNING)


def test_arguments_of_another_content_type_need_not_be_json() -> None:
    head = "<|channel|>commentary to=functions.f code<|message|>"
    assert found(chat([(head + "x = 1", call(0, "x = 1", "f")), ("<|call|>", {})])) == []


def test_a_name_that_never_came_and_another_name_are_told() -> None:
    assert brief(found(calls(_0={}))) == [(Kind.DROPPED, "tool_calls[0].name", "f", "")]
    assert brief(found(calls(_0=call(0, "", "h")))) == [(Kind.GARBLED, "tool_calls[0].name", "f", "h")]


def test_several_calls_in_one_event_are_kept_apart() -> None:
    both = {"tool_calls": call(0, '{"a":1}', "f")["tool_calls"] + call(1, '{"b":2}', "g")["tool_calls"]}
    text = opened("f") + '{"a":1}<|call|>' + opened("g", first=False) + '{"b":2}<|call|>'
    assert found(chat([(text, both)], finish="tool_calls")) == []


def test_one_call_only_by_request_is_a_warning() -> None:
    capture = asked(calls(_4={}, _5={}, _6={}), parallel_tool_calls=False)
    assert [(one.kind, one.severity) for one in found(capture)] == [(Kind.UNSERVED, Severity.WARNING)]


def test_reasoning_that_the_request_hides_is_no_loss() -> None:
    hidden = chat(changed(_1={}, _2={}))
    assert [one.kind for one in found(hidden)] == [Kind.DROPPED]
    assert found(asked(hidden, include_reasoning=False)) == []


@pytest.mark.parametrize("sent", [{}, {"reasoning": "print(1)"}, {"content": "print(1)"}])
def test_calls_of_built_in_tools_are_promised_no_field(sent: Mapping[str, Any]) -> None:
    findings = found(
        chat([("<|channel|>analysis to=python code<|message|>print(1)", sent), ("<|call|>", {})])
    )
    assert all(one.severity is Severity.WARNING for one in findings)
    # In the reasoning it does no harm; in the answer a person reads the call.
    assert [one.kind for one in findings] == ([] if "reasoning" in sent else [Kind.UNSERVED])


def test_a_swallowed_refusal_is_the_refusal_and_one_loss() -> None:
    steps = [*GOOD[:3], ("<|end|>comment here", {}), STOP]
    findings = found(chat(steps))
    assert [(one.kind, one.token_start, one.token_end) for one in findings] == [
        (Kind.UNEXPECTED_TOKEN, 7, 8),
        (Kind.UNSERVED, 7, 9),
    ]
    assert findings[0].delivered == "Unexpected token 12606 while expecting start token 200006"


def test_a_refusal_that_the_server_told_is_not_told_twice() -> None:
    capture = chat([*GOOD[:3], ("<|end|>comment", {})], finish=None)
    error = Event(json.dumps({"error": {"message": "Unexpected token 12606", "code": 400}}))
    events = [*capture.events[:-1], error, capture.events[-1]]
    kinds = [one.kind for one in found(replace(capture, events=events))]
    assert kinds == [Kind.UNEXPECTED_TOKEN, Kind.SERVER_ERROR]


def test_framing_sent_as_text_is_misrouted() -> None:
    steps = [
        *GOOD[:3],
        ("<|end|><|start|>assistant<|channel|>fin", {"content": "<|start|>assistant<|channel|>fin"}),
    ]
    findings = found(chat(steps, finish="length"))
    assert [(one.kind, one.field, one.delivered_in) for one in findings] == [
        (Kind.MISROUTED, None, "content"),
        (Kind.TRUNCATED, None, None),
    ]


@pytest.mark.parametrize(
    ("cut", "where"), [(2, "message on the analysis channel"), (4, "message on the final channel")]
)
def test_a_stream_cut_in_a_body_is_truncated(cut: int, where: str) -> None:
    (finding,) = found(chat(GOOD[: cut + 1], finish="length"))
    assert finding.kind is Kind.TRUNCATED
    assert where in explain(finding)


def test_where_no_message_begins_none_is_left_open() -> None:
    capture = chat([("comment", {})], finish="length")
    prompt = {"prompt_token_ids": encode("<|start|>user<|message|>x<|end|>"), "choices": []}
    findings = found(replace(capture, events=[Event(json.dumps(prompt)), *capture.events]))
    assert [one.kind for one in findings] == [Kind.UNEXPECTED_TOKEN, Kind.UNSERVED]


def test_a_stop_string_may_end_a_body() -> None:
    assert found(chat(GOOD[:5], finish="stop")) == []


def test_tokens_after_return_are_refused_and_not_truncated() -> None:
    findings = found(chat([*GOOD[:-1], ("<|return|>more and more", {})], finish="length"))
    assert [one.kind for one in findings] == [Kind.UNEXPECTED_TOKEN, Kind.UNSERVED]


def test_ids_with_holes_accuse_nobody() -> None:
    data = [
        chat_chunk(encode("<|message|>"), {}),
        *(chat_chunk(encode(text), {"reasoning": text}) for text in ("Think", " hard")),
        chat_chunk(None, {"reasoning": " now"}),
        chat_chunk(encode("<|end|>assistant"), {}),
        chat_chunk(encode("<|message|>"), {"content": ""}),
        chat_chunk(encode("Yes"), {"content": "Yes"}, finish="stop"),
        json.dumps({"choices": [], "usage": {"completion_tokens": 16}}),
        "[DONE]",
    ]
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=[Event(one) for one in data], end=CLOSED)
    assert [one.kind for one in found(capture)] == [Kind.COUNT_MISMATCH]


def test_counts_that_differ_are_a_warning() -> None:
    assert [one.kind for one in found(chat(GOOD, usage=14))] == [Kind.COUNT_MISMATCH]


def test_a_stream_without_done_and_a_stream_cut_off() -> None:
    assert [one.kind for one in found(chat(GOOD, done=False))] == [Kind.PROTOCOL]
    broken = chat(GOOD[:3], finish=None, done=False, end=End(at_s=None, cut=True, detail="reset"))
    (finding,) = found(broken)
    assert finding.kind is Kind.DISCONNECTED
    assert "reset" in explain(finding)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error":{"message":"boom","type":"InternalServerError","code":500}}', "boom"),
        ('{"object":"error","message":"old boom","code":500}', "old boom"),
        ('{"detail":"Not Found"}', "Not Found"),
        ("<html>Bad gateway</html>", "Bad gateway"),
        ("", "HTTP 500"),
    ],
)
def test_an_http_error_is_one_server_error(body: str, words: str) -> None:
    header = Header(endpoint=Endpoint.CHAT, status=500)
    events = [Event(body, 0.1, "", EventKind.BODY)] if body else []
    findings = found(Capture(header=header, events=events, end=CLOSED))
    errors = [one for one in findings if one.severity is Severity.ERROR]
    assert [one.kind for one in errors] == [Kind.SERVER_ERROR]
    assert words in explain(errors[0])


def unstreamed(message: Mapping[str, Any], text: str) -> Capture:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "stop", "token_ids": encode(text)}]}
    event = Event(json.dumps(body), 0.1, "", EventKind.BODY)
    return Capture(header=Header(endpoint=Endpoint.CHAT, status=200), events=[event], end=CLOSED)


def test_an_unstreamed_answer_may_join_messages_and_write_arguments_anew() -> None:
    text = "".join(
        [
            "<|channel|>analysis<|message|>One.<|end|>",
            "<|start|>assistant<|channel|>analysis<|message|>Two.<|end|>",
            opened("f", first=False),
            '{"a":1,"b":"é"}<|call|>',
        ]
    )
    tool = {"function": {"name": "f", "arguments": '{"a": 1, "b": "\\u00e9"}'}}
    assert found(unstreamed({"reasoning": "One.\nTwo.", "tool_calls": [tool]}, text)) == []
    (finding,) = found(unstreamed({"reasoning": "One.", "tool_calls": [tool]}, text))
    assert brief([finding]) == [(Kind.DROPPED, "reasoning", "Two.", "")]


def test_line_feeds_that_join_messages_are_not_text_from_nowhere() -> None:
    words = ["One.", "Two.", "Three."]
    text = "<|end|><|start|>assistant".join(f"<|channel|>analysis<|message|>{word}" for word in words)
    (finding,) = found(unstreamed({"reasoning": "One.\nThree."}, text + "<|end|>"))
    assert brief([finding]) == [(Kind.DROPPED, "reasoning", "Two.", "")]


@pytest.mark.parametrize(
    ("request_", "steps", "kinds"),
    [
        ({}, [("<|channel|>analysis<|message|>Hi", "analysisHi"), ("<|return|>", "")], []),
        ({"skip_special_tokens": False}, [("<|message|>Hi", "<|message|>Hi"), ("<|return|>", "")], []),
        (
            {"skip_special_tokens": False, "include_stop_str_in_output": True},
            [("<|message|>Hi", "<|message|>Hi"), ("<|return|>", "<|return|>")],
            [],
        ),
        ({"stop": [" STOP"]}, [("<|message|>Hi there STOP", "Hi there")], []),
        ({"stop": " STOP"}, [("<|message|>Hi", ""), (" there", "Hi"), (" STOP", " there")], []),
        ({"stop_token_ids": encode(" there")}, [("<|message|>Hi", "Hi"), (" there", "")], []),
        ({}, [("<|message|>Hi", "Hi"), (" there", ""), ("<|return|>", "")], [Kind.DROPPED]),
    ],
)
def test_plain_completions_end_where_the_request_says(
    request_: Mapping[str, Any], steps: list[tuple[str, str]], kinds: list[Kind]
) -> None:
    assert [one.kind for one in found(completion(steps, request=request_))] == kinds


def logprobs(name: str) -> dict[str, Any]:
    return {"content": [{"token": name}]}


def test_logprobs_are_evidence_only_when_every_entry_tells_its_id() -> None:
    def stream(names: Sequence[str]) -> Capture:
        chunks = [
            {"choices": [{"index": 0, "delta": {}, "logprobs": logprobs(name), "finish_reason": None}]}
            for name in names
        ]
        events = [Event(json.dumps(chunk)) for chunk in chunks]
        return Capture(header=Header(endpoint=Endpoint.CHAT), events=events)

    named = ["<|channel|>", "final", "<|message|>", "token_id:12194"]
    assert read(stream(named)).choice.evidence is Evidence.LOGPROBS
    assert read(stream(named)).choice.tokens.ids == encode("<|channel|>final<|message|>Hi")
    assert read(stream([*named, "\ufffd"])).choice.evidence is Evidence.NONE


def test_findings_of_several_choices_name_their_choice() -> None:
    data = []
    for text, delta in GOOD:
        last = text == "<|return|>"
        for index in (0, 1):
            lost = index == 1 and text == " sir"
            finish = "stop" if last else None
            data.append(chat_chunk(encode(text), {} if lost else delta, finish=finish, index=index))
    events = [Event(one) for one in [*data, "[DONE]"]]
    (finding,) = found(Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED))
    assert (finding.kind, finding.choice, finding.generated) == (Kind.DROPPED, 1, " sir")


def test_explanations_stay_short_and_texts_stay_exact() -> None:
    long = " word" * 5000
    (finding,) = found(chat([ANALYSIS, (long, {}), ("<|end|>", {})]))
    assert len(explain(finding)) < 300
    assert finding.generated == long


def test_a_call_cut_by_the_token_limit_is_told_although_the_server_says_tool_calls() -> None:
    steps = [(opened("f"), call(0, "", "f")), said('{"a', **call(0, '{"a'))]
    kinds = [one.kind for one in found(chat(steps, finish="tool_calls"))]
    assert kinds == [Kind.TRUNCATED]


def test_arguments_under_an_index_without_a_name_are_told_where_no_field_was_promised() -> None:
    header = "<|channel|>commentary to=someone <|constrain|>json<|message|>"
    steps = [(header, call(0, "", "someone")), ('{"q":', call(0, '{"q":')), ("1}<|call|>", call(1, "1}"))]
    (finding,) = found(chat(steps, finish="tool_calls"))
    assert brief([finding]) == [(Kind.PROTOCOL, "tool_calls[1].arguments", None, None)]
    assert (finding.event_start, finding.event_end) == (2, 3)


def test_an_answer_with_a_content_type_is_promised_to_the_answer() -> None:
    steps = [("<|channel|>final <|constrain|>json<|message|>", {}), ("{}", {"content": "{}"}), STOP]
    assert found(chat(steps)) == []
    assert brief(found(chat([steps[0], ("{}", {}), STOP]))) == [(Kind.DROPPED, "content", "{}", "")]


def test_a_character_that_the_end_of_a_completion_cuts_off_is_no_loss() -> None:
    half = encode(" \U0001f98a")[0]  # a space and the first bytes of the fox
    ids = [*encode("<|channel|>final<|message|>Wave"), half]
    choice = {
        "index": 0,
        "text": "<|channel|>final<|message|>Wave",
        "token_ids": ids,
        "finish_reason": "length",
    }
    events = [Event(json.dumps({"object": "text_completion", "choices": [choice]})), Event("[DONE]")]
    request = {"skip_special_tokens": False}
    header = Header(endpoint=Endpoint.COMPLETIONS, status=200, request=request)
    assert [one.kind for one in found(Capture(header=header, events=events, end=CLOSED))] == [Kind.TRUNCATED]
    lost = {**choice, "text": "<|channel|>final<|message|>"}
    events[0] = Event(json.dumps({"object": "text_completion", "choices": [lost]}))
    assert Kind.DROPPED in {one.kind for one in found(Capture(header=header, events=events, end=CLOSED))}


def response(output: Sequence[Mapping[str, Any]], *, request: Mapping[str, Any], **more: Any) -> Capture:
    """A Responses stream whose deltas are lost on the way: only the final object came."""
    body = {"status": "completed", "output": list(output), **more}
    header = Header(endpoint=Endpoint.RESPONSES, status=200, request=request)
    event = Event(json.dumps({"type": "response.completed", "response": body}))
    return Capture(header=header, events=[event], end=CLOSED)


@pytest.mark.parametrize(("counted", "told"), [(8, True), (7, False)])
def test_a_response_that_used_all_its_tokens_and_calls_itself_completed_is_cut(
    counted: int, told: bool
) -> None:
    capture = response([], request={"max_output_tokens": 8}, usage={"output_tokens": counted})
    assert (Kind.TRUNCATED in {one.kind for one in found(capture)}) is told


def test_an_answer_that_became_a_call_of_a_marker_is_misrouted() -> None:
    item = {"type": "mcp_call", "name": "<|constrain|>json", "server_label": "x", "arguments": "{}"}
    assert brief(found(response([item], request={}))) == [(Kind.MISROUTED, None, "{}", "{}")]


def test_a_function_that_became_a_call_of_the_server_is_misrouted() -> None:
    item = {"type": "mcp_call", "name": "f", "server_label": "functions", "arguments": '{"a":1}'}
    wanted = (Kind.MISROUTED, "tool_calls[0].arguments", '{"a":1}', '{"a":1}')
    assert brief(found(response([item], request={}))) == [wanted]
    own = {**item, "server_label": "deepwiki"}
    assert [(one.kind, one.severity) for one in found(response([own], request={}))] == [
        (Kind.PROTOCOL, Severity.WARNING)
    ]


@pytest.mark.parametrize(("version", "kinds"), [("0.12.0", []), ("0.13.0", [Kind.UNSERVED])])
def test_an_error_stream_of_a_release_that_leaves_ids_out_is_not_parsed_as_if_whole(
    version: str, kinds: list[Kind]
) -> None:
    gaps = [("final<|message|>", {}), said("Hi", content="Hi")]  # what vLLM 0.12 sends of a final message
    capture = chat(gaps, finish=None, done=False, version=version, end=End(at_s=None, cut=True))
    assert [one.kind for one in found(capture) if one.kind is not Kind.DISCONNECTED] == kinds


def test_arguments_that_are_no_json_are_told_where_no_ids_are_known() -> None:
    steps = [(opened("f"), call(0, "", "f")), ('{"a":1}<|call|>', call(0, 'a":1}'))]
    (finding,) = found(chat(steps, finish="tool_calls", with_ids=False))
    assert brief([finding]) == [(Kind.INVALID_TOOL_ARGUMENTS, "tool_calls[0].arguments", None, 'a":1}')]
    assert finding.severity is Severity.WARNING
    assert found(chat(steps, finish="length", with_ids=False))[0].kind is Kind.TRUNCATED
    whole = [(opened("f"), call(0, "", "f")), ('{"a":1}<|call|>', call(0, '{"a":1}'))]
    assert found(chat(whole, finish="tool_calls", with_ids=False)) == []


def answered(*texts: str, final: str) -> Capture:
    """A Responses stream of text deltas, and a final object."""
    item = {"type": "message", "content": [{"type": "output_text", "text": final}]}
    told: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": 0, "item": item}]
    told += [{"type": "response.output_text.delta", "output_index": 0, "delta": text} for text in texts]
    told.append({"type": "response.completed", "response": {"status": "completed", "output": [item]}})
    events = [Event(json.dumps(one)) for one in told]
    return Capture(header=Header(endpoint=Endpoint.RESPONSES, status=200), events=events, end=CLOSED)


def without_protocol(findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if one.kind is not Kind.PROTOCOL]


def test_two_faults_in_a_long_answer_are_two_small_findings() -> None:
    words = [f" word{number}" for number in range(9000)]
    sent = [*words[:10], words[10], words[10], *words[11:-5], words[-5], *words[-5:]]
    findings = without_protocol(found(answered(*sent, final="".join(words))))
    assert brief(findings) == [
        (Kind.DUPLICATED, "content", None, " word10"),
        (Kind.DUPLICATED, "content", None, " word8995"),
    ]


def test_a_swapped_pair_without_ids_is_reordered() -> None:
    (finding,) = without_protocol(found(answered("a", " quick", " brown", " fox", final="a brown quick fox")))
    assert finding.kind is Kind.REORDERED


def test_a_character_that_the_end_of_a_final_text_cuts_off_is_no_loss() -> None:
    assert without_protocol(found(answered("Hi", final="Hi\ufffd"))) == []
    (finding,) = without_protocol(found(answered("Hi", "there", final="Hi\ufffdthere")))
    assert brief([finding]) == [(Kind.DROPPED, "content", "\ufffd", "")]


def test_neighbouring_pieces_of_surplus_are_one_finding() -> None:
    (finding,) = without_protocol(found(answered("Yes", " a", " b", final="Yes")))
    assert brief([finding]) == [(Kind.DUPLICATED, "content", None, " a b")]
    assert (finding.event_start, finding.event_end) == (2, 4)


def test_a_repeated_piece_is_the_surplus_and_not_what_stands_across_two() -> None:
    (finding,) = without_protocol(found(answered("x", "(1)>", "(1)>", "y", final="x(1)>y")))
    assert finding.delivered == "(1)>"


@pytest.mark.parametrize("name", ["g", ""])
def test_a_function_s_name_is_held_against_the_final_object(name: str) -> None:
    call = {"type": "function_call", "name": "f", "arguments": "{}"}
    told = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**call, "name": name}},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{}"},
        {"type": "response.completed", "response": {"status": "completed", "output": [call]}},
    ]
    header = Header(endpoint=Endpoint.RESPONSES, status=200)
    capture = Capture(header=header, events=[Event(json.dumps(one)) for one in told], end=CLOSED)
    (finding,) = without_protocol(found(capture))
    kind = Kind.GARBLED if name else Kind.DROPPED
    assert brief([finding]) == [(kind, "tool_calls[0].name", "f", name)]


def test_a_response_that_failed_without_a_reason_is_a_server_error_and_done_is_no_end_of_one() -> None:
    header = Header(endpoint=Endpoint.RESPONSES, status=200)
    failed = {"type": "response.failed", "response": {"status": "failed", "error": None, "output": []}}
    told = found(Capture(header=header, events=[Event(json.dumps(failed))], end=CLOSED))
    assert [one.kind for one in told] == [Kind.SERVER_ERROR]
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}
    events = [Event(json.dumps(delta)), Event("[DONE]")]
    told = without_protocol(found(Capture(header=header, events=events, end=CLOSED)))
    assert [one.kind for one in told] == [Kind.DISCONNECTED]


@pytest.mark.parametrize(
    "item",
    [
        {"type": ["message"]},
        {"type": "function_call", "name": {}, "arguments": []},
        {"type": "mcp_call", "name": None, "server_label": []},
    ],
)
def test_a_final_object_of_any_shape_is_read(item: Mapping[str, Any]) -> None:
    messages = [{"role": ["assistant"], "content": {}}]
    usage = {"output_tokens": 10**400}
    response_ = response([item], request={}, usage=usage, output_messages=messages)
    assert all(isinstance(one, Finding) for one in found(response_))


def test_markers_in_a_completion_s_text_tell_what_an_unknown_request_asked_for() -> None:
    text = "<|channel|>final<|message|>Hi<|return|>"
    capture = completion([(text, text.removesuffix("<|return|>"))])
    assert found(capture) == []
    assert [one.kind for one in found(completion([(text, "finalHi")]))] == []


@pytest.mark.parametrize("known", [True, False])
def test_the_prompt_that_echo_puts_first_is_not_the_answer(known: bool) -> None:
    text = "<|channel|>final<|message|>Hi"
    steps = [(text, f"Say hi{text}"), (" there", " there"), ("<|return|>", "")]
    request_ = {"echo": True, "prompt": "Say hi", "skip_special_tokens": False} if known else None
    assert found(completion(steps, request=request_)) == []


def test_where_the_answer_begins_is_not_known_nothing_is_called_lost() -> None:
    steps = [("<|channel|>final<|message|>Hi<|return|>", "Say hiHi")]
    assert found(completion(steps, request={"echo": True})) == []
    (finding,) = found(completion(steps, request={"echo": False}))
    assert (finding.kind, finding.generated) == (Kind.GARBLED, "final")


@pytest.mark.parametrize("reason", ["abort", "content_filter", "error"])
def test_an_answer_that_ends_open_for_another_reason_than_a_stop_is_truncated(reason: str) -> None:
    assert [one.kind for one in found(chat(GOOD[:5], finish=reason))] == [Kind.TRUNCATED]


def test_one_choice_of_two_that_never_finished_is_a_broken_connection() -> None:
    data = [
        chat_chunk(
            encode(text), delta, finish="stop" if text == "<|return|>" and index == 0 else None, index=index
        )
        for text, delta in GOOD
        for index in (0, 1)
    ]
    events = [Event(one) for one in data[:-1]]
    capture = Capture(header=Header(endpoint=Endpoint.CHAT), events=events, end=CLOSED)
    assert Kind.DISCONNECTED in {one.kind for one in found(capture)}


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("<|start|>user<|message|>x<|end|>oops", Kind.UNEXPECTED_TOKEN),
        ("<|start|>nobody<|message|>", Kind.BAD_HEADER),
    ],
)
def test_a_prompt_that_breaks_the_format_is_told_without_a_place_in_the_answer(
    prompt: str, kind: Kind
) -> None:
    first = json.dumps({"prompt_token_ids": encode(prompt), "choices": []})
    capture = chat([("<|start|>assistant<|channel|>final<|message|>Hi", {"content": "Hi"}), STOP])
    told = found(replace(capture, events=[Event(first, 0.0), *capture.events]))
    (finding,) = [one for one in told if one.kind in {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER}]
    assert (finding.kind, finding.severity, finding.token_start) == (kind, Severity.ERROR, None)
    assert finding.delivered


def test_counts_are_not_held_against_what_was_hidden_or_cannot_be_told() -> None:
    short = chat([("", {"content": "Hi"})], usage=500, with_ids=False)
    assert Kind.COUNT_MISMATCH in {one.kind for one in found(short)}
    assert found(asked(short, include_reasoning=False)) == []
    tool = {"type": "web_search_call", "action": {}}
    counted = found(response([tool], request={}, usage={"output_tokens": 500}))
    assert [one.kind for one in counted] == [Kind.NO_ANSWER]
