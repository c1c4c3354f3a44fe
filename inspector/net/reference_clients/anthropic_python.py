"""anthropic-python reads one response: its own accumulator over the bytes that a server sent.

As `openai_python.py` beside it, for Messages: `messages.stream` for a stream, `messages.create` for a body.
The SDK parses the arguments of a call with each delta, and raises ValueError where they are not JSON (2.14).
"""

import json
import sys
import warnings
from collections.abc import Iterator
from threading import Lock
from typing import Any, NamedTuple

import anthropic
import httpx2

VERSION = anthropic.__version__

_REPORTS = (anthropic.APIError, httpx2.HTTPError)
"""What the SDK raises to report what happened: an error that the server sent, a cut."""

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
    transport = httpx2.MockTransport(lambda _: _sent(response))
    with (
        httpx2.Client(transport=transport) as http,
        anthropic.Anthropic(
            base_url="http://capture.invalid", api_key="none", http_client=http, max_retries=0
        ) as sdk,
    ):
        try:
            asked: dict[str, Any] = {"model": "capture", "max_tokens": 1, "messages": []}
            if response.whole:
                answer = sdk.messages.create(**asked)
            else:
                with sdk.messages.stream(**asked) as stream:
                    answer = stream.get_final_message()
            return SdkReading("read", "", answer.to_dict(mode="json"))
        except anthropic.APIResponseValidationError as error:
            return SdkReading("unreadable", _words(error), None)
        except _REPORTS as error:
            return SdkReading("reported", _words(error), None)
        except Exception as error:  # the SDK raises anything, such as AssertionError
            return SdkReading("unreadable", _words(error), None)


def _sent(response: Response) -> httpx2.Response:
    kind = "application/json" if response.whole else "text/event-stream"
    return httpx2.Response(response.status, headers={"content-type": kind}, content=_content(response))


def _content(response: Response) -> Iterator[bytes]:
    # A lone surrogate comes from a JSON escape, and no server can send one.
    yield response.text.encode("utf-8", "replace")
    if response.cut:
        raise httpx2.ReadError("the connection was closed")


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
