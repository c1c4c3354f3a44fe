"""The catalogue of known issues, read from `known_issues.yaml`; adding an entry needs no code.

Every mistake in the file is told with the entry and the field (docs/diagnose.md describes the keys).
This module reads and checks; it decides nothing about a failure.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from inspector.analysis.audit import Code, Kind, Severity
from inspector.capture.capture import Endpoint
from inspector.capture.errors import InspectorError
from inspector.issues.issue import (
    Asked,
    Confidence,
    Ended,
    FindingForm,
    Issue,
    Rate,
    Shown,
    Side,
    Step,
    Texts,
    TokenForm,
)
from inspector.issues.safe_yaml import read_yaml
from inspector.issues.schema import (
    Fields,
    Wrong,
    anywhere,
    by_program,
    engine,
    expression,
    flag,
    hint,
    identifier,
    mapping,
    message,
    pattern,
    several,
    text,
    verbatim,
    version,
    version_range,
    violation,
    word,
)

DEFAULT_FILE: Final = Path(__file__).with_name("known_issues.yaml")


def catalogue() -> tuple[Issue, ...]:
    """The entries that come with this package, in the order of the file."""
    return _catalogue()


@cache
def issues() -> Mapping[str, Issue]:
    """The same entries by id."""
    return {issue.id: issue for issue in _catalogue()}


@cache
def _catalogue() -> tuple[Issue, ...]:
    return read_catalogue(DEFAULT_FILE.read_text(encoding="utf-8"), name=DEFAULT_FILE.name)


def read_catalogue(content: str, *, name: str = "the catalogue") -> tuple[Issue, ...]:
    """Entries of a catalogue file; InspectorError names the entry and the field that is wrong."""
    try:
        loaded = read_yaml(content)
    except yaml.YAMLError as error:
        raise InspectorError(f"{name} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(loaded, list):
        raise InspectorError(f"{name} must be a list of entries")
    issues: list[Issue] = []
    for number, entry in enumerate(loaded, 1):
        called = entry.get("id") if isinstance(entry, dict) else None
        where = f"{name}, entry {called if isinstance(called, str) else number}"
        try:
            issues.append(_issue(entry))
        except Wrong as wrong:
            raise InspectorError(f"{where}: {wrong}") from wrong
    _check_together(issues, name)
    return tuple(issues)


def _check_together(issues: Iterable[Issue], name: str) -> None:
    seen: set[str] = set()
    for issue in issues:
        if issue.id in seen:
            raise InspectorError(f"{name}, entry {issue.id}: id is used twice")
        seen.add(issue.id)
    for issue in issues:
        for key, names in (
            ("shares_text_with", issue.shares_text_with),
            ("measured_as", (issue.measured_as,) if issue.measured_as else ()),
        ):
            for name_of_other in names:
                if name_of_other not in seen:
                    raise InspectorError(
                        f"{name}, entry {issue.id}: {key} names {name_of_other}, which is no entry"
                    )


def _issue(entry: object) -> Issue:
    fields = Fields(entry, "the entry")
    issue = Issue(
        id=fields.take("id", identifier),
        title=fields.take("title", text),
        sides=fields.take("side", several(word(Side)), one_is_enough=True),
        cause=fields.take("cause", text),
        steps=fields.take("steps", several(_step)),
        measured_as=fields.take("measured_as", identifier, ""),
        confidence=fields.take("confidence", word(Confidence)),
        basis=fields.take("basis", text),
        links=fields.take("links", several(text), ()),
        patterns=fields.take("patterns", several(pattern), ()),
        may_match=fields.take("may_match", several(pattern), ()),
        hints=fields.take("hints", several(hint), ()),
        needs=fields.take("needs", several(anywhere), ()),
        unless=fields.take("unless", several(anywhere), ()),
        in_server=fields.take("in_server", word(Texts), None),
        any_server=fields.take("any_server", flag, False),
        settle=fields.take("settle", text, ""),
        general=fields.take("general", flag, False),
        accuses=fields.take("accuses", flag, False),
        tokens_lost=fields.take("tokens_lost", flag, False),
        tokens=fields.take("tokens", several(_token_form), ()),
        findings=fields.take("findings", several(_finding_form), ()),
        request=fields.take("request", mapping(word(Asked)), {}),
        endpoints=frozenset(fields.take("endpoints", several(word(Endpoint)), ())),
        engines=frozenset(fields.take("engines", several(engine), ())),
        affected=fields.take("affected", by_program(version_range), {}),
        fixed_in=fields.take("fixed_in", by_program(version), {}),
        disproved_by=frozenset(fields.take("disproved_by", several(word(Shown)), (), one_is_enough=True)),
        rate=fields.take("rate", word(Rate), None),
        experiment=fields.take("experiment", text, ""),
        examples=fields.take("examples", several(verbatim), ()),
        shares_text_with=fields.take("shares_text_with", several(identifier), ()),
        server_text=fields.take("server_text", several(verbatim), ()),
        shows=fields.take("shows", several(verbatim), ()),
        shows_not=fields.take("shows_not", several(verbatim), ()),
        must_match=fields.take("must_match", several(verbatim), ()),
        must_not_match=fields.take("must_not_match", several(verbatim), ()),
    )
    fields.done()
    if issue.tokens and not (issue.shows and issue.shows_not):
        raise Wrong("tokens need `shows` and `shows_not`: a stream that has the form and one that has not")
    leads = (issue.patterns, issue.may_match, issue.tokens, issue.findings, issue.hints)
    if not any(leads) and not issue.settle:
        raise Wrong("nothing can lead to it: give patterns, hints, tokens or findings, or `settle`")
    return issue


def _step(value: object) -> Step:
    if isinstance(value, str):
        return Step(text=text(value))
    fields = Fields(value, "a step")
    release = fields.take("upgrade", version, "")
    until = fields.take("until", text, "")
    said = f"Until then, {until}." if until else fields.take("step", text, *([""] if release else []))
    situation = {
        "ended": frozenset(fields.take("ended", several(word(Ended)), (), one_is_enough=True)),
        "token_ids": fields.take("token_ids", flag, None),
        "ids_asked": fields.take("ids_asked", flag, None),
        "captured": fields.take("captured", flag, None),
        "tools": fields.take("tools", flag, None),
        "endpoints": frozenset(fields.take("endpoints", several(word(Endpoint)), (), one_is_enough=True)),
        "measured": fields.take("measured", flag, False),
    }
    step = (
        Step.to_release(release, said, **situation)
        if release
        else Step(text=said, until=bool(until), **situation)
    )
    fields.done()
    return step


def _token_form(value: object) -> TokenForm:
    fields = Fields(value, "a token form")
    form = TokenForm(
        violations=frozenset(fields.take("violation", several(violation), (), one_is_enough=True)),
        message=fields.take("message", message, {}),
        alone=fields.take("alone", flag, False),
    )
    fields.done()
    if bool(form.violations) is bool(form.message):
        raise Wrong("a token form is a violation or a message")
    return form


def _finding_form(value: object) -> FindingForm:
    fields = Fields(value, "a finding form")
    form = FindingForm(
        kinds=frozenset(fields.take("kind", several(word(Kind)), one_is_enough=True)),
        codes=frozenset(fields.take("code", several(word(Code)), (), one_is_enough=True)),
        severity=fields.take("severity", word(Severity), None),
        field=fields.take("field", expression, None),
        delivered_in=fields.take("delivered_in", expression, None),
        generated=fields.take("generated", expression, None),
        delivered=fields.take("delivered", expression, None),
        message=fields.take("message", message, {}),
        whole=fields.take("whole", flag, None),
        crowded=fields.take("crowded", flag, None),
        boundary=fields.take("boundary", flag, None),
        inner=fields.take("inner", flag, None),
        whole_step=fields.take("whole_step", flag, None),
        second_copy=fields.take("second_copy", flag, None),
        told=fields.take("told", flag, None),
        streamed=fields.take("streamed", flag, None),
        open=fields.take("open", flag, None),
        cut=fields.take("cut", flag, None),
        ended=frozenset(fields.take("ended", several(word(Ended)), (), one_is_enough=True)),
    )
    fields.done()
    return form
