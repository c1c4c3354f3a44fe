"""The built-in server through a real uvicorn, the real openai client, our recorder and our audit."""

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import httpx
import openai
import pytest
from starlette.applications import Starlette

from inspector.audit import Finding, Kind
from inspector.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.client.recorder import Recorder
from inspector.client.transport import RecordingTransport, endpoint_of, header_of
from inspector.errors import InspectorError
from inspector.inspection import inspect
from inspector.playback import FAULTS, Settings, playback_routes
from inspector.playback.faults import parse_faults
from inspector.playback.sending import due_times
from inspector.reading import read
from inspector.store import builtin, load
from tests.support.listening import Kept, listening

CAPTURES: Mapping[str, Capture] = {row.name: load(row.path)[0] for row in builtin()}
CHATS = [name for name, one in CAPTURES.items() if one.header.endpoint is Endpoint.CHAT]
WHOLE = "chat-whole-one-token-per-step-vllm-0.13.0"
TOOL = "chat-tool-call-leak-vllm-0.14.1"
RESPONSES = "responses-whole-vllm-0.14.1"
GROUND = "completions-unexpected-token-200002-vllm-0.13.0"
TEXT = "Hello there! 👋🏽 How can I help?"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    routes = playback_routes(lambda: CAPTURES, settings=Settings(speed=float("inf")))
    with listening(Starlette(routes=routes)) as at:
        yield f"{at}/playback"


@contextmanager
def recorded(address: str, faults: str = "", **headers: str) -> Iterator[tuple[openai.OpenAI, Kept]]:
    """The real client, unchanged but for its transport, and what is kept of its answers."""
    kept = Kept()

    def record(request: httpx.Request) -> Recorder | None:
        endpoint = endpoint_of(request.method, request.url.path)
        if endpoint is None:
            return None
        return Recorder(header_of(endpoint, request.content, source="test"), kept)

    if faults:
        headers["X-Playback-Faults"] = faults
    transport = RecordingTransport(record, httpx.HTTPTransport())
    with (
        httpx.Client(transport=transport, timeout=20) as http,
        openai.OpenAI(
            base_url=f"{address}/v1",
            api_key="k",
            http_client=cast(Any, http),
            max_retries=0,
            default_headers=headers,
        ) as client,
    ):
        yield client, kept


def chat(
    address: str, faults: str = "", *, model: str = WHOLE
) -> tuple[Capture, list[Finding], Exception | None]:
    """A streamed chat with ids through the client: what was recorded, found, and what the client raised."""
    raised: Exception | None = None
    with recorded(address, faults) as (client, kept):
        try:
            for _ in client.chat.completions.create(
                model=model,
                messages=[],
                stream=True,
                stream_options={"include_usage": True},
                extra_body={"return_token_ids": True},
            ):
                pass
        except (openai.OpenAIError, httpx.HTTPError, json.JSONDecodeError) as error:
            raised = error
        capture = kept.capture()
    return capture, inspect(capture).findings, raised


def kinds(findings: list[Finding]) -> set[Kind]:
    return {finding.kind for finding in findings}


def generated_ids(capture: Capture) -> list[int]:
    return list(read(capture).choice.tokens.ids)


# -- without faults ---------------------------------------------------------------------------------


def test_a_chat_capture_arrives_as_it_was_recorded(address: str) -> None:
    capture, findings, raised = chat(address)
    assert raised is None
    assert [event.data for event in capture.events] == [event.data for event in CAPTURES[WHOLE].events]
    assert findings == []


@pytest.mark.parametrize(
    "name", [name for name, one in CAPTURES.items() if one.header.endpoint is Endpoint.CHAT]
)
def test_each_chat_capture_gives_the_findings_that_it_has(address: str, name: str) -> None:
    _, findings, _ = chat(address, model=name)
    assert [(one.kind, one.generated, one.delivered) for one in findings] == [
        (one.kind, one.generated, one.delivered) for one in inspect(CAPTURES[name]).findings
    ]


def test_who_does_not_ask_for_ids_and_usage_gets_none(address: str) -> None:
    with recorded(address) as (client, kept):
        chunks = list(client.chat.completions.create(model=WHOLE, messages=[], stream=True))
        capture = kept.capture()
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TEXT
    assert not generated_ids(capture)
    assert not any(chunk.usage for chunk in chunks)
    deltas = [json.loads(event.data)["choices"][0] for event in capture.events[:-1]]
    # Only an empty delta that was sent for its ids alone is left out, as vLLM leaves it out.
    assert all(
        chunk["finish_reason"] or any(value is not None for value in chunk["delta"].values())
        for chunk in deltas
    )


def test_an_unstreamed_chat_holds_what_the_stream_delivered(address: str) -> None:
    with recorded(address) as (client, _):
        message = client.chat.completions.create(model=TOOL, messages=[]).choices[0].message
    delivered = read(CAPTURES[TOOL]).choice.delivered()
    assert message.content == delivered.content
    assert message.tool_calls is not None
    function = message.tool_calls[0].function  # type: ignore[union-attr]
    assert (function.name, function.arguments) == (
        delivered.tool_calls[0].name,
        delivered.tool_calls[0].arguments,
    )


def test_responses_stream_and_whole_agree(address: str) -> None:
    with recorded(address) as (client, kept):
        events = list(client.responses.create(model=RESPONSES, input="x", stream=True))
        whole = client.responses.create(model=RESPONSES, input="x")
        capture = kept.capture()
    assert events[-1].type == "response.completed"
    assert whole.output_text == TEXT
    assert [event.data for event in capture.events] == [event.data for event in CAPTURES[RESPONSES].events]


def test_completions_show_the_tokens_of_a_chat_capture(address: str) -> None:
    with recorded(address) as (client, kept):
        extra = {"return_token_ids": True, "skip_special_tokens": False}
        text = "".join(
            chunk.choices[0].text
            for chunk in client.completions.create(model=WHOLE, prompt="x", stream=True, extra_body=extra)
            if chunk.choices
        )
        capture = kept.capture()
    assert text.startswith("<|channel|>analysis<|message|>User")
    assert text.endswith("👋🏽 How can I help?"), "the token that stops generation has no text"
    assert generated_ids(capture) == generated_ids(CAPTURES[WHOLE])
    assert inspect(capture).findings == []


def test_an_unstreamed_completion_of_a_chat_capture_is_what_its_stream_says(address: str) -> None:
    with recorded(address) as (client, _):
        streamed = client.completions.create(model=WHOLE, prompt="x", stream=True)
        text = "".join(chunk.choices[0].text for chunk in streamed if chunk.choices)
        whole = client.completions.create(model=WHOLE, prompt="x")
    assert whole.object == "text_completion"
    assert whole.choices[0].text == text
    assert text.endswith(TEXT)


def test_characters_are_split_in_a_completion_of_a_chat_capture_too(address: str) -> None:
    with recorded(address, "split-utf8") as (client, _):
        assert "\ufffd" in client.completions.create(model=WHOLE, prompt="x").choices[0].text


def test_the_async_client_runs_unchanged(address: str) -> None:
    async def ask() -> str:
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="k") as client:
            stream = await client.chat.completions.create(model=WHOLE, messages=[], stream=True)
            return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(ask()) == TEXT


def test_models_health_version_and_what_is_not_there(address: str) -> None:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="k") as client:
        models = [model.id for model in client.models.list()]
    assert {*CAPTURES, "playback"} <= set(models)
    assert httpx.get(f"{address}/health").status_code == 200
    assert httpx.get(f"{address}/version").json() == {"version": "playback"}
    assert httpx.get(f"{address}/version?capture={WHOLE}").json() == {"version": "0.13.0"}
    assert httpx.get(f"{address}/v1/nothing").status_code == 404


def test_an_unknown_model_is_refused_as_vllm_does(address: str) -> None:
    with recorded(address) as (client, kept):
        with pytest.raises(openai.NotFoundError, match=r"The model `gpt-9` does not exist\."):
            client.chat.completions.create(model="gpt-9", messages=[], stream=True)
        assert kept.capture().header.status == 404


def test_without_a_name_captures_take_turns(address: str) -> None:
    answers = [
        httpx.post(f"{address}/v1/responses", json={"model": "playback", "stream": True}).headers
        for _ in range(4)
    ]
    assert len({answer["x-playback-capture"] for answer in answers}) == 4


def test_header_and_query_name_the_capture_whatever_the_model(address: str) -> None:
    url = f"{address}/v1/chat/completions"
    by_header = httpx.post(url, json={"model": "any"}, headers={"X-Playback-Capture": TOOL})
    by_query = httpx.post(f"{url}?capture={TOOL}", json={"model": "any"})
    assert by_header.headers["x-playback-capture"] == by_query.headers["x-playback-capture"] == TOOL


@pytest.mark.parametrize(
    ("query", "body", "words"),
    [
        ("capture=nothing", {}, "there is no capture 'nothing'"),
        (f"capture={RESPONSES}", {}, "cannot answer at chat"),
        ("speed=0", {}, "speed cannot be '0'"),
        ("speed=fast", {}, "it is a number above 0, or inf"),
        ("faults=explode", {}, "there is no fault 'explode'; there are merge"),
        ("faults=merge%3D1", {}, "the fault merge cannot be '1' (no number from 2 to 10000)"),
        ("faults=stall%3D1:nan", {}, "the fault stall cannot be"),
        ("faults=no-done%3D1", {}, "it takes no value"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_sentence(
    address: str, query: str, body: dict[str, Any], words: str
) -> None:
    answer = httpx.post(f"{address}/v1/chat/completions?{query}", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"[" * 100_000, b"\xff"])
def test_a_request_that_is_no_json_object_is_refused(address: str, raw: bytes) -> None:
    answer = httpx.post(f"{address}/v1/chat/completions", content=raw)
    assert answer.status_code == 400
    assert "the request's body is no JSON" in answer.json()["error"]["message"]


# -- faults -----------------------------------------------------------------------------------------


def test_dropping_all_but_the_last_token_leaves_the_ids_and_is_found(address: str) -> None:
    capture, findings, _ = chat(address, "merge=3,last-token-only")
    assert generated_ids(capture) == generated_ids(CAPTURES[WHOLE])
    assert kinds(findings) == {Kind.DROPPED}
    assert {finding.field for finding in findings} == {"reasoning", "content"}
    assert read(capture).choice.delivered().content == "! can?"


def test_dropped_tokens_of_a_tool_call_are_found(address: str) -> None:
    capture, findings, _ = chat(address, "merge=2,last-token-only", model=TOOL)
    assert generated_ids(capture) == generated_ids(CAPTURES[TOOL])
    assert Kind.DROPPED in kinds(findings)
    assert any("arguments" in (finding.field or "") for finding in findings)


def test_merged_events_lose_nothing(address: str) -> None:
    capture, findings, raised = chat(address, "merge=4")
    assert raised is None
    assert findings == []
    assert len(capture.events) < len(CAPTURES[WHOLE].events) / 2
    assert read(capture).choice.delivered() == read(CAPTURES[WHOLE]).choice.delivered()


def test_characters_split_between_tokens_are_found_garbled(address: str) -> None:
    capture, findings, _ = chat(address, "split-utf8")
    assert generated_ids(capture) == generated_ids(CAPTURES[WHOLE])
    assert "\ufffd" in read(capture).choice.delivered().content
    assert Kind.GARBLED in kinds(findings)


def test_network_pieces_that_end_inside_characters_change_nothing(address: str) -> None:
    capture, findings, raised = chat(address, "split-bytes")
    assert raised is None
    assert findings == []
    assert [event.data for event in capture.events] == [event.data for event in CAPTURES[WHOLE].events]


def test_a_forgotten_message_marker_ends_the_stream_as_vllm_0_13_does(address: str) -> None:
    capture, findings, raised = chat(address, "omit-message")
    assert isinstance(raised, openai.APIError)
    assert "remaining in message header" in str(raised)
    assert Kind.SERVER_ERROR in kinds(findings)
    error = json.loads(capture.events[-2].data)["error"]
    assert error["type"] == "BadRequestError"
    assert capture.events[-1].data == "[DONE]"


@pytest.mark.parametrize(("number", "kind"), [(0, Kind.BAD_HEADER), (1, Kind.TRUNCATED)])
def test_a_forgotten_message_marker_is_passed_over_in_silence_as_vllm_0_32_does(
    address: str, number: int, kind: Kind
) -> None:
    capture, findings, raised = chat(address, f"omit-message={number},swallow")
    assert raised is None
    ids = generated_ids(CAPTURES[WHOLE])
    place = [at for at, token_id in enumerate(ids) if token_id == 200008][number]
    assert generated_ids(capture) == ids[:place] + ids[place + 1 :]
    delivered = read(capture).choice.delivered()
    assert (delivered.reasoning, delivered.content)[number] == ""
    assert kind in kinds(findings)
    assert Kind.COUNT_MISMATCH not in kinds(findings)


def test_tokens_after_return_are_refused_by_the_servers_parser(address: str) -> None:
    _, findings, raised = chat(address, "after-return")
    assert isinstance(raised, openai.APIError)
    assert "while expecting start token 200006" in str(raised)
    assert Kind.SERVER_ERROR in kinds(findings)


def test_tokens_after_return_that_are_swallowed_are_found_by_their_ids(address: str) -> None:
    capture, findings, raised = chat(address, "after-return=!!,swallow")
    assert raised is None
    assert generated_ids(capture)[:-1] == generated_ids(CAPTURES[WHOLE])
    assert Kind.UNEXPECTED_TOKEN in kinds(findings)
    assert Kind.COUNT_MISMATCH not in kinds(findings)


def test_tokens_after_return_show_in_completions(address: str) -> None:
    with recorded(address, "after-return= more") as (client, kept):
        for _ in client.completions.create(
            model=GROUND, prompt="x", stream=True, extra_body={"return_token_ids": True}
        ):
            pass
        capture = kept.capture()
    before = generated_ids(CAPTURES[GROUND])
    assert generated_ids(capture)[: len(before)] == before
    assert len(generated_ids(capture)) > len(before)


def test_dropped_deltas_of_responses_are_found_against_the_final_object(address: str) -> None:
    with recorded(address, "merge=3,last-token-only") as (client, kept):
        events = list(client.responses.create(model=RESPONSES, input="x", stream=True))
        findings = inspect(kept.capture()).findings
    assert Kind.DROPPED in kinds(findings)
    assert not any("sequence_number" in finding.explanation for finding in findings)
    assert events[-1].type == "response.completed"


def test_merged_deltas_of_responses_lose_nothing(address: str) -> None:
    with recorded(address, "merge=3") as (client, kept):
        list(client.responses.create(model=RESPONSES, input="x", stream=True))
        capture = kept.capture()
    assert kinds(inspect(capture).findings) == kinds(inspect(CAPTURES[RESPONSES]).findings)
    assert read(capture).choice.delivered() == read(CAPTURES[RESPONSES]).choice.delivered()
    assert len(capture.events) < len(CAPTURES[RESPONSES].events)


def test_garbled_deltas_of_responses_are_found(address: str) -> None:
    with recorded(address, "split-utf8") as (client, kept):
        list(client.responses.create(model=RESPONSES, input="x", stream=True))
        findings = inspect(kept.capture()).findings
    assert {Kind.GARBLED, Kind.DROPPED} & kinds(findings)
    assert any("\ufffd" in (finding.delivered or "") for finding in findings)


@pytest.mark.parametrize(
    ("model", "endpoint", "faults", "words"),
    [
        (RESPONSES, "responses", "omit-message", "holds no token ids"),
        (GROUND, "completions", "merge=2,last-token-only", "a fault of chat and Responses"),
        (TOOL, "chat/completions", "after-return", "no <|return|> in the tokens"),
        (TOOL, "chat/completions", "split-utf8", "choose one with emoji"),
    ],
)
def test_a_fault_that_a_capture_cannot_show_is_refused(
    address: str, model: str, endpoint: str, faults: str, words: str
) -> None:
    answer = httpx.post(
        f"{address}/v1/{endpoint}",
        json={"model": model, "stream": True},
        headers={"X-Playback-Faults": faults},
    )
    assert answer.status_code == 400
    assert words in answer.json()["error"]["message"]


def test_a_cut_connection_is_found(address: str) -> None:
    capture, findings, raised = chat(address, "cut=5")
    assert isinstance(raised, httpx.RemoteProtocolError | openai.APIError)
    assert len(capture.events) == 5
    assert capture.end is not None
    assert capture.end.cut
    assert Kind.DISCONNECTED in kinds(findings)


def test_a_cut_inside_an_event_keeps_the_half_that_came(address: str) -> None:
    capture, findings, raised = chat(address, "cut-inside=5")
    assert raised is not None
    assert [event.data for event in capture.events[:5]] == [one.data for one in CAPTURES[WHOLE].events[:5]]
    assert Kind.DISCONNECTED in kinds(findings)
    if len(capture.events) > 5:
        assert CAPTURES[WHOLE].events[5].data.startswith(capture.events[5].data)


def test_an_error_event_is_found(address: str) -> None:
    capture, findings, raised = chat(address, "error-event=5")
    assert isinstance(raised, openai.APIError)
    assert Kind.SERVER_ERROR in kinds(findings)
    assert len(capture.events) == 7


def test_an_error_event_of_responses_is_found(address: str) -> None:
    with recorded(address, "error-event=5") as (client, kept):
        events = list(client.responses.create(model=RESPONSES, input="x", stream=True))
        assert events[-1].type == "error"
        assert Kind.SERVER_ERROR in kinds(inspect(kept.capture()).findings)


@pytest.mark.parametrize(("faults", "status"), [("http", 500), ("http=503", 503), ("http=401", 401)])
def test_an_http_error_is_found(address: str, faults: str, status: int) -> None:
    capture, findings, raised = chat(address, faults)
    assert isinstance(raised, openai.APIStatusError)
    assert raised.status_code == capture.header.status == status
    assert kinds(findings) == {Kind.SERVER_ERROR}


def test_a_html_error_page_is_found(address: str) -> None:
    capture, findings, raised = chat(address, "html")
    assert isinstance(raised, openai.InternalServerError)
    assert capture.events[0].kind is EventKind.BODY
    assert "502 Bad Gateway" in capture.events[0].data
    assert Kind.SERVER_ERROR in kinds(findings)


def test_malformed_json_is_found(address: str) -> None:
    _, findings, raised = chat(address, "malformed=5")
    assert isinstance(raised, json.JSONDecodeError)
    assert Kind.PROTOCOL in kinds(findings)


def test_an_unstreamed_answer_with_malformed_json_is_no_json(address: str) -> None:
    with recorded(address, "malformed") as (client, _), pytest.raises(json.JSONDecodeError):
        client.chat.completions.create(model=WHOLE, messages=[])


@pytest.mark.parametrize("fault", ["merge=x", "merge=1", "stall=3:x", "stall=x", "http=9", "cut=\u0663"])
def test_a_value_that_cannot_be_is_told_without_words_of_python(fault: str) -> None:
    with pytest.raises(InspectorError) as refused:
        parse_faults(fault)
    assert re.search(r"\((no number from|seconds are not between)", str(refused.value))


def test_a_missing_done_is_found(address: str) -> None:
    _, findings, raised = chat(address, "no-done")
    assert raised is None
    assert kinds(findings) == {Kind.PROTOCOL}


def test_a_missing_end_of_responses_is_found(address: str) -> None:
    with recorded(address, "no-done") as (client, kept):
        list(client.responses.create(model=RESPONSES, input="x", stream=True))
        assert kinds(inspect(kept.capture()).findings) & {Kind.PROTOCOL, Kind.DISCONNECTED}


def test_every_fault_has_an_example_that_is_read() -> None:
    for fault in FAULTS.values():
        assert Settings().changed({"faults": fault.example}).faults != Settings().faults


# -- pace, control, odd captures --------------------------------------------------------------------


class Watch:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds


def played(faults: str = "", **settings: Any) -> list[float]:
    """Pauses of one whole answer."""
    watch = Watch()
    wanted = Settings(**settings).changed({"faults": faults})
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=wanted, clock=watch, sleep=watch.sleep)
    with listening(Starlette(routes=routes)) as at:
        body = {"model": WHOLE, "stream": True, "return_token_ids": True}
        httpx.post(f"{at}/v1/chat/completions", json=body).raise_for_status()
    return watch.pauses


def test_the_pauses_are_the_recorded_ones() -> None:
    times = [event.at_s or 0.0 for event in CAPTURES[WHOLE].events][:-2]
    assert sum(played()) == pytest.approx(max(times), abs=0.01)
    assert played()[0] == pytest.approx(times[0])


def test_speed_divides_the_pauses() -> None:
    assert sum(played(speed=4.0)) == pytest.approx(sum(played()) / 4, rel=0.01)


def test_infinite_speed_has_no_pause() -> None:
    assert played(speed=float("inf")) == []


def test_a_pace_in_tokens_takes_the_place_of_the_recorded_one() -> None:
    count = len(generated_ids(CAPTURES[WHOLE]))
    assert sum(played(tokens_per_s=10.0)) == pytest.approx(count / 10, abs=0.11)


def test_a_stall_is_one_long_pause() -> None:
    assert max(played("stall=5:7.5")) == pytest.approx(7.5, abs=0.5)
    assert sum(played("stall=5:7.5")) == pytest.approx(sum(played()) + 7.5, abs=0.01)


def test_events_without_times_come_at_a_steady_pace() -> None:
    assert due_times([Event("a"), Event("b"), Event("c")], speed=2.0, tokens_per_s=None) == [0.0, 0.01, 0.02]


def test_the_control_sets_what_all_later_requests_get() -> None:
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=Settings(speed=float("inf")))
    with listening(Starlette(routes=routes)) as at:
        url = f"{at}/v1/chat/completions"
        assert httpx.put(f"{at}/control", json={"faults": "http=503", "capture": WHOLE}).status_code == 200
        assert httpx.get(f"{at}/control").json()["faults"] == {"http": 503}
        assert httpx.post(url, json={}).status_code == 503
        assert httpx.post(f"{url}?faults=none", json={}).status_code == 200
        assert httpx.delete(f"{at}/control").json() == {
            "capture": None,
            "speed": "inf",
            "tokens_per_s": None,
            "faults": {},
        }
        assert httpx.post(url, json={}).status_code == 200


def test_the_control_refuses_a_setting_that_it_does_not_know_and_takes_null_for_the_default() -> None:
    routes = playback_routes(lambda: CAPTURES, prefix="", settings=Settings(speed=4.0, tokens_per_s=9.0))
    with listening(Starlette(routes=routes)) as at:
        for wrong, words in (
            ({"sped": 2}, "there is no setting 'sped'; there are capture, speed"),
            ({"faults": {"merge": 3}}, "faults come as a text"),
        ):
            refused = httpx.put(f"{at}/control", json=wrong)
            assert refused.status_code == 400
            assert words in refused.json()["error"]["message"]
        kept: dict[str, Any] = {"capture": None, "speed": 4.0, "tokens_per_s": 9.0, "faults": {}}
        assert httpx.get(f"{at}/control").json() == kept
        everything: dict[str, Any] = {"capture": None, "speed": None, "tokens_per_s": None, "faults": None}
        assert httpx.put(f"{at}/control", json=everything).json() == {
            **everything,
            "speed": 1.0,
            "faults": {},
        }


def test_the_control_takes_nothing_that_a_web_page_can_send_unasked() -> None:
    routes = playback_routes(lambda: CAPTURES, prefix="")
    with listening(Starlette(routes=routes)) as at:
        refused = httpx.put(
            f"{at}/control", content=b'{"faults":"http"}', headers={"content-type": "text/plain"}
        )
        assert refused.status_code == 400
        assert httpx.get(f"{at}/control").json()["faults"] == {}


def test_an_error_capture_is_played_with_its_status_and_a_cut_one_is_cut() -> None:
    page = Event("<html>502</html>", 0.0, "", EventKind.BODY)
    captures = {
        "page": Capture(header=Header(endpoint=Endpoint.CHAT, status=502), events=[page]),
        "cut": Capture(
            header=Header(endpoint=Endpoint.CHAT, status=200),
            events=[Event("keep-alive", 0.0, "", EventKind.COMMENT), Event("a\nb", 0.0)],
            end=End(at_s=0.0, cut=True, detail="reset"),
        ),
    }
    routes = playback_routes(lambda: captures, prefix="")
    with listening(Starlette(routes=routes)) as at:
        url = f"{at}/v1/chat/completions"
        answer = httpx.post(url, json={"model": "page", "stream": True})
        assert (answer.status_code, answer.text) == (502, "<html>502</html>")
        came: list[bytes] = []
        with (
            pytest.raises(httpx.RemoteProtocolError),
            httpx.stream("POST", url, json={"model": "cut", "stream": True}) as stream,
        ):
            came.extend(stream.iter_bytes())
        assert b"".join(came) == b": keep-alive\n\ndata: a\ndata: b\n\n"


def test_an_empty_shelf_says_so() -> None:
    with listening(Starlette(routes=playback_routes(dict, prefix=""))) as at:
        answer = httpx.post(f"{at}/v1/chat/completions", json={"model": "playback"})
        assert answer.status_code == 400
        assert "no capture can answer at chat" in answer.json()["error"]["message"]
