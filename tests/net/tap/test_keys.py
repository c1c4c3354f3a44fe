"""A search for keys over everything that is written: the tap, `record` and the recording client."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from inspector.net.client.transport import recording_client
from inspector.net.tap import FolderSink
from tests.support.answers import CHAT
from tests.support.command import inspector
from tests.support.raw_server import Answer, RawRequest, page, raw_server, stream
from tests.support.upstreams import tapped

KEY = "s3cret+key/of-mine-%02d=="
HEADERS = [
    ("Authorization", "Bearer {}"),
    ("Authorization", 'Token token="{}"'),
    ("Authorization", "Token token={}"),
    ("Authorization", "{}"),
    ("Authorization", 'Digest username="u", response="{}"'),
    ("Proxy-Authorization", "Basic {}"),
    ("X-Api-Key", "{}"),
    ("Api-Key", "{}"),
    ("X-Goog-Api-Key", "{}"),
    ("X-Auth-Token", "{}"),
    ("Cookie", "a=b; session={}; c=d"),
    ("X-Amz-Security-Token", "{}"),
]
BODY_KEYS = [
    "api_key",
    "apiKey",
    "api-key",
    "accessToken",
    "access_token",
    "secretKey",
    "secret_key",
    "service_key",
    "serviceApiKey",
    "openai_api_key",
    "openai-api-key",
    "x-api-key",
    "client_secret",
    "password",
    "authorization",
    "cache_salt",
]
PARAMETERS = ["api_key", "key", "apikey", "access_token", "token", "sig", "X-Amz-Signature"]


def echoing(*, status: int = 200) -> Answer:
    """A server that repeats all that it was sent, in data, in names and in an error page."""

    def answer(request: RawRequest) -> Any:
        echo = {"path": request.path, "headers": request.headers, "body": request.body}
        lines = [json.dumps(echo), request.path, *request.headers.values()]
        if status >= 400:
            return [page(status, json.dumps({"error": {"message": " ".join(lines)}}), "application/json")]
        events = [
            f"event: {line}\ndata: {json.dumps({'said': line, 'all': echo})}\n\n".encode() for line in lines
        ]
        return stream([*events, b"data: [DONE]\n\n"])

    return answer


def written(folder: Path) -> str:
    text = "".join(path.read_text("utf-8") for path in folder.rglob("*") if path.is_file())
    assert "harmony_capture" in text
    return text


def keys_in(text: str, keys: list[str]) -> list[str]:
    forms = {key: (key, quote(key), quote(key, safe=""), json.dumps(key)[1:-1]) for key in keys}
    return [key for key, spelled in forms.items() if any(form in text for form in spelled)]


@pytest.mark.parametrize("status", [200, 401])
def test_no_key_is_written_wherever_the_server_repeats_it(status: int, tmp_path: Path) -> None:
    keys = [KEY % number for number in range(len(HEADERS) + len(BODY_KEYS) + len(PARAMETERS))]
    unused_keys = iter(keys)
    asks: list[dict[str, Any]] = [
        {"headers": {name: form.format(next(unused_keys))}, "json": {}} for name, form in HEADERS
    ]
    asks += [{"json": {"model": "m", "extra": {name: next(unused_keys)}}} for name in BODY_KEYS]
    asks += [{"params": {name: next(unused_keys)}, "json": {}} for name in PARAMETERS]
    with raw_server({CHAT: echoing(status=status)}) as server:
        with tapped(server.address, sink=FolderSink(tmp_path / "tap")) as (address, _):
            for request in asks:
                httpx.post(address + CHAT, **request)
        (tmp_path / "client").mkdir()
        with recording_client(tmp_path / "client" / "x.jsonl") as http:
            for request in asks:
                http.post(server.address + CHAT, **request)
        sent_to_server = json.dumps(
            [[request.headers, request.body, request.path] for request in server.asked]
        )
    assert keys_in(sent_to_server, keys) == keys, "every key reached the server"
    for folder in ("tap", "client"):
        text = written(tmp_path / folder)
        assert keys_in(text, keys) == []
        assert text.count("[redacted]") >= len(keys)


def test_record_writes_no_key_of_its_own(tmp_path: Path) -> None:
    keys = [KEY % 1, KEY % 2]
    with raw_server({CHAT: echoing()}) as server:
        words = ["--base-url", server.v1, "--model", "m", "--prompt", "p", "--api-key", keys[0]]
        completed = inspector(
            "record", *words, "--header", f"X-Team-Key: {keys[1]}", "--out", tmp_path / "x.jsonl"
        )
    text = written(tmp_path) + completed.stdout.decode() + completed.stderr.decode()
    assert keys_in(text, keys) == []
    assert base64.b64encode(keys[0].encode()).decode() not in text
