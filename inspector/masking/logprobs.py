"""Logprobs: the tokens that were sampled, and those that might have been."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from inspector.harmony.text import text_of
from inspector.harmony.vocab import token_bytes
from inspector.masking.standins import Standins
from inspector.masking.words import Words
from inspector.wire.chat import named_token

__all__ = ["Logprobs"]

_ID_PREFIX: Final = "token_id:"
_UNKNOWN: Final = -1
"""In place of a stand-in: none is known."""
_DIGITS: Final = 10


class Logprobs:
    """Replaces the logprobs of a capture; `tokens` are the tokens of each choice and their stand-ins."""

    def __init__(
        self, tokens: Mapping[int, tuple[Sequence[int], list[int]]], words: Words, standins: Standins
    ) -> None:
        self._tokens = tokens
        self._words = words
        self._standins = standins
        self._logprobs: dict[int, Iterator[tuple[int, int]]] = {}

    def masked(self, value: Mapping[str, Any], choice: int) -> dict[str, Any]:
        """A `logprobs` object of chat or completions."""
        if choice not in self._logprobs:
            self._logprobs[choice] = iter(zip(*self._tokens.get(choice, ((), [])), strict=True))
        told = dict(value)
        entries = value.get("content")
        if isinstance(entries, list):
            told["content"] = [self._entry(one, choice) for one in entries]
        names = value.get("tokens")
        if isinstance(names, list):
            told["tokens"] = [self._entry({"token": one}, choice)["token"] for one in names]
        tops = value.get("top_logprobs")
        if isinstance(tops, list):
            told["top_logprobs"] = [
                {self._token_name(one): number for one, number in top.items()}
                if isinstance(top, dict)
                else top
                for top in tops
            ]
        return told

    def loose(self, entry: Any) -> Any:
        """An entry of a list that belongs to no choice: the logprobs of Responses."""
        return self._entry(entry, 0, _UNKNOWN)

    def by_id(self, entry: Any) -> Any:
        """What `prompt_logprobs` says of one token: possible tokens by their IDs."""
        if not isinstance(entry, dict):
            return entry
        found: dict[str, Any] = {}
        for name, told in entry.items():
            standin = self._words.token(int(name)) if name.isdecimal() and len(name) < _DIGITS else None
            shown = told
            if isinstance(told, dict) and isinstance(text := told.get("decoded_token"), str):
                shown = {**told, "decoded_token": self._token_name(text, standin)}
            found.setdefault(name if standin is None else str(standin), shown)
        return found

    def _entry(self, entry: Any, choice: int, standin: int | None = None) -> Any:
        """One entry of logprobs, with what else might have come."""
        if not isinstance(entry, dict):
            return entry
        name = entry.get("token")
        told = dict(entry)
        token_id = named_token(name)
        if standin is None:
            own = next(islice(self._logprobs[choice], 1), None)
            standin = own[1] if own is not None and token_id in (None, own[0]) else None
        if isinstance(name, str):
            told["token"] = self._token_name(name, standin)
        if isinstance(entry.get("bytes"), list):
            told["bytes"] = list(
                token_bytes(standin)
                if standin is not None and standin >= 0
                else self._token_name(str(name)).encode("utf-8", "replace")
            )
        if type(entry.get("id")) is int:
            told["id"] = self._standins.token(entry["id"]) if standin is None or standin < 0 else standin
        if isinstance(entry.get("top_logprobs"), list):
            told["top_logprobs"] = [
                self._entry(
                    one,
                    choice,
                    standin if isinstance(one, dict) and one.get("token") == name else self._other(one),
                )
                for one in entry["top_logprobs"]
            ]
        return told

    def _other(self, entry: Any) -> int:
        """The stand-in of a token that might have come."""
        token_id = named_token(entry.get("token")) if isinstance(entry, dict) else None
        return _UNKNOWN if token_id is None else self._words.token(token_id)

    def _token_name(self, name: Any, standin: int | None = None) -> Any:
        if not isinstance(name, str):
            return name
        token_id = named_token(name)
        if standin is None or standin < 0:
            if token_id is None:
                return self._standins.text(name)
            standin = self._words.token(token_id)
        if name.startswith(_ID_PREFIX) and token_id is not None:
            return f"{_ID_PREFIX}{standin}"
        return text_of([standin])
