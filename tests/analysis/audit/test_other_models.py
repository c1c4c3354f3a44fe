"""Streams of other models: nothing is checked, and nobody is accused."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from inspector.analysis.audit import FieldState
from inspector.analysis.audit.verdict import Level
from inspector.analysis.reading import Evidence
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.vocab import encode
from tests.support.streams import CLEAN, CLOSED, chat

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
WORDS = ["Hello", ",", " how", " can", " I", " help", " you", " today", "?", ""]
IDS = [9906, 11, 1268, 649, 358, 1520, 499, 3432, 30, 128009]
LLAMA_4 = [19556, 24, 1734, 1038, 373, 2563, 650, 4506, 43, 200008]
"""The last is <|eot|>, which is <|message|> in the vocabulary of gpt-oss."""


def stream(
    ids: Sequence[int], model: str | None, *, logprobs: bool = False, endpoint: Endpoint = Endpoint.CHAT
) -> Capture:
    events = []
    for token_id, word in zip(ids, WORDS, strict=True):
        choice = {"index": 0, "delta": {"content": word}, "text": word}
        if logprobs:
            choice["logprobs"] = {"content": [{"token": word or "<|endoftext|>"}]}
        else:
            choice["token_ids"] = [token_id]
        events.append(Event(json.dumps({"model": model, "choices": [choice]})))
    choice = {"index": 0, "delta": {}, "text": "", "finish_reason": "stop"}
    events += [Event(json.dumps({"model": model, "choices": [choice]})), Event("[DONE]")]
    return Capture(header=Header(endpoint=endpoint, status=200), events=events, end=CLOSED)


@pytest.mark.parametrize("endpoint", [Endpoint.CHAT, Endpoint.COMPLETIONS])
@pytest.mark.parametrize("model", [LLAMA, "my-model", None])
@pytest.mark.parametrize("ids", [IDS, LLAMA_4])
def test_healthy_stream_of_another_model_is_not_checked(
    ids: Sequence[int], model: str | None, endpoint: Endpoint
) -> None:
    inspection = inspect(stream(ids, model, endpoint=endpoint))
    assert inspection.verdict.level is Level.UNKNOWN
    assert "nothing was checked" in inspection.verdict.sentence
    assert (model or "The tokens are") in inspection.verdict.sentence
    assert (inspection.findings, inspection.cause, list(inspection.alignments.values())) == ([], None, [None])
    (field,) = inspection.fields(inspection.reading.choice)
    assert (field.state, field.generated, field.delivered) == (FieldState.UNKNOWN, None, "".join(WORDS))


def test_logprobs_of_another_model_are_not_checked() -> None:
    inspection = inspect(stream(IDS, LLAMA, logprobs=True))
    assert inspection.reading.choice.evidence is Evidence.LOGPROBS
    assert inspection.verdict.level is Level.UNKNOWN
    assert inspection.findings == []


def test_fine_tune_under_another_name_is_checked() -> None:
    for steps, level in ((CLEAN, Level.CLEAN), (CLEAN[:3], Level.ERROR)):
        capture = chat(steps, end=replace(CLOSED, cut=steps is not CLEAN), done=steps is CLEAN)
        events = [
            event._replace(data=event.data.replace('"model": "gpt-oss"', '"model": "support-bot"'))
            for event in capture.events
        ]
        header = replace(capture.header, model="support-bot")
        assert inspect(replace(capture, header=header, events=events)).verdict.level is level


def test_model_called_gpt_oss_is_checked_whatever_it_writes() -> None:
    inspection = inspect(stream(IDS, "openai/gpt-oss-20b"))
    assert not inspection.reading.foreign


def test_plain_completion_in_the_vocabulary_of_gpt_oss_is_checked() -> None:
    ids = encode("".join(WORDS))
    pieces = [*ids, *[199999] * (len(WORDS) - len(ids))]
    inspection = inspect(stream(pieces, "support-bot", endpoint=Endpoint.COMPLETIONS))
    assert "nothing was checked" not in inspection.verdict.sentence
