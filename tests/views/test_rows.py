import json

from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.inspection.inspection import inspect
from inspector.views.rows import audit_dict, finding_words, message_rows, token_rows
from tests.support.streams import CLEAN, CLOSED, LEAK, chat, chat_chunk, tool_response

TOOL = (
    (
        "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>",
        {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "get_weather", "arguments": ""}}]},
    ),
    ('{"city":', {"tool_calls": [{"index": 0, "function": {"arguments": '{"city":'}}]}),
    ('"Paris"}<|call|>', {"tool_calls": [{"index": 0, "function": {"arguments": '"Paris"}'}}]}),
)


def test_an_audit_row_has_the_keys_of_the_contract() -> None:
    inspection = inspect(chat(LEAK), name="leak.jsonl")
    row = audit_dict(inspection)
    contract = {"file", "endpoint", "model", "server_version", "evidence", "tokens", "messages", "generated"}
    assert contract | {"delivered", "error", "findings"} <= set(row)
    assert (row["file"], row["endpoint"], row["model"]) == ("leak.jsonl", "chat", "gpt-oss")
    assert row["tokens"] == {
        "count": 14,
        "by_channel": {"analysis": 3, "final": 1},
        "reconstructed": False,
    }
    assert row["reconstruction"] is None
    assert row["generated"] == {"content": "Sunny", "reasoning": "Need weather.", "tool_calls": []}
    assert row["delivered"] == {"content": " weather.Sunny", "reasoning": "Need", "tool_calls": []}
    (finding,) = row["findings"]
    keys = {"kind", "severity", "field", "token_start", "token_end", "event_start", "event_end"}
    assert keys | {"generated", "delivered", "explanation", "known_issues"} <= set(finding)
    assert (finding["kind"], finding["token_start"], finding["token_end"]) == ("misrouted", 4, 6)
    json.dumps(row)


def test_tool_calls_are_listed_with_name_and_arguments() -> None:
    row = inspect(chat(TOOL, finish="tool_calls"))
    printed = audit_dict(row)
    call = {"name": "get_weather", "arguments": '{"city":"Paris"}'}
    assert printed["generated"]["tool_calls"] == printed["delivered"]["tool_calls"] == [call]
    assert printed["findings"] == []
    (message,) = message_rows(row.reading.choice)
    assert (message["recipient"], message["content_type"], message["complete"]) == (
        "functions.get_weather",
        "json",
        True,
    )


def test_audit_row_without_ids_has_no_generated_text() -> None:
    inspection = inspect(chat(CLEAN, with_ids=False))
    row = audit_dict(inspection)
    assert row["generated"] is None
    assert row["evidence"] == "none"


def test_token_rows_name_state_message_channel_event_and_arrival() -> None:
    rows = list(token_rows(read(chat(CLEAN, gap_s=0.5))))
    assert [row["index"] for row in rows] == list(range(14))
    assert "".join(row["text"] for row in rows).startswith("<|channel|>analysis<|message|>Need weather.")
    assert [row["state"] for row in rows[:7]] == ["header"] * 3 + ["body"] * 4
    assert rows[4] == {
        "index": 4,
        "id": 11122,
        "text": " weather",
        "bytes": b" weather".hex(),
        "state": "body",
        "message": 0,
        "channel": "analysis",
        "event": 1,
        "arrival_s": 1.0,
        "reconstructed": False,
    }


def test_token_rows_of_reconstructed_tokens() -> None:
    lossy = tool_response("0.14.1", 3)
    inspection = inspect(lossy)
    row = audit_dict(inspection)
    assert row["tokens"] == {"count": 0, "by_channel": {}, "reconstructed": True}
    assert row["reconstruction"] == {
        "certainty": "ambiguous",
        "count": 32,
        "counted": 32,
        "missing": 0,
        "fits": [],
    }
    assert row["messages"] == []
    rows = list(token_rows(inspection.reading))
    assert all(row["reconstructed"] for row in rows)
    assert "".join(row["text"] for row in rows).startswith(
        "<|channel|>analysis<|message|>Need weather.<|end|>"
    )
    # The recipient may have stood before the channel.
    assert [row["index"] for row in rows if row["id"] is None] == list(range(9, 17))
    assert {row["arrival_s"] is not None for row in rows} == {True}
    json.dumps(rows)


def test_audit_row_of_several_choices() -> None:
    data = [
        chat_chunk([200005, 17196, 200008, 13225], {"content": "Hello"}, index=0),
        chat_chunk([200005, 17196, 200008, 12194], {"content": "Hi"}, index=1),
        chat_chunk([200002], {}, index=0, finish="stop"),
        chat_chunk([200002], {}, index=1, finish="stop"),
        "[DONE]",
    ]
    capture = Capture(
        header=Header(endpoint=Endpoint.CHAT), events=[Event(chunk) for chunk in data], end=CLOSED
    )
    inspection = inspect(capture)
    row = audit_dict(inspection)
    assert [choice["generated"]["content"] for choice in row["choices"]] == ["Hello", "Hi"]
    assert inspection.findings == []


def test_finding_words_name_kind_and_place() -> None:
    (finding,) = inspect(chat(LEAK)).findings
    assert finding_words(finding)["title"] == "misrouted tokens 4–5"
