"""openai-python reads one response: its own accumulators over the bytes that a server sent.

The response reaches the SDK through an httpx transport, so no request leaves the process. The accumulators
are `chat.completions.stream` and `responses.stream`, for a whole body `create`; it has none for a stream of
completions. `responses.stream` makes an object of `response.completed` alone: a response that ends with
`response.incomplete` has none (openai 3.54).

This file imports nothing of the project, so that any release of the SDK can run it: `python openai_python.py`
reads a response a line as JSON and writes what the SDK made of it, as the other programs of this folder do.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple, cast

import httpx
import openai

VERSION = openai.__version__

_REPORTS = (
    *(openai.APIError, openai.LengthFinishReasonError),
    *(openai.ContentFilterFinishReasonError, httpx.HTTPError),
)
"""What the SDK raises to report what happened: an error that the server sent, the token limit, a cut."""

_READING = Lock()
"""Filters of warnings are of the whole process."""


class Response(NamedTuple):
    """A response as bytes."""

    endpoint: str
    whole: bool
    """True for a body that was not streamed."""
    status: int
    text: str
    cut: bool
    """True where the connection ended before the response did."""


class SdkReading(NamedTuple):
    """What the SDK made of a response."""

    outcome: str
    """A value of `ClientOutcome`, but for `different`, which the caller finds."""
    error: str
    """Class and message of the exception."""
    answer: "dict[str, Any] | None"
    """The final object."""


def read(response: Response) -> SdkReading:
    """Let the SDK read a response; content never raises, and pydantic's warnings about it go nowhere."""
    with _READING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _read(response)


def _read(response: Response) -> SdkReading:
    with (
        httpx.Client(transport=httpx.MockTransport(lambda _: _sent(response))) as http,
        openai.OpenAI(
            base_url="http://capture.invalid/v1", api_key="none", http_client=cast(Any, http), max_retries=0
        ) as sdk,
    ):
        read_to_end = False
        try:
            if response.whole:
                answer = _body_answer(sdk, response.endpoint)
            else:
                with _stream(sdk, response.endpoint) as stream:
                    for _ in stream.events:
                        pass
                    read_to_end = True
                    answer = stream.get_final()
            return SdkReading("read", "", answer.to_dict())
        except openai.APIResponseValidationError as error:
            return SdkReading("unreadable", _words(error), None)
        except _REPORTS as error:
            return SdkReading("reported", _words(error), None)
        except Exception as error:  # the SDK raises anything, such as AssertionError
            return SdkReading("no final object" if read_to_end else "unreadable", _words(error), None)


class _Stream(NamedTuple):
    events: Iterable[object]
    get_final: Callable[[], Any]


@contextmanager
def _stream(sdk: openai.OpenAI, endpoint: str) -> Iterator[_Stream]:
    """The accumulator of an endpoint over the recorded stream."""
    if endpoint == "responses":
        with sdk.responses.stream(model="capture", input="") as response:
            yield _Stream(response, response.get_final_response)
    else:
        with sdk.chat.completions.stream(model="capture", messages=[]) as completion:
            yield _Stream(completion, completion.get_final_completion)


def _body_answer(sdk: openai.OpenAI, endpoint: str) -> Any:
    """The object of a whole body."""
    if endpoint == "responses":
        return sdk.responses.create(model="capture", input="")
    if endpoint == "chat":
        return sdk.chat.completions.create(model="capture", messages=[])
    return sdk.completions.create(model="capture", prompt="")


def _sent(response: Response) -> httpx.Response:
    kind = "application/json" if response.whole else "text/event-stream"
    return httpx.Response(response.status, headers={"content-type": kind}, content=_content(response))


def _content(response: Response) -> Iterator[bytes]:
    # A lone surrogate comes from a JSON escape, and no server can send one.
    yield response.text.encode("utf-8", "replace")
    if response.cut:
        raise httpx.ReadError("the connection was closed")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def main() -> None:
    """Answer each line of standard input."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    sys.stdout.write(json.dumps({"version": VERSION}) + "\n")
    for line in sys.stdin:
        row = json.loads(line)
        reading = read(Response(row["endpoint"], row["whole"], row["status"], row["text"], row["cut"]))
        sys.stdout.write(json.dumps(reading._asdict()) + "\n")


if __name__ == "__main__":
    main()
