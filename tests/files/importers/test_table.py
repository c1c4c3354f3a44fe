"""The table of importers: each row reads its files, and the head of a file tells what the table tells."""

import json

import pytest

from inspector.capture.errors import CaptureError
from inspector.files.importers import BEGINS, FORMATS, IMPORTERS, sniff_and_read
from inspector.files.importers.importer import Content
from tests.support.foreign import CHAT, FOREIGN, LOG, RECORDED, known, refusal, sse
from tests.support.forms import FORMS

BODY = {"object": "chat.completion", "model": "m", "choices": []}
SAMPLES = {
    "capture": [b'{"harmony_capture": 1, "endpoint": "chat"}\n'],
    "curl": [sse(known(CHAT)), (FOREIGN / "curl-i-error.txt").read_bytes()],
    "har": [(FOREIGN / "devtools.har").read_bytes()],
    "recorded": [json.dumps(RECORDED).encode()],
    "rows": [FORMS[name] for name in ("lines", "array", "pair", "batch", "events", "generate")],
    "translated": [FORMS[name] for name in ("deltas", "choices", "ollama", "ollama whole")],
    "ids": [b"[1, 2]", b"1 2 3 4", b"[1 2", b'{"token_ids": [1]}'],
    "body": [json.dumps(BODY).encode(), json.dumps({**BODY, "model": "ö"}, ensure_ascii=False).encode()],
    "harmony_text": [FORMS["harmony"], FORMS["harmony with prompt"]],
    "server_log": [LOG.encode()],
    "printed": [FORMS[name] for name in ("repr", "request output", "tensor")],
    "embedded": [b"$ curl -N host\n" + sse(known(CHAT)), FORMS["issue"], FORMS["log of llama"]],
}


def importer_of(data: bytes) -> str | None:
    content = Content(data, "f", FORMATS)
    return next((row.name for row in IMPORTERS if row.sniff(content)), None)


def test_every_row_reads_its_files_and_no_other_row_does() -> None:
    assert {row.name for row in IMPORTERS} - SAMPLES.keys() == set(), "each format has a sample here"
    read = [(name, data) for name, samples in SAMPLES.items() for data in samples]
    assert [(name, data[:40]) for name, data in read if importer_of(data) != name] == []
    assert [data[:40] for _, data in read if not sniff_and_read(data, "f")] == []


def test_a_head_tells_a_response_from_a_text_as_the_table_does() -> None:
    textual = {row.name for row in IMPORTERS if not row.begins}
    wrong = [
        (name, data[:40])
        for name, samples in SAMPLES.items()
        for data in samples
        if (BEGINS.match(data) is None) != (name in textual)
    ]
    assert wrong == []


def test_json_is_parsed_at_most_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str | bytes] = []
    loads = json.loads

    def counting(text: str | bytes) -> object:
        parsed.append(text)
        return loads(text)

    monkeypatch.setattr(json, "loads", counting)
    rejected = [b'{"a": 1}', b'{"a": ', b"[1 2 x", b'{"a": 1}\n{"a": 2}\n']
    for name in ("recorded", "ids", "body"):
        for data in SAMPLES[name]:
            parsed.clear()
            sniff_and_read(data, "f")
            assert len(parsed) == data.startswith((b"{", b"["))
    for data in rejected:
        parsed.clear()
        with pytest.raises(CaptureError):
            sniff_and_read(data, "f")
        assert len(parsed) == 1


def test_a_body_that_no_client_reads_as_json_keeps_the_text_that_clients_get() -> None:
    text = json.dumps(BODY)
    assert refusal(text.encode("utf-16-le")).startswith("f: contains no event or body of chat completions")
    (capture,) = sniff_and_read(text.encode().replace(b'"m"', b'"\xed\xa0\x80"'), "f")
    assert capture.header.model == "\ufffd" * 3
