"""Each entry with a token form has streams that have it and streams that look alike and have it not."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import Code, audit
from inspector.analysis.reading import Reading, read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.issues.catalogue.evidence import FormFacts
from inspector.issues.catalogue.issue import Issue
from inspector.issues.catalogue.table import catalogue, read_catalogue
from inspector.issues.findings.diagnose import answers_of_findings
from inspector.issues.findings.forms import request_holds, token_places
from inspector.matrix import scripts
from inspector.protocol.harmony.violations import Violation
from inspector.protocol.harmony.vocab import MARKERS, encode

REJECTED = {Code.TOKEN_REJECTED, Code.HEADER_REJECTED}
WITH_TOKENS = [issue for issue in catalogue() if issue.tokens]


def reading_of(ids: Sequence[int], request: Mapping[str, Any] | None = None) -> Reading:
    header = Header(endpoint=Endpoint.TOKENS, request=request or {})
    return read(Capture(header=header, events=[Event(json.dumps(list(ids)))]))


def places(issue: Issue, text: str) -> list[tuple[int, int]]:
    repeats = any(Violation.PROMPT_REPEATED in form.violations for form in issue.tokens)
    request = {"prompt": "<|start|>assistant"} if repeats else None
    evidence = FormFacts(reading_of(encode(text), request))
    return [(place.start, place.end) for place in token_places(issue, evidence)]


def test_a_stream_that_shows_the_issue_matches() -> None:
    assert all(issue.shows for issue in WITH_TOKENS)
    unseen = [(issue.id, text) for issue in WITH_TOKENS for text in issue.shows if not places(issue, text)]
    assert unseen == []


def test_a_stream_that_looks_alike_does_not_match() -> None:
    assert all(issue.shows_not for issue in WITH_TOKENS)
    matching = [(issue.id, text) for issue in WITH_TOKENS for text in issue.shows_not if places(issue, text)]
    assert matching == []


OTHERWISE = {
    ("reasoning_closed", "return-after-end"),
    ("text_after_end", "stale-generation-config"),
}
"""Scripts that name an issue for the message that servers make of them; the token before tells another."""


def test_the_labs_malformed_scripts_have_the_forms_of_the_issues_they_name() -> None:
    pairs = [
        (script, issue)
        for script in scripts.load()
        for issue in WITH_TOKENS
        if not script.well_formed
        and issue.id in script.issues
        and not issue.request
        and (script.name, issue.id) not in OTHERWISE
    ]
    assert len(pairs) >= 10
    without = [
        (script.name, issue.id)
        for script, issue in pairs
        if not token_places(issue, FormFacts(reading_of(script.turns[0])))
    ]
    assert without == []


def test_the_place_is_the_tokens_of_the_sequence() -> None:
    issue = next(issue for issue in WITH_TOKENS if issue.id == "return-after-end")
    assert places(issue, "<|channel|>analysis<|message|>Think.<|end|><|return|>") == [(5, 7)]


def form(**tokens: Any) -> Issue:
    entry = {
        "id": "x",
        "title": "X",
        "sides": ["client"],
        "cause": "C.",
        "steps": ["S."],
        "confidence": "low",
        "basis": "B.",
        "tokens": [tokens],
        "shows": ["a"],
        "shows_not": ["b"],
    }
    return read_catalogue(json.dumps([entry]))[0]


@pytest.mark.parametrize(
    ("tokens", "text", "spans"),
    [
        ({"violations": ["no_header"]}, "Hi<|channel|>final<|message|>Hi", [(0, 4)]),
        ({"violations": ["no_header"], "alone": True}, "Hi", [(0, 1)]),
        (
            {"violations": ["text_between"], "alone": True},
            "<|channel|>final<|message|>Hi<|end|>Hi",
            [],
        ),
        ({"violations": ["text_between", "second_end"]}, "<|channel|>final<|message|>Hi<|end|>Hi", [(4, 6)]),
        ({"violations": ["special_in_body"]}, "<|channel|>final<|message|>Hi<|message|>", [(4, 5)]),
        ({"violations": ["unfinished_header"]}, "<|channel|>final", [(0, 2)]),
        ({"violations": ["unfinished_header"]}, "<|channel|>final<|message|>", []),
        ({"message": {"channel": "^final$", "body": "^H"}}, "<|channel|>final<|message|>Hi", [(0, 4)]),
    ],
)
def test_each_part_of_a_token_form(tokens: dict[str, Any], text: str, spans: list[tuple[int, int]]) -> None:
    assert places(form(**tokens), text) == spans


def test_a_request_that_nobody_kept_says_nothing() -> None:
    issue = next(issue for issue in catalogue() if issue.id == "ignore-eos")
    assert request_holds(issue, {}) is None
    assert request_holds(issue, {"ignore_eos": True}) is True
    assert request_holds(issue, {"ignore_eos": False}) is False
    assert request_holds(issue, {"messages": []}) is False


def test_every_violation_has_an_entry() -> None:
    explained = {violation for issue in WITH_TOKENS for form in issue.tokens for violation in form.violations}
    assert explained == set(Violation)


@given(
    st.lists(
        st.one_of(
            st.sampled_from([*sorted(MARKERS), 199999]),
            st.sampled_from(encode("assistant user analysis final to=functions.f json code")),
            st.integers(0, 201_100),
        ),
        max_size=14,
    ),
    st.sampled_from([Endpoint.TOKENS, Endpoint.CHAT, Endpoint.COMPLETIONS]),
)
def test_every_rejection_of_the_reference_parser_has_an_answer(ids: list[int], endpoint: Endpoint) -> None:
    choice = {"index": 0, "delta": {}, "text": "", "token_ids": ids}
    payload = ids if endpoint is Endpoint.TOKENS else {"choices": [choice]}
    header = Header(endpoint=endpoint, request={"ignore_eos": False})
    reading = read(Capture(header=header, events=[Event(json.dumps(payload))]))
    findings = [finding for finding in audit(reading) if finding.code in REJECTED]
    rejected_runs = [
        rejected_run for rejected_run in reading.choice.transcript.rejected_runs if rejected_run.at >= 0
    ]
    assert endpoint is Endpoint.CHAT or len(findings) == len(rejected_runs)
    assert all(answers_of_findings(findings, reading))


@given(
    st.lists(
        st.one_of(st.sampled_from(sorted(MARKERS)), st.integers(0, 201_100), st.just(173781)), max_size=40
    )
)
def test_any_tokens_are_matched_without_an_error(ids: list[int]) -> None:
    reading = reading_of(ids)
    findings = audit(reading)
    for answers in answers_of_findings(findings, reading):
        assert [answer.weight for answer in answers] == sorted(
            (answer.weight for answer in answers), reverse=True
        )
        assert not any(answer.issue.accuses for answer in answers[:1]), (
            "one response accuses nobody's hardware"
        )
