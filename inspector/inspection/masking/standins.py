"""Stand-ins for tokens and words: other ones of the vocabulary, of equal length in bytes, chosen by a key.

A stand-in has its letters where the original has letters (small, capital, or of another script) and digits
where it has digits; no letter keeps its place. What gives a text its form stays: spaces, punctuation, leading
zeros, `true`, `false`, `null`, escapes, and the names of special tokens. So a character replaces a character,
JSON stays JSON, and a word takes as many tokens as before wherever such a word can be found.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b, shake_256
from typing import Final

from inspector.inspection.masking.forms import (
    FIRST_SPECIAL,
    LITERALS,
    changed_in,
    is_free,
    of_form,
    of_looser_form,
)
from inspector.protocol.harmony.vocab import encode_plain, join_bytes, token_bytes

_TRIES: Final = 12
_SCANNED: Final = 4000
_WORDS_AT_MOST: Final = 64

_PIECE: Final = re.compile(
    r"(?:[^\r\n\w]|_)?[^\W\d_]+(?:'(?:s|t|re|ve|m|ll|d)(?![^\W\d_]))?|\d{1,3}"
    r"| ?(?:[^\s\w]|_)+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+|."
)
"""What the encoding takes apart from its neighbours, nearly; whether it does is checked."""
_OPAQUE_FROM: Final = 1024
_OPAQUE: Final = re.compile(rf"([A-Za-z0-9+/=_-]{{{_OPAQUE_FROM},}})")
"""Such as the base64 of an image."""
_RUN: Final = rf"[A-Za-z0-9+/=_-]{{{_OPAQUE_FROM},}}|[^\W\d_]+|\d+|."
_WORD: Final = re.compile(r"((?:[^\r\n\w]|_)?)([A-Za-z]+)")
_NUMBER: Final = re.compile(r"[0-9]+")
_FIXED: Final = re.compile(
    r"<\|(?:startoftext|endoftext|return|constrain|channel|start|end|message|call|reserved_\d{6})\|>"
    r"|\\u[0-9a-fA-F]{2}"  # the block of an escaped character; the rest of it is free
    r'|\\[\\"/bfnrtu]'
    r"|(?<![^\W_])(?:true|false|null|NaN|Infinity)(?![^\W_])"
    r"|(?<=\d)[eE](?=[+-]?\d)",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u[0-9a-fA-F]{2}([0-9a-fA-F]{2})")
_AROUND: Final = (" ", "", ".", "_", '"', "(")
"""What may stand before a word: its stand-in should take as many tokens after each of them."""


class Standins:
    """The stand-ins of one key. What was replaced is kept, so that several captures may share them."""

    def __init__(self, key: bytes) -> None:
        self._key = key[:64]
        self._tokens: dict[tuple[int, str, int], int] = {}
        self._taken: dict[int, int] = {}
        self._pieces: dict[tuple[str, str], str] = {}
        self._words: dict[str, str] = {}
        self._single: dict[tuple[str, str], str] = {}

    def another(self, number: int) -> "Standins":
        """Stand-ins of another key, which follows from this one."""
        return Standins(blake2b(str(number).encode(), key=self._key).digest())

    def text(self, text: str, fixed: "re.Pattern[str] | None" = None) -> str:
        """The stand-in of a text, character for character; what `fixed` matches stays."""
        return "".join(
            self._scrambled(part) if number % 2 else self._text(part, fixed)
            for number, part in enumerate(_OPAQUE.split(text))
        )

    def _text(self, text: str, fixed: "re.Pattern[str] | None") -> str:
        if not text:
            return text
        mask = self.mask(text, fixed)
        ends = _ends(text)
        spans = list(_joined(self.pieces(text), ends))
        parts = [self._piece(text[start:end], mask[start:end]) for start, end in spans]
        for attempt in range(1, _TRIES):
            standin = "".join(parts)
            wrong = ends ^ _ends(standin)
            if not wrong:
                return standin
            places = sorted(wrong)
            for number, (start, end) in enumerate(spans):  # ones of another key where tokens end elsewhere
                first = bisect_left(places, start)
                if mask[start:end].strip("-") and first < len(places) and places[first] <= end:
                    piece, masked = text[start:end], mask[start:end]
                    parts[number] = self._pieces[piece, masked] = self._searched(
                        piece, masked, (piece,), first=attempt * _TRIES
                    )
        return "".join(parts)

    def _scrambled(self, text: str) -> str:
        """A long run of encoded data: no words, and too many tokens to look for stand-ins of each."""
        content = text.encode("ascii")
        stream = shake_256(self._key + content).digest(len(content))
        scrambled = bytearray(content)
        for at, (byte, shift) in enumerate(zip(content, stream, strict=True)):
            for first, size in ((97, 26), (65, 26), (48, 10)):
                if 0 <= byte - first < size:
                    scrambled[at] = first + (byte - first + 1 + shift % (size - 1)) % size
                    break
        return scrambled.decode("ascii")

    def words(self, text: str, fixed: "re.Pattern[str]", names: Mapping[str, str] | None = None) -> str:
        """A text with one stand-in for each word wherever it stands; its tokens may be others in number.

        `names` have stand-ins already.
        """
        names = names or {}
        mask = self.mask(text, fixed)
        parts: list[str] = []
        for part in _runs_and(tuple(names)).finditer(text):
            word = part[0]
            if word in names:
                parts.append(names[word])
            elif len(word) >= _OPAQUE_FROM:
                parts.append(self._scrambled(word))
            else:
                parts.append(self._alone(word, mask[part.start() : part.end()]))
        return "".join(parts)

    def _alone(self, word: str, mask: str) -> str:
        if not mask.strip("-"):
            return word
        if (word, mask) not in self._single:
            plain = word.isascii() and word.isalpha() and mask == "f" * len(word)
            self._single[word, mask] = self._word(word) if plain else self._searched(word, mask, (word,))
        return self._single[word, mask]

    @staticmethod
    def mask(text: str, fixed: "re.Pattern[str] | None" = None) -> str:
        """A letter per character: `f` free, `d` a digit within a number, `x` one of an escape, `-` fixed."""
        mask = ["f" if is_free(char) else "-" for char in text]
        for match in _NUMBER.finditer(text):
            first = "-" if match[0][0] == "0" else "f"  # no number begins with a zero that did not
            mask[match.start() : match.end()] = first + "d" * (match.end() - match.start() - 1)
        for pattern in (_FIXED,) if fixed is None else (_FIXED, fixed):
            for match in pattern.finditer(text):
                mask[match.start() : match.end()] = "-" * (match.end() - match.start())
        if "\\u" in text:
            for match in _ESCAPED.finditer(text):
                mask[match.start(1) : match.end(1)] = "xx"
        return "".join(mask)

    @staticmethod
    def pieces(text: str) -> Iterator[tuple[int, int]]:
        """Where the pieces of a text begin and end."""
        for match in _PIECE.finditer(text.replace("\n", "\r")):  # `.` takes all but a line feed
            yield match.span()

    def ids(self, ids: Sequence[int], fixed: "re.Pattern[str] | None" = None) -> list[int]:
        """Stand-ins of some tokens of text that stand together, one for each, each of equal length."""
        content = join_bytes(ids)
        text = content.decode("utf-8", "replace")
        mask = self.mask(text, fixed)
        if text.encode("utf-8") != content:  # broken characters: no piece is sure
            return self._token_by_token(ids, text, mask, content)
        standins: list[int] = []
        at, start_char, number = 0, 0, 0  # of the bytes, characters and tokens that have stand-ins
        ends: list[int] = []
        place = 0
        for token_id in ids:
            place += len(token_bytes(token_id))
            ends.append(place)
        piece_end = 0
        for start, end in self.pieces(text):
            piece_end += len(text[start:end].encode("utf-8"))
            last = number
            while last < len(ends) and ends[last] < piece_end:
                last += 1
            if last >= len(ends) or ends[last] != piece_end:
                continue  # a token spans two pieces: take them together
            while last + 1 < len(ends) and ends[last + 1] == piece_end:
                last += 1
            group, piece = list(ids[number : last + 1]), text[start_char:end]
            standin: list[int] | None = None
            if start_char == start and encode_plain(piece) == group:
                standin = encode_plain(self._piece(piece, mask[start:end]))
                if _lengths(standin) != _lengths(group):
                    standin = None
            if standin is None:
                standin = self._token_by_token(group, piece, mask[start_char:end], content[at:piece_end])
            standins += standin
            at, start_char, number = piece_end, end, last + 1
        if number < len(ids):
            standins += self._token_by_token(ids[number:], text[start_char:], mask[start_char:], content[at:])
        return standins

    def token(self, token_id: int) -> int:
        """The stand-in of a token that stands alone; a special one, or one of no vocabulary, stays."""
        if not 0 <= token_id < FIRST_SPECIAL:
            return token_id
        return self.ids([token_id])[0]

    def _token_by_token(self, ids: Sequence[int], text: str, mask: str, content: bytes) -> list[int]:
        """Each token by itself; where it is whole characters, with the mask of its place."""
        standins: list[int] = []
        valid_text = text.encode("utf-8") == content
        chars = 0
        for token_id in ids:
            own = token_bytes(token_id)
            masked = "?" * len(own)
            try:
                own_text = own.decode("utf-8")
                if valid_text and text[chars : chars + len(own_text)] == own_text:
                    masked = mask[chars : chars + len(own_text)]
                    chars += len(own_text)
                else:
                    masked = self.mask(own_text)
                    valid_text = False
            except UnicodeDecodeError:
                valid_text = False
            standins.append(self._token(token_id, masked, 0))
        return standins

    def _token(self, token_id: int, mask: str, attempt: int) -> int:
        """A token of equal form; `mask` of question marks is that of broken characters."""
        key = (token_id, mask, attempt)
        if (chosen := self._tokens.get(key)) is not None:
            return chosen
        content = token_bytes(token_id)
        best, unchanged = token_id, len(content) + 1
        for candidates in self._candidates(content, mask) if content and mask.strip("-") else ():
            candidate, candidate_unchanged = self._chosen(token_id, mask, attempt, candidates)
            if candidate_unchanged < unchanged:
                best, unchanged = candidate, candidate_unchanged
            if not unchanged:
                break
        self._tokens[key] = best
        if attempt == 0:
            self._taken.setdefault(best, token_id)
        return best

    @staticmethod
    def _candidates(content: bytes, mask: str) -> Iterator[Sequence[int]]:
        """Tokens that may stand for one of these bytes, the most similar first."""
        yield of_form(content)
        if "?" not in mask:
            looser = of_looser_form(content)
            yield [token_id for token_id in looser if len(token_bytes(token_id)) == len(content)]
            yield looser

    def _chosen(self, token_id: int, mask: str, attempt: int, candidates: Sequence[int]) -> tuple[int, int]:
        """The first candidate, from where the key begins, in which no free character keeps its place.

        With the number of those that do, where there is none.
        """
        content = token_bytes(token_id)
        text = None if "?" in mask else content.decode("utf-8", "replace")
        start = self._number(f"{token_id} {attempt}") % len(candidates)
        best, most_changed = token_id, 0
        repeated: int | None = None
        for step in range(min(len(candidates), _SCANNED)):
            candidate = candidates[(start + step) % len(candidates)]
            if candidate == token_id:
                continue
            candidate_content = token_bytes(candidate)
            if text is None:
                changed = free = sum(
                    a != b for a, b in zip(content, candidate_content, strict=True)
                )  # any will do
            else:
                changed, free = changed_in(text, candidate_content.decode("utf-8", "replace"), mask)
            if self._taken.get(candidate, token_id) != token_id:
                repeated = candidate if changed and changed == free and repeated is None else repeated
            elif changed > most_changed:
                best, most_changed = candidate, changed
                if changed == free:
                    return best, 0
        if repeated is not None:  # all of them are taken: two tokens have one stand-in
            return repeated, 0
        return best, max(sum(mask_char != "-" for mask_char in mask) - most_changed, 0)

    def _piece(self, piece: str, mask: str) -> str:
        if not mask.strip("-"):
            return piece
        standin = self._pieces.get((piece, mask))
        if standin is None:
            standin = self._pieces[piece, mask] = self._new_standin(piece, mask)
        return standin

    def _new_standin(self, piece: str, mask: str) -> str:
        word = _WORD.fullmatch(piece)
        own = _lengths(encode_plain(piece))
        if word is not None and mask.endswith("f" * len(word[2])):
            standin = word[1] + self._word(word[2])
            if _lengths(encode_plain(standin)) == own:
                return standin
        return self._searched(piece, mask, (piece,))

    def _word(self, word: str) -> str:
        """One stand-in for a word wherever it stands, so that a name stays the same name."""
        if word not in self._words:
            forms = tuple(before + word for before in _AROUND)
            self._words[word] = self._searched(forms[0], "-" + "f" * len(word), forms)[1:]
        return self._words[word]

    def _searched(self, piece: str, mask: str, forms: Sequence[str], *, first: int = 0) -> str:
        """The stand-in that takes as many tokens, of the same lengths, in most of its forms."""
        ids = encode_plain(piece)
        lengths_of_forms = [_lengths(encode_plain(form)) for form in forms]
        best, best_score = "", -1
        for attempt in range(first, first + (_TRIES if len(ids) < _WORDS_AT_MOST else 1)):
            standin_ids: list[int] = []
            chars = 0
            for token_id in ids:
                own = token_bytes(token_id)
                try:
                    size = len(own.decode("utf-8"))
                    masked, chars = mask[chars : chars + size], chars + size
                except UnicodeDecodeError:
                    masked = "?" * len(own)
                standin_ids.append(self._token(token_id, masked, attempt))
            standin = join_bytes(standin_ids).decode("utf-8", "replace")
            if len(standin) != len(piece) or standin.strip(" .,:;\"'") in LITERALS:
                continue
            score = 0
            for form, lengths in zip(forms, lengths_of_forms, strict=True):
                standin_form = (
                    standin if len(forms) == 1 else form[: len(form) - len(piece) + 1] + standin[1:]
                )
                score += _lengths(encode_plain(standin_form)) == lengths
            if score > best_score:
                best, best_score = standin, score
            if score == len(forms):
                break
        return best or piece

    def _number(self, what: str) -> int:
        return int.from_bytes(blake2b(what.encode(), key=self._key, digest_size=8).digest(), "big")


@lru_cache
def _runs_and(names: Sequence[str]) -> "re.Pattern[str]":
    """Names, and what of other text is taken apart."""
    names_pattern = "".join(
        rf"(?<!\w){re.escape(name)}(?!\w)|" for name in sorted(names, key=len, reverse=True)
    )
    return re.compile(names_pattern + _RUN, re.DOTALL)


def _ends(text: str) -> set[int]:
    """Where the tokens of a text end that end with a character, in characters."""
    ends: set[int] = set()
    at = 0
    rest = b""
    for token_id in encode_plain(text):
        rest += token_bytes(token_id)
        with suppress(UnicodeDecodeError):
            at += len(rest.decode("utf-8"))
            rest = b""
            ends.add(at)
    return ends


def _joined(spans: Iterator[tuple[int, int]], ends: set[int]) -> Iterator[tuple[int, int]]:
    """Pieces together where a token spans two of them."""
    start: int | None = None
    end = 0
    for first, end in spans:
        start = first if start is None else start
        if end in ends:
            yield start, end
            start = None
    if start is not None:
        yield start, end


def _lengths(ids: Sequence[int]) -> list[int]:
    return [len(token_bytes(token_id)) for token_id in ids]
