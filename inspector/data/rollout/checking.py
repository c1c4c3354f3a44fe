"""Recorded conversations checked turn by turn; of each, only the turn before is held."""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from inspector.analysis.audit.kinds import Severity
from inspector.analysis.prompt.messages import parse
from inspector.analysis.prompt.source import known_ids
from inspector.analysis.reading import read
from inspector.capture.bounds import FINDINGS
from inspector.capture.capture import Capture
from inspector.capture.errors import CaptureError
from inspector.capture.formats import count, listed, number
from inspector.data.lint.advice import amount, level
from inspector.data.lint.rows import Row, Table, open_table
from inspector.data.rollout.causes import CAUSES, Cause
from inspector.data.rollout.drift import Drift, drifts
from inspector.data.rollout.turns import GROUPS, Turn, turns_in
from inspector.files.store import load_all
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE, Marker

_LOOKED_AT: Final = 8
_OPEN_AT_MOST: Final = 4096
"""Conversations whose last turn is held."""
_NO_TURN: Final = (
    "has no turn with token IDs; a row needs prompt_token_ids and token_ids, and a capture must be "
    "recorded with return_token_ids: true"
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
        """An error where one of its drifts is one."""
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
    unread: int = 0
    """Rows that hold no turn."""
    breaks: list[Break] = field(default_factory=list)
    """The first ones, up to the limit."""
    counts: Counter[Cause] = field(default_factory=Counter)

    def of(self, severity: Severity) -> int:
        """How many drifts of a severity there are."""
        return amount(self.counts, CAUSES, severity)

    @property
    def level(self) -> str:
        """`error`, `warning` (expected drifts only), `unknown` where nothing could be compared, else `ok`."""
        return level(self.counts, CAUSES, checked=self.compared > 0)

    @property
    def sentence(self) -> str:
        """What was found, in a sentence or two."""
        if not self.compared:
            if self.forgotten:
                return "Nothing was compared: the turns of each conversation are too far apart."
            return "No conversation has a second turn, so nothing was compared."
        whole = count(self.compared, "later prompt")
        if not self.broken:
            verb, them = ("extends", "it") if self.compared == 1 else ("extend", "them")
            return f"No drift: {whole} {verb} the tokens before {them}."
        repeated = self.counts[Cause.RESAMPLED]
        kinds = [
            count(many, word)
            for word, many in (
                ("unexpected drift", self.of(Severity.ERROR)),
                ("expected drift", self.of(Severity.WARNING) - repeated),
                ("repeated prompt", repeated),
            )
            if many
        ]
        verb, them = ("does", "it") if self.broken == 1 else ("do", "them")
        return (
            f"{number(self.broken)} of {whole} {verb} not extend the tokens before {them}: {listed(kinds)}."
        )

    @property
    def taken(self) -> str:
        """What was read, in one sentence."""
        sentence = f"Read {count(self.turns, 'turn')} of {count(self.conversations, 'conversation')}"
        rest = f"; {count(self.unread, 'row')} without token IDs" if self.unread else ""
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
            "rows_without_ids": self.unread,
            "causes": {str(cause): many for cause, many in self.counts.most_common()},
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


def _holds_turns(row: Row) -> bool:
    values = row.values
    if values is None or "harmony_capture" in values:
        return False
    return any(True for _ in turns_in(values, row.number))


def _table(table: Table, head: Iterable[Row], group: str | None, limit: int) -> RolloutReport:
    run = _Run(RolloutReport(name=table.name), limit)
    for row in chain(head, table.rows):
        turns = (
            [] if row.values is None else [turn for turn in turns_in(row.values, row.number) if _sound(turn)]
        )
        if row.values is None or not turns:
            run.report.unread += 1
            continue
        name = _group(row.values, group)
        if len(turns) > 1:  # the row is a conversation of its own
            run.begin(name or f"row {number(row.number)}")
            for turn in turns:
                run.add(name or f"row {number(row.number)}", turn)
        elif name is None:
            run.add_unnamed(turns[0])
        else:
            run.add(name, turns[0])
    return run.report


def _group(values: Mapping[str, Any], group: str | None) -> str | None:
    keys = (group,) if group is not None else GROUPS
    name = next((values[key] for key in keys if values.get(key) is not None), None)
    return None if name is None else str(name)


def _sound(turn: Turn) -> bool:
    return all(0 <= token_id < VOCABULARY_SIZE for ids in (turn.prompt, turn.generated) for token_id in ids)


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
        self._unnamed = ""

    def begin(self, name: str) -> None:
        """Forget the turns of a conversation that starts over."""
        self._last.pop(name, None)
        self._evicted.pop(_digest(name), None)

    def add(self, name: str, turn: Turn) -> None:
        """Compare the next turn of a conversation with the one before."""
        self.report.turns += 1
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

    def add_unnamed(self, turn: Turn) -> None:
        """The same without a name: a prompt that has nothing of the last turn begins a conversation."""
        _, before = self._last.get(self._unnamed, (0, None))
        if before is None or _begins(turn, before):
            self._last.pop(self._unnamed, None)
            self._unnamed = f"from row {number(turn.row)}"
        self.add(self._unnamed, turn)

    def _compare(self, name: str, place: int, before: Turn, turn: Turn) -> None:
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


def _begins(turn: Turn, before: Turn) -> bool:
    """Whether a prompt has neither the last question of the turn before nor anything that its model wrote."""
    if Marker.START not in turn.prompt:
        return len(turn.prompt) <= len(before.prompt) and turn.prompt != before.prompt
    context = [*before.prompt, *before.generated]
    if turn.prompt[: len(context)] == context:
        return False
    messages = parse(context)
    questions = [message.text for message in messages if message.role == "user"][-1:]
    wrote = [
        message.text for message in messages if message.end > len(before.prompt) and message.text.strip()
    ]
    return {message.text for message in parse(turn.prompt)}.isdisjoint([*questions, *wrote])
