"""vLLM server logs, in the lines of vLLM's own request logger."""

from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.files.importers import sniff_and_read
from tests.support.foreign import LOG, STREAMED, read, refusal


def test_a_server_log_gives_a_capture_an_answer() -> None:
    first, second = sniff_and_read(LOG.encode(), "f")
    assert first == Capture(
        header=Header(
            endpoint=Endpoint.TOKENS,
            server_version="0.13.0",
            source="vLLM server log",
            extra={"request_id": "chatcmpl-a"},
        ),
        events=[Event("[200005, 35644, 200008]")],
    )
    assert second.events == [Event("[7]")]
    assert second.header.extra == {"request_id": "resp_b"}


def test_the_newer_form_of_the_log_reads() -> None:
    line = (
        "DEBUG 11-20 22:48:25 [request_logger.py:90] Generated response a details: output_token_ids: [1, 2]\n"
    )
    assert read(line).events == [Event("[1, 2]")]


def test_streamed_answers_of_a_log_are_left_out_with_a_note() -> None:
    first, second = sniff_and_read((LOG + STREAMED).encode(), "f")
    assert first.notes == ("Skipped 1 streamed responses, because vLLM logs only some of their token IDs.",)
    assert second.notes == ()
    assert refusal(STREAMED).startswith(
        "f: contains only streamed responses (1), for which vLLM logs only some of the token IDs; log"
    )


def test_a_log_that_bounds_or_cuts_its_lists_says_so() -> None:
    args = "INFO [utils.py:253] non-default args: {'max_log_len': 3}\n"
    cut = "INFO [logger.py:76] Generated response d: output: '', output_token_ids: [1, 2"
    first, second = sniff_and_read((args + LOG + cut).encode(), "f")
    assert first.notes == (
        "Skipped 1 truncated lines with token IDs.",
        "The server ran with --max-log-len 3: later token IDs are not in the log.",
    )
    assert second.notes == ()
    assert refusal(cut).startswith("f: no output_token_ids line has a complete list")
