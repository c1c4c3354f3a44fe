"""Two turns compared: where the next prompt leaves the tokens of the turn before, and why.

Each cause is decided by what both sides decode to; nothing is guessed from the place alone.
"""

import json
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from inspector.analysis.alignment.edits import common_prefix, lcs
from inspector.analysis.prompt.first import headline
from inspector.analysis.prompt.messages import MessageState, PromptMessage, parse
from inspector.capture.formats import clip, count
from inspector.data.rollout.causes import CAUSES, Cause
from inspector.data.rollout.turns import Turn
from inspector.protocol.harmony.states import STOPS
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import Marker

_MESSAGES_AT_MOST: Final = 4000
_CONTEXT: Final = 16
"""Tokens before a drift that are quoted."""
_AFTER: Final = 24
_IDS: Final = 8
_SHOWN: Final = 80
_SETTINGS: Final = {"system": Cause.SYSTEM_CHANGED, "developer": Cause.DEVELOPER_CHANGED}
_DATE: Final = re.compile(r"Current date: [^\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One place at which the next prompt differs from what the model had seen."""

    cause: Cause
    token: int
    """Index in the turn's tokens, prompt and response together."""
    next_token: int
    """Index in the next prompt."""
    generated: bool
    """True for a token that the model sampled in this turn."""
    message: str
    """Whose message it is; empty where the tokens are not Harmony."""
    before: str
    """Text before the drift."""
    seen: str
    """Text from the drift on, as the model had it."""
    following: str
    """Text from the drift on in the next prompt."""
    seen_ids: tuple[int, ...]
    """The first tokens of `seen`."""
    following_ids: tuple[int, ...]
    note: str = ""

    @property
    def explanation(self) -> str:
        """Why, in a sentence or two."""
        cause_words = CAUSES[self.cause].what
        return f"{cause_words} {self.note}" if self.note else cause_words

    @property
    def as_row(self) -> dict[str, Any]:
        """All of it for `--json`."""
        info = CAUSES[self.cause]
        return {
            "cause": str(self.cause),
            "expected": info.severity.value == "warning",
            "severity": str(info.severity),
            "token": self.token,
            "next_token": self.next_token,
            "generated": self.generated,
            "message": self.message or None,
            "before": self.before,
            "seen": self.seen,
            "following": self.following,
            "seen_ids": list(self.seen_ids),
            "following_ids": list(self.following_ids),
            "explanation": self.explanation,
            "remedy": info.remedy,
        }


@dataclass(frozen=True, slots=True)
class _Difference:
    cause: Cause
    left: int
    right: int
    message: str = ""
    note: str = ""


def drifts(turn: Turn, following: Sequence[int]) -> list[Drift]:
    """All drifts between a turn and the next prompt, in token order; empty where it extends the turn."""
    context = [*turn.prompt, *turn.generated]
    common = common_prefix(context, following)
    if common == len(context):
        return []
    if len(following) == len(turn.prompt) and common == len(following):
        differences = [_Difference(Cause.RESAMPLED, common, common)]
    elif Marker.START not in context or Marker.START not in following:
        differences = [_plain(context, following, common)]
    else:
        differences = sorted(
            _harmony(context, following), key=lambda difference: (difference.left, difference.right)
        )
    # Messages differ from their `<|start|>` on; the first token that differs is usually later.
    first = differences[0] if differences else _Difference(Cause.MESSAGE_CHANGED, common, common)
    differences = [replace(first, left=common, right=common), *differences[1:]]
    return [_drift(difference, turn, context, following) for difference in differences]


def _drift(difference: _Difference, turn: Turn, context: Sequence[int], following: Sequence[int]) -> Drift:
    left, right = difference.left, difference.right
    return Drift(
        cause=difference.cause,
        token=left,
        next_token=right,
        generated=len(turn.prompt) <= left < len(context),
        message=difference.message,
        before=_clip_start(text_of(context[max(left - _CONTEXT, 0) : left])),
        seen=clip(text_of(context[left : left + _AFTER]), _SHOWN),
        following=clip(text_of(following[right : right + _AFTER]), _SHOWN),
        seen_ids=tuple(context[left : left + _IDS]),
        following_ids=tuple(following[right : right + _IDS]),
        note=difference.note,
    )


def _clip_start(text: str) -> str:
    """The end of a text that is too long to be quoted."""
    return text if len(text) <= _SHOWN else f"…{text[1 - _SHOWN :]}"


def _plain(context: Sequence[int], following: Sequence[int], common: int) -> _Difference:
    """Tokens that are not Harmony: their texts are compared."""
    left, right = text_of(context), text_of(following)
    if right.startswith(left):
        return _Difference(Cause.RETOKENIZED, common, common)
    cause = Cause.MESSAGE_TRUNCATED if left.startswith(right) else Cause.MESSAGE_CHANGED
    return _Difference(cause, common, common)


@dataclass(frozen=True, slots=True)
class _Side:
    ids: Sequence[int]
    messages: Sequence[PromptMessage]

    def of(self, message: PromptMessage) -> Sequence[int]:
        return self.ids[message.start : message.end]


@dataclass(slots=True)
class _Gap:
    """Messages between two that both sides have."""

    left: list[PromptMessage]
    right: list[PromptMessage]
    left_end: int
    """Where the next message of both begins; the end of the tokens where there is none."""
    right_end: int
    last: bool


def _harmony(context: Sequence[int], following: Sequence[int]) -> Iterator[_Difference]:
    left = _Side(context, _without_opening(parse(context)))
    right = _Side(following, _without_opening(parse(following)))
    if max(len(left.messages), len(right.messages)) > _MESSAGES_AT_MOST:
        at = common_prefix(context, following)
        yield _Difference(Cause.MESSAGE_CHANGED, at, at, note="There are too many messages to compare.")
        return
    gaps: list[_Gap] = []
    for pair in _aligned(left, right, gaps):
        yield from _same_message(*pair, left, right)
    finals = [
        message.start
        for message in left.messages
        if message.role == "assistant" and message.channel == "final"
    ]
    for gap in gaps:
        yield from _gap(gap, left, right, last_final=max(finals, default=-1))


def _without_opening(messages: Sequence[PromptMessage]) -> Sequence[PromptMessage]:
    """Without the header that the next response continues."""
    last = messages[-1] if messages else None
    opened = last is not None and last.state is MessageState.OPEN and last.body == last.end
    return messages[:-1] if opened else messages


def _aligned(left: _Side, right: _Side, gaps: list[_Gap]) -> Iterator[tuple[PromptMessage, PromptMessage]]:
    """Pairs of messages with the same text; what is between them goes into `gaps`."""
    numbers: dict[Hashable, int] = {}
    left_numbers, right_numbers = (
        [numbers.setdefault(_key(message), len(numbers)) for message in side.messages]
        for side in (left, right)
    )
    gap: _Gap | None = None
    for code in lcs(left_numbers, right_numbers):
        lefts = left.messages[code.src_start : code.src_end]
        rights = right.messages[code.dest_start : code.dest_end]
        if code.tag == "equal":
            if gap is not None:
                gap.left_end, gap.right_end, gap.last = lefts[0].start, rights[0].start, False
            gap = None
            yield from zip(lefts, rights, strict=True)
            continue
        if gap is None:
            gaps.append(gap := _Gap([], [], len(left.ids), len(right.ids), last=True))
        gap.left += lefts
        gap.right += rights


def _class(message: PromptMessage) -> Hashable:
    """What a message is, whatever its text."""
    author = message.name or message.role
    return author, message.channel == "analysis", _is_call(message)


def _is_call(message: PromptMessage) -> bool:
    return message.role == "assistant" and message.recipient not in {None, "all"}


def _key(message: PromptMessage) -> Hashable:
    text = _canonical(message.text) if _is_call(message) else message.text
    return _class(message), text


def _canonical(text: str) -> str:
    """Arguments however they are spelled."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _same_message(old: PromptMessage, new: PromptMessage, left: _Side, right: _Side) -> Iterator[_Difference]:
    """Differences in how a message is written that both sides have."""
    if left.of(old) == right.of(new):
        return
    name = headline(old)
    header, new_header = left.ids[old.start : old.body], right.ids[new.start : new.body]
    if header != new_header:
        at = common_prefix(header, new_header)
        same_text = text_of(header) == text_of(new_header)
        yield _Difference(
            Cause.RETOKENIZED if same_text else Cause.HEADER_REWRITTEN,
            old.start + at,
            new.start + at,
            name,
            ""
            if same_text
            else f"The model wrote “{text_of(header)}”, the prompt has “{text_of(new_header)}”.",
        )
    if old.ids != new.ids:
        at = common_prefix(old.ids, new.ids)
        same_text = old.text == new.text
        yield _Difference(
            Cause.RETOKENIZED if same_text else Cause.ARGUMENTS_REWRITTEN,
            old.body + at,
            new.body + at,
            name,
            f"{count(len(old.ids), 'token')} became {len(new.ids):,}." if same_text else "",
        )
    stop, their_stop = _stop(old, left), _stop(new, right)
    if stop is not None and stop != their_stop:
        usual = stop == Marker.RETURN and their_stop == Marker.END
        replacement = "no terminator" if their_stop is None else Marker(their_stop).text
        yield _Difference(
            Cause.RETURN_REPLACED if usual else Cause.TERMINATOR_CHANGED,
            old.end - 1,
            new.end - (their_stop is not None),
            name,
            "" if usual else f"{Marker(stop).text} became {replacement}.",
        )


def _stop(message: PromptMessage, side: _Side) -> int | None:
    last = side.ids[message.end - 1]
    return last if message.state is MessageState.COMPLETE and last in STOPS else None


def _gap(gap: _Gap, left: _Side, right: _Side, *, last_final: int) -> Iterator[_Difference]:
    rights = list(gap.right)
    missing: list[PromptMessage] = []
    for old in gap.left:
        new = next((candidate for candidate in rights if _class(candidate) == _class(old)), None)
        if new is None:
            missing.append(old)
        else:
            rights.remove(new)
            yield _changed(old, new, left, right)
    at = gap.right_end if not gap.right else gap.right[0].start
    yield from _missing(missing, left, at, last_final=last_final, to_the_end=gap.last)
    if not gap.last:
        for new in rights:
            yield _Difference(Cause.MESSAGE_ADDED, gap.left_end, new.start, headline(new))


def _changed(old: PromptMessage, new: PromptMessage, left: _Side, right: _Side) -> _Difference:
    at = common_prefix(left.of(old), right.of(new))
    return _Difference(
        _why_changed(old, new),
        old.start + at,
        new.start + at,
        headline(old),
        "Only white space differs." if "".join(old.text.split()) == "".join(new.text.split()) else "",
    )


def _why_changed(old: PromptMessage, new: PromptMessage) -> Cause:
    match old.role:
        case "system":
            same_but_date = _DATE.sub("", old.text) == _DATE.sub("", new.text)
            return Cause.DATE_CHANGED if same_but_date else Cause.SYSTEM_CHANGED
        case "developer":
            return Cause.DEVELOPER_CHANGED
        case _ if new.text and old.text.startswith(new.text):
            return Cause.MESSAGE_TRUNCATED
        case _:
            return Cause.MESSAGE_CHANGED


def _missing(
    messages: Sequence[PromptMessage], left: _Side, at: int, *, last_final: int, to_the_end: bool
) -> Iterator[_Difference]:
    """Messages that the next prompt does not have: reasoning each, others as one run."""
    absent = []
    for message in messages:
        if message.role == "assistant" and message.channel == "analysis" and not _is_call(message):
            finished = message.start < last_final
            cause = Cause.ANALYSIS_DROPPED if finished else Cause.ANALYSIS_LOST
            yield _Difference(cause, message.start, at, headline(message))
        elif message.role in _SETTINGS:
            yield _Difference(_SETTINGS[message.role], message.start, at, headline(message), "It is missing.")
        else:
            absent.append(message)
    if not absent:
        return
    oldest = all(message.role in _SETTINGS for message in left.messages[: absent[0].index])
    cause = Cause.HISTORY_TRUNCATED if oldest and not to_the_end else Cause.MESSAGE_MISSING
    note = "" if len(absent) == 1 else f"There are {count(len(absent), 'such message')}."
    yield _Difference(cause, absent[0].start, at, headline(absent[0]), note)
