"""Logprobs: the tokens that were sampled, and those that might have been."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from inspector.inspection.masking.standins import Standins
from inspector.inspection.masking.words import Words
from inspector.protocol.harmony.text import text_of
from inspector.protocol.harmony.vocab import token_bytes
from inspector.protocol.wire.chat import named_token

_ID_PREFIX: Final = "token_id:"
_UNKNOWN: Final = -1
"""In place of a stand-in: none is known."""
_DIGITS: Final = 10


class Logprobs:
    """Replaces the logprobs of a capture; `tokens` are the tokens of each choice and their stand-ins.

    `rest` replaces an object of which a logprob has nothing to say.
    """

    def __init__(
        self,
        tokens: Mapping[int, tuple[Sequence[int], list[int]]],
        words: Words,
        standins: Standins,
        rest: Callable[[Any], Any],
    ) -> None:
        self._tokens = tokens
        self._words = words
        self._standins = standins
        self._rest = rest
        self._logprobs: dict[int, Iterator[tuple[int, int]]] = {}

    def masked(self, value: Mapping[str, Any], choice: int) -> dict[str, Any]:
        """A `logprobs` object of chat or completions."""
        if choice not in self._logprobs:
            self._logprobs[choice] = iter(zip(*self._tokens.get(choice, ((), [])), strict=True))
        copy: dict[str, Any] = {}
        for key, item in value.items():
            match key, item:
                case "content", list():
                    copy[key] = [self._entry(entry, choice) for entry in item]
                case "tokens", list():
                    copy[key] = [self._entry({"token": name}, choice)["token"] for name in item]
                case "top_logprobs", list():
                    copy[key] = [self._tops(top) for top in item]
                case _:
                    copy |= self._rest({key: item})
        return copy

    def loose(self, entry: Any) -> Any:
        """An entry of a list that belongs to no choice: the logprobs of Responses."""
        return self._entry(entry, 0, _UNKNOWN)

    def by_id(self, entry: Any) -> Any:
        """What `prompt_logprobs` says of one token: possible tokens by their IDs."""
        if not isinstance(entry, dict):
            return self._rest(entry)
        copy: dict[str, Any] = {}
        for name, item in entry.items():
            token_id = id_named(name)
            if token_id is None:
                copy |= self._rest({name: item})
            else:
                standin = self._words.token(token_id)
                copy.setdefault(str(standin), self._entry(item, 0, standin))
        return copy

    def _tops(self, top: Any) -> Any:
        """What else might have come, by its text."""
        if not isinstance(top, dict):
            return self._rest(top)
        return {
            self._token_name(name): item if isinstance(item, int | float) else self._rest(item)
            for name, item in top.items()
        }

    def _entry(self, entry: Any, choice: int, standin: int | None = None) -> Any:
        """One entry of logprobs, with what else might have come."""
        if not isinstance(entry, dict):
            return self._rest(entry)
        name = entry.get("token")
        if standin is None:
            own = next(islice(self._logprobs[choice], 1), None)
            standin = own[1] if own is not None and named_token(name) in (None, own[0]) else None
            standin = _UNKNOWN if standin is None else standin
        certain = None if standin == _UNKNOWN else standin
        copy: dict[str, Any] = {}
        for key, item in entry.items():
            match key, item:
                case "token" | "decoded_token", str():
                    copy[key] = self._token_name(item, certain)
                case "bytes", list():
                    text = self._token_name(str(name)).encode("utf-8", "replace")
                    copy[key] = list(text if certain is None else token_bytes(certain))
                case "id" | "token_id", int():
                    copy[key] = self._standins.token(item) if certain is None else certain
                case "top_logprobs", list():
                    copy[key] = [
                        self._entry(top, choice, standin if _named(top) == name else self._other(top))
                        for top in item
                    ]
                case "logprob" | "rank", int() | float():
                    copy[key] = item
                case _:
                    copy |= self._rest({key: item})
        return copy

    def _other(self, entry: Any) -> int:
        """The stand-in of a token that might have come."""
        token_id = named_token(_named(entry))
        return _UNKNOWN if token_id is None else self._words.token(token_id)

    def _token_name(self, name: str, standin: int | None = None) -> str:
        token_id = named_token(name)
        if standin is None:
            if token_id is None:
                return self._standins.text(name)
            standin = self._words.token(token_id)
        if name.startswith(_ID_PREFIX) and token_id is not None:
            return f"{_ID_PREFIX}{standin}"
        return text_of([standin])


def id_named(name: str) -> int | None:
    """The token ID that a name of JSON is; None for other names."""
    return int(name) if name.isdecimal() and len(name) < _DIGITS else None


def _named(entry: Any) -> Any:
    return entry.get("token") if isinstance(entry, dict) else None
