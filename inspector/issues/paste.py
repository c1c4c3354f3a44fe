"""What a person's paste did to messages: wrapped, written down in lower case, or broken off.

Looked for in short texts only, after their lines were read one by one.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from inspector.issues.issue import Issue
from inspector.issues.lines import Split
from inspector.issues.message import Match, Message
from inspector.issues.pieces import Known, Piece, beginning_of, joined
from inspector.issues.schema import Pattern

_FOLDED: Final = 16
"""Characters that a text needs to be looked for in any case."""
_LONGEST: Final = 300


def messages_of(issue: Issue) -> Iterator[tuple[str, bool]]:
    """The messages that an issue makes, as its examples have them, and whether they are its own."""
    for example in issue.examples:
        for patterns, own in ((issue.patterns, True), (issue.may_match, False)):
            for pattern in patterns:
                found = pattern.expression.search(example)
                if found is not None and not found[0].startswith("--"):
                    # A flag by itself is no beginning of a message about it.
                    yield found[0], own


@dataclass(frozen=True, slots=True)
class Paste:
    """A scan's failures, and what is needed to add to them."""

    messages: dict[str, Message]
    patterns: Sequence[tuple[Pattern, str, bool]]
    known: Sequence[Known]
    match: Callable[[str], Match]
    fail: Callable[[Match, Split, str], None]

    def look_at(self, pieces: Sequence[Piece]) -> None:
        """Find messages in the lines of a paste that no line has as a whole."""
        self._wrapped(pieces)
        if not self._matched():
            self._folded(pieces)
        if not self._matched():
            self._broken(pieces)

    def _matched(self) -> bool:
        return any(message.matched for message in self.messages.values())

    def _wrapped(self, pieces: Sequence[Piece]) -> None:
        for piece, whole in joined(pieces, [pattern for pattern, _, _ in self.patterns]):
            match = self.match(whole)
            if match.issues and match.text not in self.messages:
                # What the halves of the message looked like goes away.
                self._forget(lambda text, one, m=match, w=whole: _is_half(one, text, w, m))  # type: ignore[misc]
                self._add(match, piece, whole)

    def _folded(self, pieces: Sequence[Piece]) -> None:
        """Messages that somebody wrote down in lower case."""
        for piece in pieces:
            lower = piece.text.lower()
            found: dict[str, bool] = {}
            text = ""
            for pattern, issue, own in self.patterns:
                if len(pattern.literal) < _FOLDED or pattern.literal.lower() not in lower:
                    continue
                said = re.search(pattern.text, piece.text, re.DOTALL | re.IGNORECASE)
                if said is not None:
                    found[issue] = found.get(issue, False) or own
                    text = max(text, " ".join(said[0].split())[:_LONGEST], key=len)
            if found:
                self._forget(lambda name, _, t=text: t in name)  # type: ignore[misc]
                self._add(Match(text, tuple(found.items())), piece, piece.text)

    def _broken(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            text, issues = beginning_of(piece.text, self.known)
            if issues:
                self._forget(lambda name, _, t=text, p=piece: t in name or name in p.text)  # type: ignore[misc]
                self._add(Match(text, issues), piece, piece.text)
                self.messages[text].cut = True
                return

    def _forget(self, which: Callable[[str, Message], bool]) -> None:
        for text in [text for text, one in self.messages.items() if which(text, one)]:
            del self.messages[text]

    def _add(self, match: Match, piece: Piece, line: str) -> None:
        self.fail(match, Split(line, "", None), line)
        if match.text in self.messages:
            self.messages[match.text].first_line = piece.line


def _is_half(message: Message, text: str, whole: str, match: Match) -> bool:
    return text in whole and (not message.matched or match.text.startswith(text) or match.text.endswith(text))
