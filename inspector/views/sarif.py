"""Findings as SARIF 2.1.0, which code scanning reads: a rule for each kind, a result for each cause."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from inspector.analysis.audit import Finding, Severity, explain
from inspector.analysis.audit.kinds import KINDS, FindingSide, Kind, kind_label
from inspector.capture.formats import count
from inspector.capture.installed import project_url
from inspector.capture.version import __version__
from inspector.inspection.inspection import Inspection
from inspector.issues import Cause

RESULTS_AT_MOST: Final = 5000
"""The limit of code scanning for one run."""

WORKSPACE: Final = "GITHUB_WORKSPACE"
"""The variable with the folder that code scanning takes paths to be relative to."""

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SIDES: Final = (FindingSide.ABORT, FindingSide.TEXT, FindingSide.MODEL, FindingSide.STREAM)
_PROMPT_KEYS: Final = ("instructions", "input", "messages", "prompt")
_PLACES_AT_MOST: Final = 20
_HELP: Final = (
    "`harmony-inspector audit FILE --all` lists every finding of a capture with its tokens, and "
    "`harmony-inspector report FILE --html report.html` draws them."
)


class RuleText(NamedTuple):
    """A rule in words."""

    label: str
    what: str
    help: str = _HELP


class SourceLine(NamedTuple):
    """A line of a file."""

    file: str
    line: int = 1


def sarif(tool: str, results: Sequence[dict[str, Any]], rule_text: Callable[[str], RuleText]) -> str:
    """A document of one run."""
    results = results[:RESULTS_AT_MOST]
    driver: dict[str, Any] = {"name": tool, "version": __version__}
    if (address := project_url()) is not None:
        driver["informationUri"] = address
    driver["rules"] = [
        _rule(rule, rule_text(rule)) for rule in sorted({result["ruleId"] for result in results})
    ]
    run = {"tool": {"driver": driver}, "results": list(results), "columnKind": "unicodeCodePoints"}
    if any(_outside(result) for result in results):  # rejected unless the root is known
        root = {"uri": f"{_workspace().as_uri()}/"}
        run["invocations"] = [{"executionSuccessful": True, "workingDirectory": root}]
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(rule: str, text: RuleText) -> dict[str, Any]:
    what = f"{text.what[:1].upper()}{text.what[1:].rstrip('.')}."
    return {
        "id": rule,
        "shortDescription": {"text": f"{text.label[:1].upper()}{text.label[1:].rstrip('.')}."},
        "fullDescription": {"text": what},
        "help": {"text": f"{what} {text.help}"},
    }


def sarif_result(
    rule: str,
    level: str,
    words: str,
    places: Sequence[SourceLine],
    *,
    same: Iterable[str] = (),
    times: int = 1,
    **properties: object,
) -> dict[str, Any]:
    """One result; the first of `places` is where it is shown.

    `same` is what the result has in every run, whatever its files are called. Without it code scanning
    compares the line itself.
    """
    first, *others = [{"physicalLocation": _location(place)} for place in places[:_PLACES_AT_MOST]]
    result: dict[str, Any] = {
        "ruleId": rule,
        "level": level,
        "message": {"text": words},
        "locations": [first],
        "properties": properties,
    }
    if others:
        result["relatedLocations"] = [{"id": number, **other} for number, other in enumerate(others, 1)]
    if parts := tuple(same):
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
        result["occurrenceCount"] = times
        # Code scanning reads only the key of its own, which ends in the number of equal lines before.
        result["partialFingerprints"] = {
            "causeAndPrompt/v1": digest,
            "primaryLocationLineHash": f"{digest}:1",
        }
    return result


def _workspace() -> Path:
    return Path(os.environ.get(WORKSPACE) or Path.cwd())


def _outside(result: dict[str, Any]) -> bool:
    return any(
        place["physicalLocation"]["artifactLocation"]["uri"].startswith("file:")
        for place in (*result["locations"], *result.get("relatedLocations", ()))
    )


def _location(place: SourceLine) -> dict[str, Any]:
    path = Path(os.path.abspath(place.file))  # a link is named as the user names it
    try:
        below = path.relative_to(_workspace())
        uri = quote(os.fsencode(below.as_posix()))
    except ValueError:
        uri = path.as_uri()
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": place.line}}


def kind_text(rule: str) -> RuleText:
    """The text of a kind of finding; of another version's kind only its words."""
    known = rule in set(Kind)
    return RuleText(kind_label(rule), KINDS[Kind(rule)].when if known else kind_label(rule))


def rank(kind: str) -> tuple[bool, int]:
    """Kinds in the order in which a verdict speaks of them: errors first, the server's before the model's."""
    if kind not in set(Kind):  # of a later version of the program, whose probe is resumed here
        return True, len(_SIDES)
    info = KINDS[Kind(kind)]
    return info.severity is not Severity.ERROR, _SIDES.index(info.side)


class _Shown(NamedTuple):
    inspection: Inspection
    finding: Finding
    cause: Cause | None


def audit_sarif(inspections: Sequence[Inspection]) -> str:
    """The findings of several captures: a result for each cause and prompt."""
    groups: dict[tuple[str, ...], list[_Shown]] = {}
    for inspection in inspections:
        request = (str(inspection.capture.header.endpoint), _prompt(inspection))
        for finding, cause in zip(inspection.findings, inspection.causes, strict=True):
            reason = f"{finding.kind} {finding.code}" if cause is None else cause.id
            groups.setdefault((reason, *request), []).append(_Shown(inspection, finding, cause))
    results = [_result(same, members) for same, members in groups.items()]
    return sarif("Harmony Inspector", results, kind_text)


def _result(same: tuple[str, ...], members: Sequence[_Shown]) -> dict[str, Any]:
    leading = min(members, key=_weight)
    finding, cause = leading.finding, leading.cause
    kinds = list(dict.fromkeys(str(member.finding.kind) for member in members))
    files = dict.fromkeys(_file(member.inspection.name) for member in (leading, *members))
    responses = len({id(member.inspection) for member in members})
    words = [explain(finding)]
    if more := len(members) - 1:
        labels = ", ".join(map(kind_label, kinds))
        words.append(
            f"{count(more, 'more finding')} of the same cause ({labels}), in {count(responses, 'response')}."
        )
    if cause is not None:
        words.append(cause.first_step)
    return sarif_result(
        str(finding.kind),
        "error" if finding.severity is Severity.ERROR else "warning",
        " ".join(words),
        [SourceLine(file) for file in files],
        same=same,
        times=responses,
        code=str(finding.code),
        cause=None if cause is None else cause.id,
        first_step=None if cause is None else cause.first_step,
        kinds=kinds,
        findings=len(members),
        token_start=finding.token_start,
        token_end=finding.token_end,
    )


def _weight(member: _Shown) -> tuple[bool, tuple[bool, int]]:
    return member.finding.severity is not Severity.ERROR, rank(member.finding.kind)


def _file(name: str) -> str:
    """The file of a capture; of several in a file, each is called `FILE#NUMBER`."""
    file, numbered, place = name.rpartition("#")
    return file if numbered and place.isdecimal() and not Path(name).exists() else name


def _prompt(inspection: Inspection) -> str:
    """What a request asks, as a digest; the same in every run with the same prompt."""
    request = inspection.capture.header.request
    asked = {key: request.get(key) for key in _PROMPT_KEYS} if isinstance(request, dict) else {}
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
