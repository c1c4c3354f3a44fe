"""Recorded conversations checked turn by turn; of each, only the turn before is held."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from inspector.analysis.audit.kinds import Severity
from inspector.analysis.prompt.source import known_ids
from inspector.analysis.reading import read
from inspector.capture.bounds import FINDINGS
from inspector.capture.capture import Capture
from inspector.capture.errors import CaptureError, InspectorError
from inspector.capture.formats import count, listed, number
from inspector.data.lint.advice import amount, level
from inspector.data.lint.columns import Column, Form, values_in
from inspector.data.lint.rows import LintRow, LintTable, open_table
from inspector.data.rollout.causes import CAUSES, Cause
from inspector.data.rollout.drift import Drift, drifts
from inspector.data.rollout.following import Unnamed
from inspector.data.rollout.turns import GROUPS, Turn, turns_in
from inspector.files.store import load_all
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE, Marker

_LOOKED_AT: Final = 8
_NAME_THE_KEY: Final = "Name the key that identifies the conversation of a row with --group."
_GROUP_DEPTH: Final = 3
_OPEN_AT_MOST: Final = 4096
"""Conversations whose last turn is held."""
_NO_TURN: Final = (
    "has no turn with token IDs; a row needs prompt_token_ids and token_ids, or both as Harmony text (prompt "
    "and completion, input and output), and a capture must be recorded with return_token_ids: true"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A turn whose tokens the next prompt does not extend."""

    conversation: str
    turn: int
    """From 1; the next prompt is that of the turn after it."""
    row: int
    """The row of the next prompt; the number of the file for captures."""
    size: int
    """Tokens of the turn, prompt and response together."""
    drifts: tuple[Drift, ...]
    """In token order; the first is where the sequences part."""

    @property
    def severity(self) -> Severity:
        """The worst severity of its drifts."""
        severities = {CAUSES[drift.cause].severity for drift in self.drifts}
        return Severity.ERROR if Severity.ERROR in severities else Severity.WARNING

    @property
    def as_row(self) -> dict[str, Any]:
        """All of it for `--json`."""
        return {
            "conversation": self.conversation,
            "turn": self.turn,
            "row": self.row,
            "tokens": self.size,
            "severity": str(self.severity),
            "drifts": [drift.as_row for drift in self.drifts],
        }


@dataclass(slots=True, kw_only=True)
class RolloutReport:
    """What the check of one recording came to."""

    name: str
    conversations: int = 0
    turns: int = 0
    compared: int = 0
    """Turns that another one follows."""
    broken: int = 0
    """Of these, how many the next prompt does not extend."""
    forgotten: int = 0
    """Turns that follow one that was no longer held: too many other conversations came between."""
    ambiguous: int = 0
    """Later turns that several conversations may precede, which are not compared."""
    unmatched: int = 0
    """Prompts with a history, behind other rows without a name, that go on none of these."""
    foreign: int = 0
    """Turns without any special token of Harmony, as those of other models, which are not compared."""
    by_text: int = 0
    """Turns whose token IDs are computed from text, so that other tokens for the same text cannot be seen."""
    unread: int = 0
    """LintRows that hold no turn."""
    breaks: list[Break] = field(default_factory=list)
    """The first ones, up to the limit."""
    counts: Counter[Cause] = field(default_factory=Counter)

    def of(self, severity: Severity) -> int:
        """How many drifts of a severity there are."""
        return amount(self.counts, CAUSES, severity)

    @property
    def level(self) -> str:
        """`error`, `warning` (expected drifts only), `unknown` where nothing could be compared, else `ok`."""
        checked = self.compared > 0 and not self.ambiguous and self.unmatched <= self.compared
        return level(self.counts, CAUSES, checked=checked)

    @property
    def sentence(self) -> str:
        """What was found, in a sentence or two."""
        if self.ambiguous and not self.broken:
            return (
                f"Cannot be determined: {count(self.ambiguous, 'later prompt')} may follow several "
                f"conversations, and {number(self.compared)} could be compared. {_NAME_THE_KEY}"
            )
        if self.unmatched > self.compared and not self.broken:
            return (
                f"Cannot be determined: {count(self.unmatched, 'prompt')} with a history follow no turn "
                f"before them, and {number(self.compared)} could be compared. {_NAME_THE_KEY}"
            )
        if not self.compared:
            if self.forgotten:
                return "Nothing was compared: the turns of each conversation are too far apart."
            return "No conversation has a second turn, so nothing was compared."
        prompts = count(self.compared, "later prompt")
        if not self.broken:
            verb, them = ("extends", "it") if self.compared == 1 else ("extend", "them")
            return f"No drift: {prompts} {verb} the tokens before {them}."
        repeated = self.counts[Cause.RESAMPLED]
        kinds = [
            count(amount, word)
            for word, amount in (
                ("unexpected drift", self.of(Severity.ERROR)),
                ("expected drift", self.of(Severity.WARNING) - repeated),
                ("repeated prompt", repeated),
            )
            if amount
        ]
        verb, them = ("does", "it") if self.broken == 1 else ("do", "them")
        return (
            f"{number(self.broken)} of {prompts} {verb} not extend the tokens before {them}: {listed(kinds)}."
        )

    @property
    def taken(self) -> str:
        """What was read, in one sentence."""
        sentence = (
            f"Read {count(self.turns, 'turn')} of {count(self.conversations, 'conversation')} and compared "
            f"{count(self.compared, 'later prompt')}"
        )
        rest = f"; {count(self.unread, 'row')} without token IDs" if self.unread else ""
        if self.by_text:
            rest += (
                f"; {count(self.by_text, 'turn')} by text, which does not show other tokens for the same text"
            )
        if self.foreign:
            rest += f"; {count(self.foreign, 'turn')} without special tokens of Harmony not compared"
        if self.ambiguous:
            rest += f"; {count(self.ambiguous, 'later prompt')} not compared, because several fit (--group)"
        if self.unmatched:
            rest += (
                f"; {count(self.unmatched, 'prompt')} with a history that no row before them has (--group)"
            )
        if self.forgotten:
            rest += (
                f"; {count(self.forgotten, 'later turn')} not compared, because more than "
                f"{number(_OPEN_AT_MOST)} other conversations came between (sort the rows by conversation)"
            )
        return f"{sentence}{rest}."

    @property
    def as_row(self) -> dict[str, Any]:
        """All of it for `--json`."""
        return {
            "file": self.name,
            "level": self.level,
            "sentence": self.sentence,
            "conversations": self.conversations,
            "turns": self.turns,
            "compared": self.compared,
            "broken": self.broken,
            "not_compared": self.forgotten,
            "ambiguous": self.ambiguous,
            "unmatched": self.unmatched,
            "without_harmony": self.foreign,
            "rows_without_ids": self.unread,
            "by_text": self.by_text,
            "causes": {str(cause): amount for cause, amount in self.counts.most_common()},
            "breaks": [drifting.as_row for drifting in self.breaks],
        }


def check(
    paths: Sequence[Path | str], *, group: str | None = None, max_findings: int = FINDINGS
) -> list[RolloutReport]:
    """Check recordings: one report for each file of rows, and one for all captures, as one conversation.

    `group` is the key of a row that names its conversation. Raises InspectorError where a file cannot be read
    or has no turn with token IDs.
    """
    reports: list[RolloutReport] = []
    captures: list[tuple[str, Capture]] = []
    for path in paths:
        report = _rows(path, group, max_findings)
        if report is None and str(path) == "-":  # it can be read only once
            raise CaptureError("standard input", _NO_TURN)
        if report is None:
            captures += _loaded(path)
        else:
            reports.append(report)
    if captures:
        reports.append(_captures(captures, max_findings))
    return reports


def _loaded(path: Path | str) -> list[tuple[str, Capture]]:
    try:
        return [(str(path), capture) for capture in load_all(path)]
    except CaptureError as error:
        raise CaptureError(str(path), _NO_TURN) from error


def _rows(path: Path | str, group: str | None, limit: int) -> RolloutReport | None:
    """The report of a file of rows; None for a capture or another file that `audit` reads."""
    try:
        with open_table(path) as table:
            head = list(islice(table.rows, _LOOKED_AT))
            if not any(_holds_turns(row) for row in head):
                return None
            return _table(table, head, group, limit)
    except CaptureError:
        return None  # `load` says what the file is


def _holds_turns(row: LintRow) -> bool:
    values = row.values
    if values is None or "harmony_capture" in values:
        return False
    return any(True for _ in turns_in(values, row.number))


def _table(table: LintTable, head: Iterable[LintRow], group: str | None, limit: int) -> RolloutReport:
    run = _Run(RolloutReport(name=table.name), limit)
    rows_without_name = Unnamed("")
    named = False
    for row in chain(head, table.rows):
        turns = [] if row.values is None else list(filter(_sound, turns_in(row.values, row.number)))
        if row.values is None or not turns:
            run.report.unread += 1
            continue
        name = _group(row.values, group)
        named = named or name is not None
        run.report.foreign += sum(not _is_harmony(turn) for turn in turns)
        turns = [turn for turn in turns if _is_harmony(turn)]
        if len(turns) > 1:  # the row has conversations of its own
            unnamed = Unnamed(name or f"row {number(row.number)}")
            for turn in turns:
                run.add_found(unnamed, turn, repeats=False)
            run.end(unnamed)
        elif not turns:
            continue
        elif name is None:
            run.add_found(rows_without_name, turns[0], repeats=True)
        else:
            run.add(name, turns[0])
    if group is not None and not named:
        raise InspectorError(f"{table.name}: no row with token IDs has the key {group}; check --group")
    return run.report


def _group(values: Mapping[str, Any], group: str | None) -> str | None:
    if group is not None:
        place = next(iter(values_in(values, Column(group, Form.TEXT))), None)
        return None if place is None else str(place[1])
    level: list[Mapping[str, Any]] = [values]
    for _ in range(_GROUP_DEPTH):  # a key of the row, or of an object in it such as `metadata`
        for container in level:
            for key in GROUPS:
                if isinstance(name := container.get(key), str | int):
                    return str(name)
        level = [inner for container in level for inner in container.values() if isinstance(inner, Mapping)]
    return None


def _is_harmony(turn: Turn) -> bool:
    """False for token IDs of another model, which have no header of a message."""
    return Marker.MESSAGE in turn.prompt or Marker.MESSAGE in turn.generated


def _sound(turn: Turn) -> bool:
    return bool(turn.prompt and turn.generated) and all(
        0 <= token_id < VOCABULARY_SIZE for ids in (turn.prompt, turn.generated) for token_id in ids
    )


def _captures(captures: Sequence[tuple[str, Capture]], limit: int) -> RolloutReport:
    run = _Run(RolloutReport(name=f"{count(len(captures), 'capture')}"), limit)
    for place, (name, capture) in enumerate(captures, 1):
        reading = read(capture)
        prompt = known_ids(reading)
        if prompt is None or not reading.choice.has_ids:
            raise CaptureError(
                name, "has no token IDs of prompt and response; record it with return_token_ids: true"
            )
        run.add("captures", Turn(prompt=prompt, generated=reading.choice.tokens.ids, row=place))
    return run.report


class _Run:
    def __init__(self, report: RolloutReport, limit: int) -> None:
        self.report = report
        self._limit = limit
        self._last: OrderedDict[str, tuple[int, Turn]] = OrderedDict()
        self._evicted: dict[bytes, int] = {}
        """Turns of conversations that are held no longer, by a hash: smaller than any row."""

    def add(self, name: str, turn: Turn) -> None:
        """Compare the next turn of a conversation with the one before."""
        self.report.turns += 1
        self.report.by_text += turn.from_text
        place, before = self._last.pop(name, (0, None))
        if before is not None:
            self.report.compared += 1
            self._compare(name, place, before, turn)
        elif place := self._evicted.pop(_digest(name), 0):
            self.report.forgotten += 1
        else:
            self.report.conversations += 1
        self._last[name] = (place + 1, turn)
        if len(self._last) > _OPEN_AT_MOST:
            oldest, (turns, _) = self._last.popitem(last=False)
            self._evicted[_digest(oldest)] = turns

    def add_found(self, unnamed: Unnamed, turn: Turn, *, repeats: bool) -> None:
        """The same for a turn without a name, whose conversation is found by its tokens.

        With `repeats`, the prompt of the turn before again is another sample of it.
        """
        names = unnamed.before(turn, repeats=repeats)
        if len(names) > 1:
            self.report.turns += 1
            self.report.ambiguous += 1
            unnamed.forget(names)
            return
        if not names and unnamed.goes_on_none(turn):
            self.report.unmatched += 1
        name = names[0] if names else unnamed.begin(turn)
        self.add(name, turn)
        unnamed.keep(name, turn)

    def end(self, unnamed: Unnamed) -> None:
        """Forget conversations that nothing can follow."""
        for name in unnamed.names:
            self._last.pop(name, None)
            self._evicted.pop(_digest(name), None)

    def _compare(self, name: str, place: int, before: Turn, turn: Turn) -> None:
        if turn.from_text and text_of(turn.prompt).startswith(text_of([*before.prompt, *before.generated])):
            return
        differences = drifts(before, turn.prompt)
        if not differences:
            return
        report = self.report
        report.broken += 1
        report.counts.update(drift.cause for drift in differences)
        if len(report.breaks) < self._limit:
            size = len(before.prompt) + len(before.generated)
            report.breaks.append(
                Break(conversation=name, turn=place, row=turn.row, size=size, drifts=tuple(differences))
            )


def _digest(name: str) -> bytes:
    return blake2b(name.encode("utf-8", "replace"), digest_size=16).digest()
