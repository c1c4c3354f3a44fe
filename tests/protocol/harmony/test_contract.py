import pytest

from inspector.protocol.harmony.contract import expect
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import Transcript
from inspector.protocol.harmony.vocab import encode


def promised(text: str) -> list[tuple[int, int, str | None]]:
    ids = encode(text)
    transcript = Transcript()
    transcript.receive(HarmonyTracker().receive(ids), len(ids))
    return [(segment.start, segment.end, segment.field) for segment in expect(transcript).segments]


@pytest.mark.parametrize(
    ("header", "field"),
    [
        ("<|channel|>analysis", "reasoning"),
        ("<|channel|>final", "content"),
        ("<|channel|>commentary", "content"),
        ("<|channel|>commentary to=functions.f json", "tool_calls[0].arguments"),
        ("<|channel|>analysis to=functions.f", "tool_calls[0].arguments"),
        (" to=functions.f<|channel|>final", "tool_calls[0].arguments"),
        ("<|channel|>analysis to=python code", None),
        ("<|channel|>commentary to=browser.search", None),
        ("<|channel|>thoughts", None),
        ("", None),
    ],
)
def test_channel_and_recipient_decide_the_field(header: str, field: str | None) -> None:
    at = len(encode(header + "<|message|>"))
    assert promised(header + "<|message|>x<|end|>") == [(at, at + 1, field)]


def test_only_the_assistant_speaks_to_the_client() -> None:
    text = "<|channel|>final<|message|>x<|end|><|start|>user<|channel|>final<|message|>y<|end|>"
    assert [field for _, _, field in promised(text)] == ["content", None]


def test_calls_are_counted_in_order_and_an_open_header_is_no_segment() -> None:
    call = "<|channel|>commentary to=functions.f<|message|>{}<|call|><|start|>assistant"
    assert [field for _, _, field in promised(call + call + "<|channel|>fin")] == [
        "tool_calls[0].arguments",
        "tool_calls[1].arguments",
    ]


def test_refused_tokens_are_a_segment_without_field() -> None:
    assert promised("<|channel|>final<|message|>x<|end|>y z")[1:] == [(5, 7, None)]
