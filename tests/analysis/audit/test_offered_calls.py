"""Calls of tools that the request does not offer: what counts as offered, and when nothing can be said."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from inspector.analysis.audit import Code, Kind, explain
from inspector.analysis.audit.facts import UnofferedCall
from inspector.capture.capture import Capture, Endpoint
from inspector.inspection.inspection import inspect
from tests.support.every_code import call, response
from tests.support.streams import Step, chat

FUNCTION = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": "{}"}
MCP = {"type": "mcp_call", "id": "mcp_1", "server_label": "someone", "name": "someone", "arguments": "{}"}
SEARCH = {"type": "web_search_call", "id": "ws_1"}


def unoffered(capture: Capture) -> list[str]:
    return [
        finding.facts.name
        for finding in inspect(capture).findings
        if isinstance(finding.facts, UnofferedCall)
    ]


def responses(*items: Mapping[str, Any], **request: Any) -> Capture:
    return response(items, [], request={"input": "Hi", **request}, streamed=[])


def chat_of(name: str, **request: Any) -> Capture:
    steps: list[Step] = [
        (
            f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>",
            call(0, "", name),
        ),
        ("{}", call(0, "{}")),
        ("<|call|>", {}),
    ]
    capture = chat(steps)
    request_body = {"messages": [{"role": "user", "content": "Hi"}], **request}
    return replace(capture, header=replace(capture.header, request=request_body))


@pytest.mark.parametrize(
    "tools",
    [
        [{"type": "function", "function": {"name": "f"}}],
        [{"type": "function", "name": "f"}],
        [{"type": "custom", "custom": {"name": "f"}}],
        [{"type": "function", "function": {"name": "g"}}, {"type": "namespace", "name": "n"}],
        [{"type": "function"}],
        ["f"],
        [{"type": ["function"], "name": "f"}, {"type": {}}, None, []],
    ],
)
def test_a_tool_that_is_or_may_be_offered_is_no_finding(tools: list[Any]) -> None:
    assert unoffered(chat_of("f", tools=tools)) == []


def test_a_function_that_is_not_offered_is_found_on_chat() -> None:
    assert unoffered(chat_of("f", tools=[{"type": "function", "function": {"name": "g"}}])) == ["f"]
    assert unoffered(chat_of("f")) == ["f"]
    assert unoffered(chat_of("f", functions=[{"name": "f"}])) == []
    assert unoffered(chat_of("f", functions=["f", {"name": 1}])) == ["f"]


@pytest.mark.parametrize(
    ("item", "tools", "unoffered_names"),
    [
        (MCP, [], ["someone"]),
        (MCP, [{"type": "mcp", "server_label": "someone"}], []),
        ({**MCP, "server_label": "container", "name": "exec"}, [], ["container.exec"]),
        ({**MCP, "server_label": "container", "name": "exec"}, [{"type": "container"}], []),
        ({**MCP, "server_label": None, "name": "f"}, [{"type": "function", "name": "f"}], []),
        (SEARCH, [], ["web_search_call"]),
        (SEARCH, [{"type": "web_search_preview"}], []),
        (SEARCH, [{"type": "mcp", "server_label": "web_search_preview"}], []),
        (FUNCTION, [{"type": "function", "name": "g"}], ["f"]),
        (FUNCTION, [{"type": "function", "name": "f"}], []),
        ({**FUNCTION, "name": 1}, [], []),
        ({"type": 1}, [], []),
    ],
)
def test_items_of_the_final_object_are_held_against_the_offer(
    item: Mapping[str, Any], tools: list[Any], unoffered_names: list[str]
) -> None:
    assert unoffered(responses(item, tools=tools)) == unoffered_names


def test_a_call_that_another_finding_tells_of_is_no_second_one() -> None:
    findings = inspect(
        responses({**MCP, "server_label": "<|constrain|>json", "name": "<|constrain|>json"})
    ).findings
    assert [finding.code for finding in findings] == [Code.FINAL_CALL_OF_SPECIAL_TOKEN]


def test_nothing_is_said_where_the_request_is_not_known() -> None:
    capture = chat_of("f")
    assert unoffered(replace(capture, header=replace(capture.header, request={}))) == []
    for key in ("prompt", "previous_response_id", "conversation", "previous_input_messages"):
        assert unoffered(responses(FUNCTION, **{key: [{"id": "1"}]})) == [], "the tools may be there"
        assert unoffered(responses(FUNCTION, **{key: None})) == ["f"]
    assert unoffered(replace(capture, header=replace(capture.header, endpoint=Endpoint.COMPLETIONS))) == []


def test_a_count_that_agrees_by_chance_does_not_make_it_clean() -> None:
    request_body = {"input": "Hi", "tools": [{"type": "function", "name": "f"}]}
    inspection = inspect(response([MCP], [(0, "{}")], request=request_body))
    assert (
        inspection.verdict.sentence == "The response calls “someone”, a tool that the request does not offer."
    )
    assert {finding.kind for finding in inspection.findings} == {Kind.UNOFFERED_CALL}


def test_a_function_of_the_server_functions_is_known_by_its_name() -> None:
    item = {**MCP, "server_label": "functions", "name": "g"}
    offered = [{"type": "function", "name": "f"}]
    assert unoffered(response([item], [(0, "{}")], request={"input": "Hi", "tools": offered})) == ["g"]


def test_a_replayed_response_belongs_to_another_request() -> None:
    capture = chat_of("f")
    for owner in ("playback", "playback/vllm", "playback/vllm-frontend-rs"):
        assert unoffered(replace(capture, header=replace(capture.header, owned_by=owner))) == []
    assert unoffered(replace(capture, header=replace(capture.header, owned_by="vllm"))) == ["f"]


def test_each_call_of_one_tool_has_its_own_place() -> None:
    header = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
    steps: list[Step] = []
    for number in range(2):
        steps += [(header, call(number, "", "f")), ("{}", call(number, "{}")), ("<|call|>", {})]
        steps += [] if number else [("<|start|>assistant", {})]
    capture = chat(steps)
    request_body = {"messages": [{"role": "user", "content": "Hi"}]}
    inspection = inspect(replace(capture, header=replace(capture.header, request=request_body)))
    places = [finding.token_start for finding in inspection.findings if finding.code is Code.CALL_NOT_OFFERED]
    assert places == [message.start for message in inspection.reading.choice.transcript.messages]


def test_several_tools_are_named_or_counted() -> None:
    def sentence_of(*names: str) -> str:
        items = [{**FUNCTION, "id": f"fc_{name}", "name": name} for name in names]
        request_body = {"input": "Hi", "tools": [{"type": "function", "name": "z"}]}
        return inspect(
            response(items, [(place, "{}") for place, _ in enumerate(names)], request=request_body)
        ).verdict.sentence

    assert sentence_of("f", "g").endswith("calls “f” and “g”, tools that the request does not offer.")
    assert sentence_of("f", "g", "h").endswith("calls 3 tools that the request does not offer.")


@pytest.mark.slow
def test_thousands_of_calls_and_tools_are_not_multiplied() -> None:
    """Five thousand findings that each list five thousand tools are gigabytes of JSON."""
    call_count = 600
    items = [{**FUNCTION, "id": f"fc_{number}", "name": f"call_{number}"} for number in range(call_count)]
    tools = [{"type": "function", "name": f"offered_{number}"} for number in range(call_count)]
    inspection = inspect(responses(*items, tools=tools))
    facts = [finding.facts for finding in inspection.findings if isinstance(finding.facts, UnofferedCall)]
    assert len(facts) == call_count
    assert sum(len(call.offered) for call in facts) == 64 * call_count
    (first, *_) = (finding for finding in inspection.findings if finding.code is Code.CALL_NOT_OFFERED)
    assert explain(first).endswith("“offered_3” and 596 others.")
