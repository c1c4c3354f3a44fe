"""An error message, a traceback, client output or a server's log to ranked known issues.

Reads lines once and keeps little of them (`scan`), so a log may have any size. Where several entries make
the same text they are told apart by what else is there: words around it, the server's version, the endpoint
that a traceback goes through, and the share of the requests that fail. A text without a message that an entry
knows has no cause here; it gets the closest entries (`closest`), which claim nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Final

from inspector.capture.capture import Endpoint
from inspector.issues.catalogue.issue import EntryTexts, Issue, Rate, Side
from inspector.issues.catalogue.routes import Route, find_server, find_startup, names_ours
from inspector.issues.catalogue.steps import ReleaseMeasured, Situation, measured_name, measured_release
from inspector.issues.catalogue.table import catalogue
from inspector.issues.catalogue.versions import ReportedVersion
from inspector.issues.diagnosis import Diagnosis, Failure, paste_next, sentence
from inspector.issues.ranking import Answer, Because, Reason, possible_on, ranked, sides, version_reason
from inspector.issues.texts.anchors import Anchor, releases
from inspector.issues.texts.cleanup import apart, uncoloured
from inspector.issues.texts.message import LogMessage
from inspector.issues.texts.search import TextSearch
from inspector.protocol.engines import DEFAULT, ENGINES, PACKAGES, Engine
from inspector.protocol.harmony.parser_errors import parser_error
from inspector.protocol.wire.endpoints import ASKED

if TYPE_CHECKING:
    import sqlite3
_HARMONY: Final = tuple(spec.full_path for spec in ASKED if spec.parsed)
"""Paths whose answers a server parses."""
_MOST: Final = 0.5
_FEW: Final = 0.05
_ENOUGH_FOR_MOST: Final = 5
"""Requests from which a share says that most have it: of five, three have a rare message once in 900 logs."""
_ENOUGH_FOR_FEW: Final = 20
"""Requests from which a share says that few have it."""
_WHOLE: Final = 100_000
"""Characters in which words are looked for that rule an entry out or name another server."""
_SUBJECT: Final = re.compile(r"(?i)gpt[-_ ]?oss|harmony|<\|\w+\|>")
_CALLS: Final = re.compile(r"(?i)\b(?:tool|function)[-_ ]?(?:call|choice|parser|use)|\btools\b")
_RESPONSES: Final = re.compile(r"(?i)/v1/responses|\bresponses[- ]api\b")
_BARE_VERSION: Final = re.compile(
    r"(?i)\b(?:on|in|with|since|to|from|version|release) v?(\d\.\d{1,3}(?:\.\d{1,2})?)(?![\w.]*\d)"
)
"""A release whose program is not named."""
_LIBRARY: Final = re.compile(
    r"while expecting start token|tokens remaining in message header"
    r"|channel marker present but no channel value"
    r"|message header did not contain a role|waiting for message header|Unknown role: |vocab file"
    r"|Harmony encoding|HarmonyError|Harmony parse"
    r"|Could not parse header: too many tokens"
)
"""Messages of openai_harmony and of what feeds it, in any server."""


def diagnose_text(text: str | Iterable[str], issues: Sequence[Issue] | None = None) -> Diagnosis:
    """Diagnose a text, or the lines of one of any size; takes anything and raises nothing of its own."""
    entries = catalogue() if issues is None else issues
    scan = TextSearch(entries)
    scan.receive(text.splitlines(keepends=True) if isinstance(text, str) else text)
    scan.finish()
    return _Diagnosing(scan, entries).diagnosis()


class _Diagnosing:
    """Derives the answers from one scan."""

    def __init__(self, scan: TextSearch, entries: Sequence[Issue]) -> None:
        self.scan = scan
        self.issues = entries
        self.by_id = {issue.id: issue for issue in entries}
        self.is_log = bool(scan.requests) or scan.stamped > 1
        self.request_count = sum(scan.requests.get(path, 0) for path in _HARMONY)
        self.versions = _versions(scan)
        around = [line for message in scan.messages.values() for lines in message.around for line in lines]
        self.words = [*scan.head, *around]
        self.lower = "\n".join(self.words).lower()
        self.whole = apart("\n".join((*around, *scan.head))[:_WHOLE])
        self.hints = {issue.id: self._hints(issue) for issue in entries if issue.hints}
        parsed = (place for place, message in enumerate(scan.messages) if _LIBRARY.search(message))
        self.first_parsed = next(parsed, len(scan.messages))

    def diagnosis(self) -> Diagnosis:
        """Rank the answers and build the Diagnosis."""
        failures = [self._failure(message) for message in self.scan.messages.values()]
        failures = [failure for _, failure in sorted(enumerate(failures), key=self._place)]
        answers = self._merged(failures)
        route = self._route(failures, answers)
        if route is not None:
            answers = ()
        versions = {reported.version for reported in self.versions}
        version = versions.pop() if len(versions) == 1 else None
        served = _endpoint(place for message in self.scan.messages.values() for place in message.anchors)
        of_server = any(message.of_server for message in self.scan.messages.values())
        of_ours = of_server or names_ours(self.whole) or _SUBJECT.search(self.whole) is not None
        next_input, log_missing = paste_next(failures, of_ours=of_ours, of_server=of_server)
        measured = None if route or failures or self.is_log else self._measured(version)
        known = measured if route is None else route
        return Diagnosis(
            sentence=sentence(answers, failures) if known is None else known.sentence,
            sides=sides(answers),
            answers=answers,
            failures=tuple(failures),
            notes=tuple(self._notes(failures)),
            version=version,
            versions=tuple(self.versions),
            situation=Situation(version=version, endpoint=served),
            lines=self.scan.lines,
            characters=self.scan.characters,
            requests=dict(self.scan.requests),
            timeline=tuple(self.scan.timeline),
            is_log=self.is_log,
            route=route,
            closest=()
            if answers or route or not (of_ours or not failures)
            else self._closest(failures, not_server=measured is not None and measured.cleared),
            measured=measured,
            paste_next=next_input,
            log_missing=log_missing,
        )

    def _place(self, numbered: tuple[int, Failure]) -> tuple[bool, bool, bool, bool, int]:
        """What failures are sorted by: a cause before what follows from it, the parser before a client."""
        place, failure = numbered
        before = bool(failure.answers) and failure.answers[0].issue.before_parser
        vague = not (before and place < self.first_parsed), failure.general, not failure.answers
        if self.is_log:
            return *vague, False, -failure.count
        return *vague, _LIBRARY.search(failure.message) is None, place

    def _route(self, failures: Sequence[Failure], answers: Sequence[Answer]) -> Route | None:
        """Where the text belongs, if not to its first answer.

        A message that means the same whatever the server beats everything; a program that the text names
        beats what else may be said of vLLM; an engine that died beats a rejected request.
        """
        if self.is_log and not failures:
            return None
        issue = answers[0].issue if answers else None
        named = issue is not None and issue.any_server and not failures[0].cut
        if issue is not None and (named or _LIBRARY.search(failures[0].message)):
            return None
        server = find_server(self.whole)
        if server is not None and (failures or _SUBJECT.search(self.whole)):
            return server
        by_client = issue is not None and issue.sides == (Side.CLIENT,)
        if issue is not None and not issue.general and not by_client:
            return None
        unknown = [failure.message for failure in failures if not (failure.answers or failure.without_error)]
        return find_startup(self.whole, unknown, failing=bool(failures) and not by_client)

    def _measured(self, version: str | None) -> ReleaseMeasured | None:
        """What the lab knows of the release of a text in words about tool calls."""
        if version is None or not _CALLS.search(self.whole):
            return None
        endpoint = Endpoint.RESPONSES if _RESPONSES.search(self.whole) else Endpoint.CHAT
        return measured_release(version, endpoint)

    def _closest(self, failures: Sequence[Failure], *, not_server: bool) -> tuple[Issue, ...]:
        """Entries in words like these; none for a log in which nothing fails."""
        if self.is_log and not failures:
            return ()
        messages = [failure.message for failure in failures]
        text = "\n".join(messages if self.is_log else (*messages, *self.scan.head))
        server = DEFAULT if self.versions or names_ours(self.whole) else None
        versions = [reported.version for reported in self.versions]
        return closest(text, self.issues, server, versions, not_server=not_server)

    def _may(self, issue: Issue) -> bool:
        """Whether no word of the text rules an entry out."""
        return not any(word.expression.search(self.whole) for word in issue.unless)

    def _counts(self, issue: Issue, message: LogMessage, own: bool) -> bool:
        """Whether the entry's `in_server`, `needs` and `unless` hold for this message."""
        if not message.of_server and (
            issue.in_server is EntryTexts.ALL or (issue.in_server is not None and not own)
        ):
            return False
        if issue.needs and not any(word.expression.search(self.whole) for word in issue.needs):
            return False
        return self._may(issue)

    def _failure(self, message: LogMessage) -> Failure:
        counted = self.request_count >= max(
            _ENOUGH_FOR_MOST, message.count
        )  # more are not one for each request
        share = message.count / self.request_count if counted else None
        matched = [
            (self.by_id[name], own)
            for name, own in message.matched.items()
            if self._counts(self.by_id[name], message, own)
        ]
        contested = sum(not issue.general for issue, _ in matched) > 1
        answers = ranked(
            self._answer(issue, message, own, share, contested=contested) for issue, own in matched
        )
        return Failure(
            message=message.text,
            count=message.count,
            first_line=message.first_line,
            answers=tuple(answers),
            around=tuple(tuple(map(uncoloured, lines)) for lines in message.around),
            share=share,
            by_version=dict(message.by_version),
            cut=message.cut,
            without_error=message.without_error,
        )

    def _answer(
        self, issue: Issue, message: LogMessage, own: bool, share: float | None, *, contested: bool
    ) -> Answer:
        because = Because.MESSAGE if own else Because.PART_OF_MESSAGE
        by_text = Reason(because, f"the text says “{message.text}”")
        if message.cut:
            by_text = Reason(
                Because.BEGINNING, f"the text is cut off at “{message.text}”, the beginning of its message"
            )
        reasons = [by_text, *self.hints.get(issue.id, ())]
        versions = [version for version in message.by_version if version] or [
            reported.version for reported in self.versions[:1]
        ]
        source = next((reported.source for reported in self.versions if reported.version in versions), "")
        if len(versions) == 1 and (reason := version_reason(issue, versions[0], source)) is not None:
            reasons.append(reason)
        if issue.endpoints and (endpoint := _endpoint(message.anchors)) and endpoint not in issue.endpoints:
            reasons.append(
                Reason(Because.ENDPOINT, f"the traceback goes through {endpoint}, where it does not exist")
            )
        if share is not None and issue.rate is not None:
            reasons += self._rate(issue.rate, share, message.count)
        return Answer(issue=issue, reasons=tuple(reasons), contested=contested)

    def _rate(self, rate: Rate, share: float, count: int) -> list[Reason]:
        words = f"{count:,} of {self.request_count:,} requests to chat and Responses ({share:.1%}) have it"
        few = share <= _FEW and self.request_count >= _ENOUGH_FOR_FEW
        if not few and share < _MOST:
            return []
        return [Reason(Because.RATE if few is (rate is Rate.FEW) else Because.NOT_RATE, words)]

    def _hints(self, issue: Issue) -> list[Reason]:
        reasons = []
        for hint in issue.hints:
            if hint.literal not in self.lower:
                continue
            quoted = next((match for line in self.words if (match := hint.expression.search(line))), None)
            if quoted is not None:
                reasons.append(Reason(Because.HINT, f"the text contains “{quoted[0][:80]}”"))
        return reasons

    def _merged(self, failures: Sequence[Failure]) -> tuple[Answer, ...]:
        """The best answer of each failure in their order, then the others by weight."""
        first = {
            failure.answers[0].issue.id: failure.answers[0]
            for failure in reversed(failures)
            if failure.answers
        }
        leading = [failure.answers[0].issue.id for failure in failures if failure.answers]
        rest: dict[str, Answer] = {}
        for failure in failures:
            for answer in failure.answers[1:]:
                name = answer.issue.id
                if name not in first and (name not in rest or answer.weight > rest[name].weight):
                    rest[name] = answer
        return (*(first[name] for name in dict.fromkeys(leading)), *ranked(rest.values()))

    def _notes(self, failures: Sequence[Failure]) -> Iterable[str]:
        frames = self.scan.frames
        parsed = any(parser_error(failure.message) for failure in failures)  # not what fails at the start
        harmony = parsed and any("HarmonyError" in line for line in self.words)
        if harmony and not self.is_log and frames.isdisjoint(PACKAGES):
            if "openai_harmony" in frames:
                yield (
                    f"The traceback goes through openai_harmony and not through {DEFAULT.label}: the parser "
                    "ran in this program, not in the server."
                )
            else:
                yield (
                    "openai_harmony.HarmonyError comes from the server; the client only repeats what it was "
                    "told. The traceback is in the server's log."
                )
        if self.scan.other_messages:
            yield f"{self.scan.other_messages:,} more failures have different texts and are not listed."
        if self.is_log and failures and not self.request_count:
            yield "The log has no lines of requests (the access log is off), so shares are not known."
        versions = {reported.version for reported in self.versions}
        if len(versions) > 1:
            yield f"The evidence names several versions of {DEFAULT.label}: {', '.join(sorted(versions))}."


def _versions(scan: TextSearch) -> list[ReportedVersion]:
    """Versions by strength of evidence: what the server reports itself, then its lines, then the text."""
    by_server = [reported for reported in scan.versions if reported.source != "the text"]
    if by_server:
        return by_server
    places = {place for message in scan.messages.values() for place in message.anchors}
    by_lines = releases().of(sorted(places))
    if by_lines:
        line = min(message.first_line for message in scan.messages.values() if message.anchors)
        lines = ", ".join(
            sorted(
                {
                    f"{place.file.rsplit('/', 1)[-1]}:{place.line}"
                    for place in places
                    if releases().of([place])
                }
            )[:3]
        )
        return [ReportedVersion(version, f"file and line: {lines}", line) for version in reversed(by_lines)]
    return scan.versions or list(_bare_versions(scan.head))


def _bare_versions(lines: Iterable[str]) -> Iterator[ReportedVersion]:
    """Releases of the default server by their number alone, where no line names a server with its release."""
    for number, line in enumerate(lines, 1):
        for match in _BARE_VERSION.finditer(line):
            if measured_name(match[1]) is not None:
                yield ReportedVersion(match[1], "the text", number)


def _endpoint(places: Iterable[Anchor]) -> Endpoint | None:
    endpoints = {
        endpoint
        for place in places
        for engine in ENGINES
        for part, endpoint in engine.source_files.items()
        if part in place.file
    }
    return endpoints.pop() if len(endpoints) == 1 else None


_SHOWN: Final = 3
_WORD: Final = re.compile(r"[^\W_]{2,40}")
_NAMES: Final = frozenset({"gpt", "oss", "gptoss", "20b", "120b", "openai", DEFAULT.name})
"""Names of the model and the server, which say nothing of the fault."""
_WORDS: Final = 64
"""Different words of a text that are looked for."""
_CHARACTERS: Final = 16_000
"""Characters of a text that are read."""
_TABLE: Final = (
    "CREATE VIRTUAL TABLE entries USING fts5(symptoms, title, cause, steps, examples, "
    "tokenize='porter unicode61')"
)
_CLOSEST: Final = (
    "SELECT rowid FROM entries WHERE entries MATCH ? ORDER BY bm25(entries, 4, 2, 1, 1, 1), rowid"
)
"""A word that users say counts most, one of the title more than others."""
_LOCK: Final = Lock()


def closest(
    text: str,
    issues: Sequence[Issue] | None = None,
    server: Engine | None = None,
    versions: Sequence[str] = (),
    *,
    not_server: bool = False,
) -> tuple[Issue, ...]:
    """At most three entries, the most similar first; none without a common word or without FTS5.

    Left out are those that a server, or each of some versions of it, does not have, and with `not_server`
    those of its parser.
    """
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text[:_CHARACTERS]))
    query = " OR ".join(
        f'"{word}"' for word in islice((word for word in words if word not in _NAMES), _WORDS)
    )
    entries = catalogue() if issues is None else issues
    index = _catalogue_index() if entries is catalogue() else _index(entries)
    if index is None or not query:
        return ()
    with _LOCK:
        rows = index.execute(_CLOSEST, (query,)).fetchall()
    if entries is not catalogue():
        index.close()
    similar = (entries[row] for (row,) in rows)
    possible = (
        issue
        for issue in similar
        if _may_be_of(issue, server, versions) and not (not_server and issue.sides[0] is Side.SERVER)
    )
    return tuple(islice(possible, _SHOWN))


def _may_be_of(issue: Issue, server: Engine | None, versions: Sequence[str]) -> bool:
    if server is None:
        return True
    reasons = [version_reason(issue, version, engine=server) for version in versions]
    outside = [reason is not None and reason.because is Because.OUTSIDE for reason in reasons]
    return possible_on(issue, server) and not (outside and all(outside))


@cache
def _catalogue_index() -> "sqlite3.Connection | None":
    return _index(catalogue())


def _index(issues: Sequence[Issue]) -> "sqlite3.Connection | None":
    """The words of each entry by its place; None where SQLite lacks FTS5."""
    try:
        import sqlite3  # noqa: PLC0415 -- some builds of Python lack it, and `import inspector` does without it
    except ImportError:
        return None
    index = sqlite3.connect(":memory:", check_same_thread=False)
    try:
        index.execute(_TABLE)
    except sqlite3.OperationalError:
        index.close()
        return None
    index.executemany(
        "INSERT INTO entries(rowid, symptoms, title, cause, steps, examples) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (
                number,
                "\n".join(issue.symptoms),
                issue.title,
                issue.cause,
                "\n".join(step.text for step in issue.steps),
                "\n".join(issue.examples),
            )
            for number, issue in enumerate(issues)
        ),
    )
    return index
