"""An error message, a traceback, client output or a server's log to ranked known issues.

Reads lines once and keeps little of them (`scan`), so a log may have any size. Where several entries make
the same text they are told apart by what else is there: words around it, the server's version, the endpoint
that a traceback goes through, and the share of the requests that fail.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from inspector.capture import Endpoint
from inspector.diagnosis.anchors import Anchor, releases
from inspector.diagnosis.catalogue import catalogue
from inspector.diagnosis.clean import uncoloured
from inspector.diagnosis.described import best_told, facts_by_sentence
from inspector.diagnosis.issue import Issue, Rate, Side, Texts
from inspector.diagnosis.languages import apart, in_english
from inspector.diagnosis.lines import complaint_of
from inspector.diagnosis.message import Message
from inspector.diagnosis.paste import BREAKS_OFF
from inspector.diagnosis.ranking import Answer, Because, Reason, ranked, sides, version_reason
from inspector.diagnosis.reports import proposes, statements
from inspector.diagnosis.result import Diagnosis, Failure, paste_next, sentence
from inspector.diagnosis.routes import Route, find_server, find_startup, names_ours, runs_ours
from inspector.diagnosis.scan import Scan, VersionSeen
from inspector.diagnosis.steps import Situation
from inspector.diagnosis.symptoms import (
    complaint,
    headline,
    is_about,
    is_of_other_model,
    prose,
    symptom_of,
)
from inspector.engines import DEFAULT, ENGINES, PACKAGES
from inspector.formats import listed
from inspector.harmony.parser_errors import parser_error
from inspector.wire.endpoints import ASKED

__all__ = ["diagnose_text"]

_HARMONY: Final = tuple(spec.full_path for spec in ASKED if spec.parsed)
"""Paths whose answers a server parses."""
_ENOUGH: Final = 20
"""Requests from which a share says something."""
_MOST: Final = 0.5
_FEW: Final = 0.05
_NEAREST: Final = 3
_SAID: Final = 120
_MESSAGE: Final = re.compile(
    r"\b(?:\w*Error|Exception)\b ?[:(]|\berror: |\bError (?:code|response|in)\b"
    r"|^\W{0,4}(?:[\w.-]{2,20} (?:serve|bench|run-batch)|python3?|docker|curl|lm_eval|pip)\b.{0,80} -"
)
"""A line with the message of a program, or with a command, says nothing in words."""
_CLEAR: Final = 3.0
"""From which a description decides beside messages."""
_EXPRESSION: Final = 3.0
"""What an expression of an entry weighs beside its descriptions in facts."""
_WHOLE: Final = 100_000
"""Characters in which words are looked for that rule an entry out or name another server."""
_LIBRARY: Final = re.compile(
    r"while expecting start token|tokens remaining in message header"
    r"|channel marker present but no channel value"
    r"|message header did not contain a role|waiting for message header|Unknown role: |vocab file"
    r"|Harmony encoding|HarmonyError"
    r"|Could not parse header: too many tokens"
)
"""Messages of openai_harmony, which other servers use too."""


def diagnose_text(text: str | Iterable[str], issues: Sequence[Issue] | None = None) -> Diagnosis:
    """Diagnose a text, or the lines of one of any size; takes anything and raises nothing of its own."""
    known = catalogue() if issues is None else issues
    scan = Scan(known)
    scan.receive(text.splitlines(keepends=True) if isinstance(text, str) else text)
    scan.finish()
    return _Diagnosing(scan, known).diagnosis()


class _Diagnosing:
    """What the answers need to know of one scan."""

    def __init__(self, scan: Scan, known: Sequence[Issue]) -> None:
        self.scan = scan
        self.known = {issue.id: issue for issue in known}
        self.is_log = bool(scan.requests) or scan.stamped > 1
        self.asked = sum(scan.requests.get(path, 0) for path in _HARMONY)
        self.versions = _versions(scan)
        around = [line for message in scan.messages.values() for lines in message.around for line in lines]
        self.words = [*scan.head, *around]
        self.lower = "\n".join(self.words).lower()
        self.whole = apart("\n".join((*around, *scan.head))[:_WHOLE])
        self.hints = {issue.id: self._hints(issue) for issue in known if issue.hints}
        self.written = {in_english(sentence): sentence for sentence in prose(scan.head)}
        """Sentences by what they are in English."""
        self.sentences = list(self.written)
        self.translated = [english for english, sentence in self.written.items() if english != sentence]

    def diagnosis(self) -> Diagnosis:
        """Everything."""
        failures = [self._failure(message) for message in self.scan.messages.values()]
        order = {id(failure): place for place, failure in enumerate(failures)}
        failures.sort(
            key=lambda one: (one.general, not one.answers, -one.count if self.is_log else order[id(one)])
        )
        symptoms = self._symptoms()
        answers = self._together(failures, symptoms)
        route = self._route(failures, answers)
        if route is not None:
            answers = ()
        if not failures and not answers and route is None:
            failures = self._complaints()
        told = {seen.version for seen in self.versions}
        version = told.pop() if len(told) == 1 else None
        served = _endpoint(place for message in self.scan.messages.values() for place in message.anchors)
        return Diagnosis(
            sentence=route.sentence if route is not None else sentence(answers, failures),
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
            paste_next=paste_next(
                failures,
                of_ours=names_ours(self.whole) or is_about(self.sentences),
                of_server=any(message.of_server for message in self.scan.messages.values()),
            ),
        )

    def _route(self, failures: Sequence[Failure], answers: Sequence[Answer]) -> Route | None:
        """Where the text belongs, unless a message leads to an entry that holds there too."""
        known = bool(answers) and not answers[0].by_symptom
        anywhere = known and answers[0].issue.any_server
        precise = anywhere or (known and not answers[0].issue.general and not self._is_beside(answers[0]))
        said_wrong = any(map(complaint_of, self.sentences))
        quiet = self.is_log and not failures and not answers and not self._complaint()
        server = find_server(self.whole)
        wrong = bool(failures or answers) or said_wrong
        about = wrong or (is_about(self.sentences, named=True) and not proposes(self.sentences))
        if server is not None and not quiet and about:
            said = failures[0].message if failures else ""
            if not (precise and (answers[0].issue.any_server or _LIBRARY.search(said))):
                return server
        if precise or quiet:
            return None
        failing = wrong and not (answers and answers[0].by_symptom)
        if not wrong and self.is_log:
            return None
        errors = [one.message for one in failures if not (one.answers or one.message.startswith(BREAKS_OFF))]
        whole = "\n".join((self.whole, *self.translated))
        return find_startup(whole, errors, self.sentences, failing=failing)

    def _is_beside(self, answer: Answer) -> bool:
        """Whether the engine died and the answer is a request that is refused, which stops no engine."""
        return answer.issue.sides == (Side.CLIENT,) and find_startup(self.whole, failing=False) is not None

    def _complaint(self) -> str:
        """The first sentence of a person that says that something is wrong."""
        return complaint(self.sentences) or (headline(self.scan.head) if runs_ours(self.whole) else "")

    def _complaints(self) -> list[Failure]:
        """What a person says is wrong, as a failure that nobody knows."""
        said = headline(self.scan.head) if self.is_log else self._complaint()
        if not said:
            return []
        said = self._as_written(said)
        line = next((number for number, one in enumerate(self.scan.head, 1) if said in one), 1)
        return [
            Failure(message=said[:_SAID], count=1, first_line=line, answers=(), nearest=self._nearest(said))
        ]

    def _symptoms(self) -> list[Answer]:
        """Entries whose symptoms a person describes; none that the server's version excludes."""
        if not is_about(self.sentences, self.whole) or proposes(self.sentences):
            return []
        found = []
        said_so = statements(self.sentences)
        elsewhere = is_of_other_model(self.whole)
        named = is_about(self.sentences, self.whole, named=True) and not elsewhere
        facts = facts_by_sentence(one for one in said_so if not _MESSAGE.search(one))
        for issue in self.known.values():
            if not self._may(issue):
                continue
            said = "" if elsewhere and not issue.any_model else symptom_of(issue, said_so)
            told = best_told(issue.described, facts) if named or said else None
            if said or told is not None:
                reasons = [
                    Reason(Because.SYMPTOM, self._quoted(told.said if told is not None else [said])),
                    *self.hints.get(issue.id, ()),
                ]
                for seen in self.versions[:1]:
                    if (reason := version_reason(issue, seen.version, seen.source)) is not None:
                        reasons.append(reason)
                if Because.OUTSIDE not in {reason.because for reason in reasons}:
                    clearness = (told.weight if told else 0) + (_EXPRESSION if said else 0)
                    found.append(Answer(issue=issue, reasons=tuple(reasons), clearness=clearness))
        return ranked(found)

    def _quoted(self, said: Iterable[str]) -> str:
        quoted = [f"“{' '.join(self._as_written(one).split())[:_SAID]}”" for one in said]
        return f"the text says {listed(quoted)}"

    def _as_written(self, said: str) -> str:
        """The sentence of a person that some English words stand for; the words where they are its own."""
        for english in self.translated:
            if said.strip() in english:
                return self.written[english].strip()
        return said

    def _may(self, issue: Issue) -> bool:
        """Whether no word of the text rules an entry out."""
        return not any(expression.search(self.whole) for expression in issue.unless)

    def _counts(self, issue: Issue, message: Message, own: bool) -> bool:
        """Whether a message counts for an entry: in vLLM, beside the words that it needs, and no others."""
        if not message.of_server and (
            issue.in_server is Texts.ALL or (issue.in_server is not None and not own)
        ):
            return False
        if issue.needs and not any(expression.search(self.whole) for expression in issue.needs):
            return False
        return self._may(issue)

    def _failure(self, message: Message) -> Failure:
        share = message.count / self.asked if self.asked >= _ENOUGH else None
        matched = [
            (self.known[name], own)
            for name, own in message.matched.items()
            if self._counts(self.known[name], message, own)
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
            nearest=() if answers else self._nearest(message.text),
            around=tuple(tuple(map(uncoloured, lines)) for lines in message.around),
            share=share,
            by_version=dict(message.by_version),
            cut=message.cut,
        )

    def _answer(
        self, issue: Issue, message: Message, own: bool, share: float | None, *, contested: bool
    ) -> Answer:
        because = Because.MESSAGE if own else Because.PART_OF_MESSAGE
        said = Reason(because, f"the text says “{message.text}”")
        if message.cut:
            said = Reason(
                Because.BEGINNING, f"the text is cut off at “{message.text}”, the beginning of its message"
            )
        reasons = [said, *self.hints.get(issue.id, ())]
        versions = [version for version in message.by_version if version] or [
            seen.version for seen in self.versions[:1]
        ]
        source = next((seen.source for seen in self.versions if seen.version in versions), "")
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
        words = f"{count:,} of {self.asked:,} requests to chat and Responses ({share:.1%}) failed this way"
        if (rate is Rate.MOST and share >= _MOST) or (rate is Rate.FEW and share <= _FEW):
            return [Reason(Because.RATE, words)]
        if (rate is Rate.MOST and share <= _FEW) or (rate is Rate.FEW and share >= _MOST):
            return [Reason(Because.NOT_RATE, words)]
        return []

    def _hints(self, issue: Issue) -> list[Reason]:
        reasons = []
        for hint in issue.hints:
            if hint.literal not in self.lower:
                continue
            found = next((match for line in self.words if (match := hint.expression.search(line))), None)
            if found is not None:
                reasons.append(Reason(Because.HINT, f"the text contains “{found[0][:80]}”"))
        return reasons

    def _together(self, failures: Sequence[Failure], symptoms: Sequence[Answer]) -> tuple[Answer, ...]:
        """The best answer of each failure in their order, the others by weight, then symptoms.

        A symptom supports the entry that a message leads to, and comes before one that only carries others.
        """
        said = {answer.issue.id: answer.reasons[0] for answer in symptoms if answer.clearness >= _CLEAR}
        answers = [
            replace(one, reasons=(*one.reasons, said[one.issue.id])) if one.issue.id in said else one
            for one in self._merged(failures)
        ]
        if len(failures) == 1 and answers and answers[0].issue.id not in said:
            # One failure: a symptom may decide between the entries of its text.
            answers = ranked(answers)
        named = {one.issue.id for one in answers}
        left = [one for one in symptoms if one.issue.id not in named]
        if answers and answers[0].issue.general:
            clear = [one for one in left if one.clearness >= _CLEAR]
            return (*clear, *answers, *(one for one in left if one not in clear))
        return (*answers, *left)

    def _merged(self, failures: Sequence[Failure]) -> tuple[Answer, ...]:
        """The best answer of each failure in their order, then the others by weight."""
        first = {one.answers[0].issue.id: one.answers[0] for one in reversed(failures) if one.answers}
        leading = [one.answers[0].issue.id for one in failures if one.answers]
        rest: dict[str, Answer] = {}
        for failure in failures:
            for answer in failure.answers[1:]:
                name = answer.issue.id
                if name not in first and (name not in rest or answer.weight > rest[name].weight):
                    rest[name] = answer
        return (*(first[name] for name in dict.fromkeys(leading)), *ranked(rest.values()))

    def _nearest(self, text: str) -> tuple[Issue, ...]:
        from rapidfuzz import fuzz, process, utils  # noqa: PLC0415 -- `import inspector` does without it

        texts = {name: " ".join((issue.title, *issue.examples)) for name, issue in self.known.items()}
        found = process.extract(
            text, texts, scorer=fuzz.token_set_ratio, processor=utils.default_process, limit=_NEAREST
        )
        return tuple(self.known[name] for _, _, name in found)

    def _notes(self, failures: Sequence[Failure]) -> Iterable[str]:
        frames = self.scan.frames
        parsed = any(parser_error(one.message) for one in failures)  # not what fails at the start
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
        if self.is_log and failures and not self.asked:
            yield "The log has no lines of requests (the access log is off), so shares are not known."
        versions = {seen.version for seen in self.versions}
        if len(versions) > 1:
            yield f"The evidence names several versions of {DEFAULT.label}: {', '.join(sorted(versions))}."


def _versions(scan: Scan) -> list[VersionSeen]:
    """Versions by strength of evidence: what the server says of itself, then its lines, then the text."""
    told = [seen for seen in scan.versions if seen.source != "the text"]
    if told:
        return told
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
        return [VersionSeen(version, f"file and line: {lines}", line) for version in reversed(by_lines)]
    return scan.versions


def _endpoint(places: Iterable[Anchor]) -> Endpoint | None:
    found = {
        endpoint
        for place in places
        for engine in ENGINES
        for part, endpoint in engine.source_files.items()
        if part in place.file
    }
    return found.pop() if len(found) == 1 else None
