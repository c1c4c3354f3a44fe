"""Captures in which each code of a finding is found: one stream a code, more where its words differ."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from inspector.analysis.audit import Code
from inspector.capture.capture import CLOSED_BY, Capture, ClosedBy, End, Endpoint, Event, EventKind, Header
from inspector.files.importers import sniff_and_read
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import CLEAN, CLOSED, LEAK, LOSS, Step, aborted, chat, chat_chunk

__all__ = ["CAPTURES", "RESPONSES", "answer", "answer_numbered", "by_rust", "call", "item", "response"]

_CUT: Final = End(at_s=None, cut=True, detail="reset by peer")


def _closed(by: ClosedBy) -> End:
    return End(at_s=None, cut=True, detail=CLOSED_BY[by], closed_by=by)


_CALL_ON_FINAL: Final = "<|channel|>final to=functions.f<|message|>"
_PLACE: Final = "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>"
RESPONSES: Final = Header(endpoint=Endpoint.RESPONSES, status=200)


def call(index: int, arguments: str = "", name: str = "") -> dict[str, Any]:
    """The delta of chat that brings a piece of a tool call."""
    function = {**({"name": name} if name else {}), **({"arguments": arguments} if arguments else {})}
    return {"tool_calls": [{"index": index, "function": function}]}


def _id_list(text: str) -> Capture:
    (capture,) = sniff_and_read(json.dumps(encode(text)).encode(), "ids.json")
    return capture


def item(kind: str, text: str, **members: Any) -> dict[str, Any]:
    """An output item of Responses with a text."""
    part = "reasoning_text" if kind == "reasoning" else "output_text"
    return {"type": kind, "id": f"{kind}_1", "content": [{"type": part, "text": text}], **members}


def response(
    output: Sequence[Mapping[str, Any]],
    deltas: Sequence[tuple[int, str]],
    *,
    events: Sequence[Mapping[str, Any]] = (),
    request: Mapping[str, Any] | None = None,
    streamed: Sequence[Mapping[str, Any]] | None = None,
    **final: Any,
) -> Capture:
    """A Responses stream: `deltas` by number of the item, more `events`, and the final object of `output`.

    `streamed` are the items that were added, where they are others than those of the final object.
    """
    kinds = {"message": "output_text", "reasoning": "reasoning_text"}
    added = output if streamed is None else streamed
    payloads: list[Mapping[str, Any]] = [
        {"type": "response.output_item.added", "output_index": number, "item": added_item}
        for number, added_item in enumerate(added)
    ]
    for number, text in deltas:
        added_item = added[number]
        kind = kinds.get(added_item["type"], f"{added_item['type']}_arguments")
        place = {"output_index": number, "item_id": added_item["id"], "delta": text}
        payloads.append({"type": f"response.{kind}.delta", **place})
    payloads.extend(events)
    status = final.setdefault("status", "completed")
    payloads.append({"type": f"response.{status}", "response": {"output": list(output), **final}})
    header = replace(RESPONSES, request=request or {})
    stamped = [Event(json.dumps(payload), (number + 1) * 0.01) for number, payload in enumerate(payloads)]
    return Capture(header=header, events=stamped, end=CLOSED)


def answer(sent: str, final: str, **members: Any) -> Capture:
    """A Responses stream of one message, as it was streamed and as the final object has it."""
    return response([item("message", final)], [(0, sent)], **members)


def _two_calls(changed: Mapping[int, Mapping[str, Any]], request: Mapping[str, Any] | None = None) -> Capture:
    steps: list[Step] = [
        (_PLACE.format("f"), call(0, "", "f")),
        ('{"a":', call(0, '{"a":')),
        ("1}<|call|>", call(0, "1}")),
        ("<|start|>assistant" + _PLACE.format("g"), call(1, "", "g")),
        ("{}<|call|>", call(1, "{}")),
    ]
    table = [(text, changed.get(number, delta)) for number, (text, delta) in enumerate(steps)]
    capture = chat(table, finish="tool_calls")
    return replace(capture, header=replace(capture.header, request=request or {}))


def _uncalled_tools(request: Mapping[str, Any]) -> Capture:
    """A chat stream with a call of the function g, to a request with more keys."""
    steps: list[Step] = [(_PLACE.format("g"), call(0, "", "g")), ("{}", call(0, "{}")), ("<|call|>", {})]
    capture = chat(steps)
    asked = {"messages": [{"role": "user", "content": "Hi"}], **request}
    return replace(capture, header=replace(capture.header, request=asked))


def _texts(*, name: str | None = None, **texts: str) -> Capture:
    """A response without token IDs to a request that offers `lookup`: its texts, or a call."""
    message: dict[str, Any] = {"role": "assistant", **texts}
    if name is not None:
        message["tool_calls"] = [
            {"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}}
        ]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if name is None else "tool_calls"}
    body = Event(data=json.dumps({"choices": [choice]}), kind=EventKind.BODY)
    tools = [{"type": "function", "function": {"name": "lookup"}}]
    request = {"messages": [{"role": "user", "content": "Hi"}], "tools": tools}
    return Capture(header=Header(endpoint=Endpoint.CHAT, request=request), events=[body])


def by_rust(steps: Sequence[Step]) -> Capture:
    """A chat stream of vLLM's Rust front end."""
    capture = chat(steps, counted=True)
    return replace(capture, header=replace(capture.header, owned_by="vllm-frontend-rs"))


def answer_numbered(text: str) -> Capture:
    """A Responses stream of one message, with sequence numbers."""
    capture = answer(text, text)
    events = [
        event._replace(data=json.dumps({**json.loads(event.data), "sequence_number": number}))
        for number, event in enumerate(capture.events)
    ]
    return replace(capture, events=events)


def _repeated(capture: Capture, number: int) -> Capture:
    events = list(capture.events)
    events.insert(number + 1, events[number])
    return replace(capture, events=events)


def _logprobs(counted: int) -> Capture:
    entries = [{"token": "<|channel|>"}, {"token": "final"}, {"token": "<|message|>"}, {"token": "Hi"}]
    chunk = {
        "choices": [{"index": 0, "delta": {"content": "Hi"}, "logprobs": {"content": entries}}],
        "usage": {"completion_tokens": counted},
    }
    data = [json.dumps(chunk), chat_chunk(None, {}, finish="stop"), "[DONE]"]
    header = Header(endpoint=Endpoint.CHAT, status=200)
    return Capture(header=header, events=[Event(payload) for payload in data], end=CLOSED)


def _halves() -> Capture:
    hand = encode(" \U0001f44b")
    data = [
        chat_chunk(encode("<|channel|>final<|message|>"), {}),
        chat_chunk(hand[:1], {"content": " \ufffd"}),
        chat_chunk(hand[1:], {"content": "\ufffd"}),
        chat_chunk(encode("<|return|>"), {}, finish="stop"),
        "[DONE]",
    ]
    return Capture(
        header=Header(endpoint=Endpoint.CHAT), events=[Event(payload) for payload in data], end=CLOSED
    )


def _with_prompt(prompt: str) -> Capture:
    complete = chat(CLEAN)
    first = Event(json.dumps({"prompt_token_ids": encode(prompt), "choices": []}), 0.0)
    return replace(complete, events=[first, *complete.events])


def _error_page() -> Capture:
    body = json.dumps({"error": {"message": "The model `x` does not exist.", "code": 404}})
    header = Header(endpoint=Endpoint.CHAT, status=404)
    return Capture(header=header, events=[Event(body, 0.1, "", EventKind.BODY)], end=CLOSED)


_THINK = "<|channel|>analysis<|message|>"
_FINAL = "<|channel|>final<|message|>"
_F = {"type": "function_call", "id": "fc_1", "name": "f"}


def _parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


_MCP = {"type": "mcp_call", "id": "mcp_1", "server_label": "functions", "name": "f"}
_UNKNOWN_ROLE = "Unknown role: assistantary"
_NOT_START = "Unexpected token 12606 while expecting start token 200006"

CAPTURES: Final[Mapping[Code, Sequence[Capture]]] = {
    Code.TOKEN_REJECTED: [chat([*CLEAN[:2], ("comment", {})])],
    Code.HEADER_REJECTED: [
        chat(
            [
                *CLEAN[:2],
                ("<|start|>assistantary<|channel|>final<|message|>Sunny", {}),
                CLEAN[3],
            ]
        ),
        chat(
            [
                *CLEAN[:2],
                ("<|start|>assistantary<|message|>x<|end|>", {}),
                ("<|start|>assistant" + _FINAL + "Yes", {"content": "Yes"}),
                CLEAN[3],
            ]
        ),
    ],
    Code.PROMPT_REJECTED: [_with_prompt("<|start|>user<|message|>x<|end|>oops")],
    Code.SERVER_REJECTED_TOKEN: [
        aborted([_THINK, "Hm", "<|end|>"], _NOT_START),
        aborted([_THINK + "Hm", "<|end|>"], _NOT_START, event_per_token=False),
        aborted([_THINK, "Hm"], _NOT_START),
        aborted([_THINK, "Hm", "<|end|>"], _NOT_START.replace("12606", "201088")),
    ],
    Code.SERVER_REJECTED_HEADER: [
        aborted([_THINK + "Hm<|end|>", "<|start|>assistantary<|channel|>"], _UNKNOWN_ROLE),
        aborted([_THINK + "Hm<|end|>", "<|start|>assistant<|channel|>"], "could not decode header"),
        aborted(
            [_THINK + "Hm<|end|>", "<|start|>assistant"],
            "Unexpected EOS while waiting for message header to complete",
        ),
        aborted([_THINK + "Hm<|end|>", "<|start|>assistant"], _UNKNOWN_ROLE, event_per_token=False),
        aborted([_THINK, "Hm"], _UNKNOWN_ROLE),
        aborted([_THINK, "Hm"], "could not decode header"),
    ],
    Code.TEXT_LOST: [chat(LOSS)],
    Code.TEXT_IN_OTHER_FIELD: [
        chat(LEAK),
        response([item("reasoning", "Hm."), item("message", "Yes.")], [(0, "Hm"), (1, ".Yes.")]),
    ],
    Code.FRAMING_AS_TEXT: [
        chat(
            [
                *CLEAN[:2],
                ("<|start|>assistant<|channel|>fin", {"content": "<|start|>assistant<|channel|>fin"}),
            ]
        )
    ],
    Code.TEXT_REORDERED: [
        chat([(_FINAL, {}), ("Yes", {"content": " sir"}), (" sir", {"content": "Yes"}), CLEAN[3]])
    ],
    Code.TEXT_CHANGED: [_halves()],
    Code.TEXT_REPEATED: [
        chat(
            [(_FINAL + "Yes", {"content": "Yes"}), (" sir", {"content": " sir sir"}), CLEAN[3]],
            counted=True,
        )
    ],
    Code.TEXT_INVENTED: [chat([*CLEAN[:3], ("<|return|>", {"content": "Bye!"})], counted=True)],
    Code.EVENT_REPEATED: [_repeated(chat(CLEAN, usage=14), 1), _repeated(answer_numbered("Hi"), 1)],
    Code.SEPARATOR_ADDED: [
        chat(
            [
                (_THINK + "One.", {"reasoning": "One."}),
                ("<|end|><|start|>assistant" + _THINK + "Two.", {"reasoning": "\nTwo."}),
                ("<|end|><|start|>assistant" + _FINAL + "Yes", {"content": "Yes"}),
                ("<|return|>", {}),
            ]
        )
    ],
    Code.NO_FIELD: [
        chat([("<|channel|>analysis to=python code<|message|>print(1)<|call|>", {})], finish="stop"),
        chat([*CLEAN[:2], ("<|start|>tool<|message|>Rain<|end|>", {}), *CLEAN[2:]]),
    ],
    Code.NO_FIELD_DELIVERED: [
        chat([("<|channel|>analysis to=python code<|message|>print(1)<|call|>", {"content": "print(1)"})])
    ],
    Code.REJECTED_SILENTLY: [chat([*CLEAN[:2], ("comment here", {})])],
    Code.CALL_LOST: [_two_calls({0: {}, 1: {}, 2: {}, 3: call(0, "", "g"), 4: call(0, "{}")})],
    Code.CALL_LEFT_OUT: [_two_calls({3: {}, 4: {}}, {"parallel_tool_calls": False})],
    Code.CALL_AS_TEXT: [
        by_rust([(_CALL_ON_FINAL, {}), ("{}", {"content": "{}"}), ("<|call|>", {})]),
    ],
    Code.CALL_RENAMED: [
        _two_calls({0: call(0, "", "h")}),
        response([{**_F, "arguments": "{}"}], [(0, "{}")], streamed=[{**_F, "name": "g"}]),
    ],
    Code.CALL_NAME_LOST: [
        _two_calls({0: {}}),
        response([{**_F, "arguments": "{}"}], [(0, "{}")], streamed=[{**_F, "name": ""}]),
    ],
    Code.CALL_NOT_OFFERED: [
        _uncalled_tools({"tools": [{"type": "function", "function": {"name": name}} for name in "fhijk"]}),
        _uncalled_tools({}),
        response(
            [{**_MCP, "server_label": "someone", "name": "someone", "arguments": "{}"}],
            [(0, "{}")],
            request={"input": "Hi", "tools": [{"type": "function", "name": "f"}]},
        ),
    ],
    Code.CALL_INDEX_UNNAMED: [
        chat(
            [
                ("<|channel|>commentary to=someone <|constrain|>json<|message|>", call(0, "", "someone")),
                ('{"q":', call(0, '{"q":')),
                ("1}<|call|>", call(1, "1}")),
            ],
            finish="tool_calls",
        )
    ],
    Code.CALL_INDEX_OUT_OF_PLACE: [
        _two_calls(
            {
                0: call(1, "", "f"),
                1: call(1, '{"a":'),
                2: call(1, "1}"),
                3: call(2, "", "g"),
                4: call(2, "{}"),
            }
        )
    ],
    Code.ARGUMENTS_BROKEN: [
        _two_calls({1: {}}),
        response([{**_F, "arguments": '{"a":1}'}], [(0, '{"a":')]),
        # All of them came, as those of a call that the server runs: nothing else is amiss.
        response([{**_F, "arguments": '{"a":1}'}], [(1, '{"a":1}')], streamed=[_F, _MCP]),
    ],
    Code.ARGUMENTS_GENERATED_INVALID: [
        chat([(_PLACE.format("f") + "nope<|call|>", call(0, "nope", "f"))], finish="tool_calls"),
        response([{**_F, "arguments": "nope"}], [(0, "nope")]),
    ],
    Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN: [
        chat([("", call(0, "", "f")), ("", call(0, 'a":1}'))], finish="tool_calls", with_ids=False)
    ],
    Code.CALL_WITHOUT_EVENTS: [response([{**_F, "arguments": ""}], [], streamed=[])],
    Code.FINAL_TEXT_NOT_STREAMED: [answer("Yes", "Yes sir")],
    Code.FINAL_LACKS_TEXT: [answer("Yes sir", "Yes")],
    Code.FINAL_LACKS_ITEM: [response([], [(0, "Yes")], streamed=[item("message", "Yes")])],
    Code.FINAL_DONE_DIFFERS: [
        answer(
            "Yes",
            "Yes",
            events=[
                {
                    "type": "response.output_text.done",
                    "output_index": 0,
                    "item_id": "message_1",
                    "text": "Yes?",
                }
            ],
        )
    ],
    Code.FINAL_CALL_OF_SPECIAL_TOKEN: [
        response([{**_F, "name": "<|constrain|>json", "arguments": "{}"}], [(0, "{}")]),
        response([{**_MCP, "name": "<|constrain|>json", "arguments": "{}"}], []),
    ],
    Code.FINAL_FUNCTION_AS_MCP: [response([{**_MCP, "arguments": '{"a":1}'}], [])],
    Code.SPECIAL_TOKEN_IN_BODY: [
        chat([(_THINK, {}), ("Hm<|start|>x", {"reasoning": "Hm<|start|>x"}), ("<|end|>", {})])
    ],
    Code.CHANNEL_UNKNOWN: [
        _id_list("<|channel|>thoughts<|message|>Hm.<|end|>"),
        _id_list("<|message|>Hi.<|return|>"),
    ],
    Code.ROLE_UNKNOWN: [
        _id_list("<|start|>assistantary to=functions.f<|channel|>commentary<|message|>{}<|call|>")
    ],
    Code.ENDED_IN_REASONING: [chat(CLEAN[:2]), chat(CLEAN[:2], with_ids=False)],
    Code.ENDED_WITH_EMPTY_ANSWER: [chat([*CLEAN[:2], ("<|start|>assistant" + _FINAL + "<|return|>", {})])],
    Code.ENDED_WITHOUT_TEXT: [chat([("", {})], with_ids=False)],
    Code.ENDED_WITH_UNSHOWN_CALL: [
        response(
            [item("reasoning", "Compute it."), item("reasoning", "print(6 * 7)")],
            [(0, "Compute it."), (1, "print(6 * 7)")],
            output_messages=[
                {
                    "role": "assistant",
                    "channel": "analysis",
                    "content": [{"type": "text", "text": "Compute it."}],
                },
                {
                    "role": "assistant",
                    "channel": "analysis",
                    "recipient": "python",
                    "content_type": "code",
                    "content": [{"type": "text", "text": "print(6 * 7)"}],
                },
            ],
            usage={"output_tokens": 24},
        )
    ],
    Code.SERVER_ERROR: [_error_page(), aborted([_THINK, "Hm"], "CUDA out of memory.")],
    Code.CUT: [
        chat(CLEAN[:2], finish=None, done=False, end=_CUT),
        chat(CLEAN[:2], finish=None, done=False),
    ],
    Code.CUT_AFTER_ERROR: [
        replace(aborted([_THINK, "Hm"], "boom"), events=aborted([_THINK, "Hm"], "boom").events[:-1], end=_CUT)
    ],
    Code.CLOSED_BY_CLIENT: [chat(CLEAN[:2], finish=None, done=False, end=_closed(ClosedBy.CLIENT))],
    Code.CLOSED_BY_RECORDER: [chat(CLEAN[:2], finish=None, done=False, end=_closed(ClosedBy.RECORDER))],
    Code.INCOMPLETE: [
        answer("Yes", "Yes", status="incomplete", incomplete_details={"reason": "content_filter"}),
        answer("Yes", "Yes", status="incomplete"),
    ],
    Code.INCOMPLETE_BELOW_LIMIT: [
        response(
            [],
            [],
            status="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
            max_output_tokens=2000,
            usage={"output_tokens": 7},
        )
    ],
    Code.LIMIT_REACHED: [chat(CLEAN[:3], finish="length", with_ids=False)],
    Code.LIMIT_REACHED_UNREPORTED: [
        answer("Yes", "Yes", request={"max_output_tokens": 8}, usage={"output_tokens": 8})
    ],
    Code.OPEN_AT_END: [
        chat(CLEAN[:1], finish="length"),
        chat([*CLEAN[:2], ("<|start|>assistant<|channel|>final<|return|>", {})]),
        chat([*CLEAN[:2], ("<|start|>assistant", {})], finish=None),
    ],
    Code.TRANSCRIPT_UNPARSED: [
        _texts(
            content="<|channel|>analysis<|message|>Add.<|end|><|start|>assistant<|channel|>final<|message|>3"
        ),
        _texts(
            content="<|channel|>commentary to=functions.add <|constrain|>json<|message|>{}<|call|>",
            reasoning="Add.",
        ),
    ],
    Code.TRANSCRIPT_STRIPPED: [_texts(content="analysisAdd them.assistantfinalThree.")],
    Code.TOKEN_IN_TEXT: [_texts(content="Yes.<|return|>"), _texts(content="Yes<|message|>", reasoning="Hm.")],
    Code.TOKEN_IN_NAME: [_texts(name="lookup<|channel|>commentary")],
    Code.HEADER_WORD_IN_NAME: [_texts(name="lookupjson")],
    Code.TEXT_WITHOUT_IDS: [chat([*CLEAN[:3], ("<|return|>", {"content": "Bye!"})])],
    Code.NO_FINISH_REASON: [chat(CLEAN, finish=None)],
    Code.NO_DONE: [chat(CLEAN, done=False)],
    Code.COUNT_ABOVE_SENT: [chat(CLEAN, usage=17)],
    Code.COUNT_ABOVE_LOGPROBS: [_logprobs(1_000)],
    Code.COUNT_BELOW_SENT: [chat(CLEAN, usage=13), _logprobs(3)],
    Code.COUNT_UNEXPLAINED: [
        chat([("", {"content": "Hi"})], usage=1_500, with_ids=False),
        answer("Yes", "Yes", usage={"output_tokens": 100}),
        answer("Yes", "Yes", usage={"output_tokens": 8}),
    ],
    Code.OUT_OF_PROTOCOL: [
        replace(chat(CLEAN), events=[*chat(CLEAN).events[:-1], Event("oops"), Event("[DONE]")]),
        replace(
            chat(CLEAN),
            events=[*chat(CLEAN).events[:-1], Event("oops"), Event("[]"), Event("[DONE]")],
        ),
    ],
}
"""By code: captures in which a finding of that code is found."""
