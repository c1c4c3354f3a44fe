"""What Python prints."""

import json

import pytest
from openai._models import construct_type
from openai.types.chat import ChatCompletion
from openai.types.responses import ResponseStreamEvent

from inspector.capture.capture import Endpoint, EventKind
from inspector.files.importers import sniff_and_read
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from tests.support.foreign import CHAT, RESPONSES, known, read, refusal
from tests.support.forms import BODY, CHUNKS, EVENTS, FORMS, IDS, PROMPT, generated, objects


def codes(text: str | bytes) -> list[str]:
    return [str(finding.code) for finding in inspect(read(text)).findings]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(repr, objects())),
        repr(objects()),
        "\n".join(map(repr, CHUNKS)),
        "INFO 11-20 22:48 start [1]\n" + "\n".join(f"INFO [7] got: {chunk!r}" for chunk in objects()),
        f"chunks = {objects()!r}",
        "\n".join(map(repr, objects())).replace("ChatCompletionChunk(", "ParsedChunk[NoneType]("),
    ],
)
def test_printed_chunks_give_the_findings_of_the_stream(text: str) -> None:
    assert codes(text) == [str(finding.code) for finding in inspect(known(CHAT)).findings]


def test_printed_events_of_responses_give_the_findings_of_the_stream() -> None:
    events = [construct_type(value=event, type_=ResponseStreamEvent) for event in EVENTS]
    expected = [str(finding.code) for finding in inspect(known(RESPONSES)).findings]
    assert codes("\n".join(map(repr, events))) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"tensor({IDS}, device='cuda:0')",
        f"tensor([{IDS}])",
        f"array({IDS}, dtype=int32)",
        f"array('l', {IDS})",
        f"output_ids = {IDS}",
        f"Output token IDs: {tuple(IDS)}",
        f"[{', '.join(f'np.int64({token})' for token in IDS)}]",
        repr({"token_ids": IDS}),
        FORMS["request output"].decode(),
    ],
)
def test_printed_ids_are_a_list_of_ids(text: str) -> None:
    capture = read(text)
    assert capture.header.endpoint is Endpoint.TOKENS
    assert [json.loads(event.data) for event in capture.events] == [IDS]


def test_a_request_output_has_its_prompt_and_its_steps() -> None:
    steps = [
        f"RequestOutput(request_id='{name}', prompt_token_ids={encode(PROMPT)}, outputs=[CompletionOutput("
        f"index=0, text='', token_ids={ids}, finish_reason=None)], finished=False)"
        for stop in range(1, len(IDS) + 1)
        for name, ids in (("all", IDS[:stop]), ("new", IDS[stop - 1 : stop]))
    ]
    captures = sniff_and_read("\n".join(steps).encode(), "f")
    assert [json.loads(capture.events[0].data) for capture in captures] == [IDS, IDS]
    assert {tuple(capture.header.request["prompt"]) for capture in captures} == {tuple(encode(PROMPT))}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tensor([200005,  35644,  ...,  17, 200002])", "f: the printout is abbreviated (...)"),
        ("[200005 35644 ... 200002]", "f: the printout is abbreviated (...)"),
        ("tensor([[1, 2], [3, 4]])", "f: holds 2 lists of token IDs"),
        (
            f"{objects()[0]!r}\n{objects()[1]!r}".replace("role=None", "role=<x>"),
            "f: value 2 is no Python literal",
        ),
        ("__import__('os').system('id')", "f: unrecognized format"),
        ("2026-01-01 [123] worker (7) {a}\nTraceback", "f: unrecognized format"),
        ("f" + "(" * 5000, "f: unrecognized format"),
    ],
)
def test_what_is_abbreviated_or_no_value_is_rejected(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


def test_a_whole_response_and_a_log_of_sglang_are_read() -> None:
    body = ChatCompletion.model_construct(None, **BODY)
    for text in (repr(body), repr(body).replace("ChatCompletion(", "ParsedChatCompletion[NoneType](")):
        assert [event.kind for event in read(text).events] == [EventKind.BODY]
    result = generated(IDS, len(IDS))
    line = f"[2026-01-01 12:00:00 TP0] Finish: obj=GenerateReqInput(rid='r', image=<x>), out={result}"
    (first, second) = sniff_and_read(f"{line}\n{line.replace('r1', 'r2')}\n".encode(), "f")
    assert json.loads(first.events[0].data) == json.loads(second.events[0].data) == IDS


def test_a_last_value_that_is_cut_off_is_noted() -> None:
    capture = read("\n".join(map(repr, objects()))[:-20])
    assert len(capture.events) == len(CHUNKS) - 1
    assert capture.notes == ("The last value is truncated; all before it was read.",)
