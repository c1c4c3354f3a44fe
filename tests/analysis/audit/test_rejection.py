"""What a server's error says that its parser rejected, and where that stands."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from inspector import Finding, Kind, Severity, inspect
from inspector.analysis.audit import Rejection, explain, transmission_of
from inspector.analysis.audit.facts import Implied, Missing
from inspector.analysis.audit.rejection import UnsentKind, culprit, header_words
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.matrix.results import all_runs
from inspector.matrix.scripts import Script
from inspector.protocol.harmony.parser_errors import ParserError, RejectionReason, parser_error
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.tracker import HarmonyTracker
from inspector.protocol.harmony.transcript import RejectedRun, Transcript
from inspector.protocol.harmony.vocab import Marker, encode
from tests.support.matrix import MatrixInspection, inspections_of
from tests.support.streams import CLOSED, aborted, chat_chunk
from tests.support.tiers import choose

THINK = "<|channel|>analysis<|message|>"
COMMENT = "Unexpected token 12606 while expecting start token 200006"

ACCEPTED_TODAY = {"constrain_twice": 0, "doubled_channel": 6}
"""Scripts whose header today's parser accepts and that of older releases rejects; where it starts."""


def rejection_of(capture: Capture) -> Rejection:
    stopped = transmission_of(read(capture)).rejection
    assert stopped is not None
    return stopped


def marked(capture: Capture) -> Finding:
    return mark(inspect(capture).findings)


def mark(findings: Sequence[Finding]) -> Finding:
    (finding,) = (finding for finding in findings if finding.kind in {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER})
    return finding


# --- every capture of the matrix -------------------------------------------------------------------


def parser_failures() -> list[tuple[str, MatrixInspection]]:
    return [
        (f"{run.name} {inspection.script.name}", inspection)
        for run in all_runs()
        for inspection in inspections_of(run)
        if any(parser_error(words) for words in inspection.errors)
    ]


def refused(script: Script) -> RejectedRun | None:
    """Where the reference parser stops in all that the model was made to emit."""
    transcript = Transcript()
    transcript.receive(HarmonyTracker().receive(script.sampled), len(script.sampled))
    return transcript.rejected_runs[0] if transcript.rejected_runs else None


def wrong(failure: MatrixInspection) -> str:
    """Why the mark is not where the script says; empty when it is."""
    script, stopped, ids = failure.script, failure.stopped, list(failure.ids)
    sampled, marks, truth = list(script.sampled), mark(failure.findings), refused(script)
    assert stopped is not None
    all_ids_sent = sampled[: len(ids)] == ids  # vLLM to 0.12 leaves out the ids of tokens without text
    error = next(filter(None, map(parser_error, failure.errors)))
    start = truth.start if truth is not None else ACCEPTED_TODAY[script.name]
    if not error.reason.in_header:
        assert truth is not None
        if stopped.token_id != sampled[truth.at]:
            return f"token {stopped.token_id} instead of {sampled[truth.at]}"
        missing_count = truth.at - len(ids)
        if (
            all_ids_sent
            and not {
                "none": missing_count == 0,
                "possible": missing_count >= 0,
                "certain": missing_count > 0,
            }[stopped.missing]
        ):
            return f"{missing_count} tokens are missing, said: {stopped.missing}"
        return "" if (marks.token_start, marks.sent) == (len(ids), False) else f"span {marks}"
    if not all_ids_sent or start >= len(ids):
        return (
            ""
            if (marks.token_start, marks.sent) == (len(ids), False)
            else f"span of an unsent header {marks}"
        )
    if (marks.token_start, marks.token_end, marks.sent) != (start, len(ids), True):
        return f"span of a header {marks}"
    if stopped.missing is Missing.NONE and sampled[len(ids)] != Marker.MESSAGE:
        return "more of the header is missing"
    if stopped.culprit is not None and error.quoted:
        blamed = "".join(text_of(ids[slice(*stopped.culprit)]).split())
        if "".join(error.quoted.split()) not in blamed:
            return f"{blamed} blamed for {error.quoted}"
    return ""


def test_every_parser_failure_of_the_matrix_is_marked_where_its_script_says() -> None:
    failures = parser_failures()
    assert len(failures) > choose(100, 350)
    assert {name: why for name, failure in failures if (why := wrong(failure))} == {}


# --- one rule each ---------------------------------------------------------------------------------


def test_a_token_after_a_closed_message_is_the_next_one() -> None:
    stopped = rejection_of(aborted([THINK, "Hm", "<|end|>"], COMMENT))
    assert (stopped.sent, stopped.token_id, stopped.missing) == (5, 12606, Missing.NONE)
    assert stopped.unsent == (UnsentKind.TOKEN,)
    marks = marked(aborted([THINK, "Hm", "<|end|>"], COMMENT))
    assert (marks.kind, marks.severity, marks.token_start, marks.token_end) == (
        Kind.UNEXPECTED_TOKEN,
        Severity.ERROR,
        5,
        6,
    )
    assert (marks.sent, marks.generated, marks.delivered) == (False, "comment", COMMENT)


def test_with_several_tokens_per_step_others_may_be_missing() -> None:
    stopped = rejection_of(aborted([THINK, "Hm there", "<|end|>"], COMMENT, event_per_token=False))
    assert stopped.missing is Missing.POSSIBLE
    assert stopped.implied == ()


@pytest.mark.parametrize(
    ("steps", "implied"),
    [
        ([THINK, "Hm"], (Implied.MESSAGE_END,)),
        ([THINK, "Hm", "<|end|>", "<|start|>assistant"], (Implied.HEADER_END, Implied.MESSAGE_END)),
        ([], (Implied.MESSAGE,)),
    ],
)
def test_what_the_error_implies_is_a_gap(steps: list[str], implied: tuple[Implied, ...]) -> None:
    stopped = rejection_of(aborted(steps, COMMENT))
    assert (stopped.missing, stopped.implied) == (Missing.CERTAIN, implied)
    assert stopped.unsent == (UnsentKind.GAP, UnsentKind.TOKEN)


def test_a_rejected_header_is_marked_from_its_start_and_blamed_by_its_words() -> None:
    capture = aborted([THINK + "Hm<|end|>", "<|start|>assistantary<|channel|>"], "Unknown role: assistantary")
    stopped, marks = rejection_of(capture), marked(capture)
    assert (stopped.header, stopped.culprit, stopped.token_id) == ((5, 9), (6, 8), Marker.MESSAGE)
    assert (marks.kind, marks.token_start, marks.token_end, marks.sent) == (Kind.BAD_HEADER, 5, 9, True)
    assert explain(marks).startswith("“assistantary” in the header")


def test_a_header_that_is_not_all_there_is_still_the_one() -> None:
    capture = aborted(
        [THINK + "Hm<|end|>", "<|start|>assistant"], "Unknown role: assistantary", event_per_token=False
    )
    stopped = rejection_of(capture)
    assert (stopped.header, stopped.missing) == ((5, 7), Missing.CERTAIN)
    assert stopped.implied == (Implied.HEADER_WORDS,)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("<|start|>assistant<|channel|>final", "Unknown role: assistantary"),
        ("<|start|>assistant", "message header did not contain a role"),
        ("<|start|>assistant<|channel|>final", "channel marker present but no channel value found in header"),
    ],
)
def test_an_open_header_that_the_words_exclude_is_not_blamed(header: str, words: str) -> None:
    capture = aborted([THINK + "Hm<|end|>", header], words, event_per_token=False)
    stopped, marks = rejection_of(capture), marked(capture)
    assert stopped.header is None
    assert stopped.implied == (Implied.HEADER_END, Implied.MESSAGE_END)
    assert stopped.unsent == (UnsentKind.GAP, UnsentKind.HEADER)
    assert (marks.kind, marks.sent) == (Kind.BAD_HEADER, False)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("<|start|>assistantary<|channel|>final", "Unknown role: assistantary"),
        ("<|start|><|channel|>final", "message header did not contain a role"),
        ("<|start|>assistant<|channel|>", "channel marker present but no channel value found in header"),
        (
            "<|start|>assistant<|channel|>final we need",
            'unexpected tokens remaining in message header: ["we", "need"]',
        ),
        ("<|start|>assistant<|channel|>final", "could not decode header"),
    ],
)
def test_an_open_header_that_has_what_the_words_say_is_blamed(header: str, words: str) -> None:
    capture = aborted([THINK + "Hm<|end|>", header], words, event_per_token=False)
    stopped, marks = rejection_of(capture), marked(capture)
    assert (stopped.header, stopped.missing) == ((5, 5 + len(encode(header))), Missing.POSSIBLE)
    assert stopped.unsent == (UnsentKind.TOKEN,)
    assert (marks.kind, marks.token_start, marks.generated, marks.sent) == (Kind.BAD_HEADER, 5, header, True)


def test_a_header_of_which_nothing_was_sent_follows_the_last_token() -> None:
    capture = aborted([THINK, "Hm"], "Unknown role: assistantary")
    stopped, marks = rejection_of(capture), marked(capture)
    assert (stopped.token_id, stopped.implied) == (None, (Implied.MESSAGE_END,))
    assert (marks.kind, marks.token_start, marks.token_end, marks.sent) == (Kind.BAD_HEADER, 4, 5, False)
    assert marks.generated == "assistantary"


def test_a_response_that_ends_inside_a_header_lacks_no_token() -> None:
    words = "Unexpected EOS while waiting for message header to complete"
    stopped = rejection_of(aborted([THINK + "Hm<|end|>", "<|start|>assistant"], words))
    assert stopped.header == (5, 7)
    assert stopped.unsent == ()


@pytest.mark.parametrize(
    "words", ["list index out of range", "unhandled errors in a TaskGroup (1 sub-exception)", ""]
)
def test_words_that_name_nothing_mark_nothing(words: str) -> None:
    inspection = inspect(aborted([THINK, "Hm"], words))
    assert inspection.rejection is None
    assert not {Kind.UNEXPECTED_TOKEN, Kind.BAD_HEADER} & {finding.kind for finding in inspection.findings}


def test_a_token_among_those_sent_is_not_marked_twice() -> None:
    inspection = inspect(aborted([THINK, "Hm", "<|end|>", "comment"], COMMENT))
    assert inspection.rejection is None
    (finding,) = (finding for finding in inspection.findings if finding.kind is Kind.UNEXPECTED_TOKEN)
    assert (finding.token_start, finding.token_end, finding.sent) == (5, 6, True)


def test_a_server_that_goes_on_after_its_error_marks_nothing() -> None:
    capture = aborted([THINK, "Hm", "<|end|>"], COMMENT)
    following = Event(chat_chunk(encode("<|start|>assistant"), {}), 1.0)
    going_on = Capture(header=capture.header, events=[*capture.events[:-1], following], end=CLOSED)
    assert transmission_of(read(going_on)).rejection is None


def test_of_several_open_choices_nobody_knows_which_failed() -> None:
    data = [chat_chunk(encode(THINK), {}, index=index) for index in range(2)]
    data.append(json.dumps({"error": {"message": COMMENT}}))
    header = Header(endpoint=Endpoint.CHAT, server_version="0.13.0", status=200)
    two_choices = Capture(header=header, events=[Event(payload, None) for payload in data], end=CLOSED)
    assert transmission_of(read(two_choices)).rejection is None
    data.insert(2, chat_chunk([], {}, finish="stop", index=0))
    payload = Capture(header=header, events=[Event(payload, None) for payload in data], end=CLOSED)
    assert rejection_of(payload).choice == 1


def test_without_token_ids_the_rejected_token_is_still_named() -> None:
    data = [chat_chunk(None, {"reasoning": "Hm"}), json.dumps({"error": {"message": COMMENT}})]
    header = Header(endpoint=Endpoint.CHAT, server_version="0.13.0", status=200)
    capture = Capture(header=header, events=[Event(payload, None) for payload in data], end=CLOSED)
    stopped, marks = rejection_of(capture), marked(capture)
    assert (stopped.sent, stopped.token_id) == (0, 12606)
    assert (marks.token_start, marks.token_end, marks.sent) == (0, 1, False)


def test_a_connection_cut_without_an_error_says_where_to_look() -> None:
    data = json.dumps({"type": "response.created", "response": {"status": "in_progress"}})
    header = Header(endpoint=Endpoint.RESPONSES, status=200)
    events = [Event(data, None, "response.created")]
    capture = Capture(header=header, events=events, end=End(at_s=0.1, cut=True))
    assert "its log has the traceback" not in inspect(capture).verdict.why, "not every server is silent"
    inspection = inspect(replace(capture, header=replace(header, server_version="0.13.0")))
    assert inspection.rejection is None
    assert "its log has the traceback" in inspection.verdict.why


@pytest.mark.parametrize(
    ("steps", "words", "why"),
    [
        ([THINK, "Hm", "<|end|>"], COMMENT, "is not in the stream"),
        ([THINK, "Hm"], COMMENT, "sends nothing of the step"),
        ([THINK + "Hm<|end|>", "<|start|>assistantary"], "Unknown role: assistantary", "starts at token 5"),
    ],
)
def test_the_verdict_says_where_the_rejected_part_is(steps: list[str], words: str, why: str) -> None:
    assert why in inspect(aborted(steps, words)).verdict.why


def test_the_culprit_is_found_across_tokens_and_spaces() -> None:
    header = encode("<|start|>assistant<|channel|>final we need<|constrain|>json")
    error = ParserError(reason=RejectionReason.EXTRA_WORDS, quoted="we need <|constrain|>json")
    span = culprit(header, 0, len(header), error)
    assert span is not None
    assert text_of(header[slice(*span)]) == " we need<|constrain|>json"
    twice = encode("<|start|><|start|>assistant<|channel|>final")
    extra_words = ParserError(reason=RejectionReason.EXTRA_WORDS, quoted="<|start|>assistant")
    assert culprit(twice, 0, len(twice), extra_words) == (1, 3), "the second one stands at the beginning"
    assert culprit(header, 0, 2, error) is None
    assert culprit(header, 0, len(header), ParserError(reason=RejectionReason.UNDECODABLE)) is None


def test_header_words_are_what_a_person_reads() -> None:
    ids = encode("<|start|>assistant<|channel|>commentary to=functions.x <|constrain|>json")
    assert header_words(ids) == "assistant commentary to=functions.x json"
    assert header_words([]) == ""
