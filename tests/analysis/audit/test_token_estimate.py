"""What the texts of a chat answer account for in tokens, encoded again."""

from inspector.analysis.audit.stream_checks import explained_tokens
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, Endpoint, Header
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import Step, chat

THOUGHT = "<|channel|>analysis<|message|>Hm so<|end|>"
CALLED = '<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>'
ANSWERED = "<|start|>assistant<|channel|>final<|message|>Yes<|return|>"
THINK: Step = ("", {"reasoning": "Hm so"})
ANSWER: Step = ("", {"content": "Yes"})
CALL: Step = ("", {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": '{"a":1}'}}]})


def test_a_chat_accounts_for_its_texts_and_their_framing() -> None:
    assert explained_tokens(read(chat([("", {})]))) == 0
    assert explained_tokens(read(chat([THINK]))) == len(encode(THOUGHT))
    assert explained_tokens(read(chat([THINK, ANSWER]))) == len(encode(THOUGHT + ANSWERED))
    assert explained_tokens(read(chat([THINK, CALL]))) == len(encode(THOUGHT + CALLED))


def test_other_endpoints_are_not_accounted_for() -> None:
    for endpoint in (Endpoint.COMPLETIONS, Endpoint.TOKENS, Endpoint.RESPONSES):
        assert explained_tokens(read(Capture(header=Header(endpoint=endpoint), events=[]))) is None


def test_a_text_without_words_is_not_accounted_for() -> None:
    endless = chat([("", {"content": "x" * 1_000_000})])
    assert explained_tokens(read(endless)) is None
