"""Texts of the token strip: of each distinct id, and of the cells around split characters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from inspector.protocol.harmony.text import texts
from inspector.protocol.harmony.vocab import VOCABULARY_SIZE, token_bytes
from inspector.views.payload import Entry


def vocabulary(ids: Iterable[int]) -> dict[str, Entry]:
    """Text, None for partial UTF-8, and bytes as hex of each distinct id; none for unknown ids."""
    found: dict[str, Entry] = {}
    for token_id in dict.fromkeys(ids):
        if 0 <= token_id < VOCABULARY_SIZE:
            added = token_bytes(token_id)
            try:
                shown: str | None = added.decode()
            except UnicodeDecodeError:
                shown = None
            found[str(token_id)] = (shown, added.hex())
    return found


def split_texts(ids: Sequence[int], vocab: Mapping[str, Entry]) -> Iterator[tuple[str, str]]:
    """Texts of tokens around split characters: the runs of ids whose bytes alone are no text."""
    partial = {int(token_id) for token_id, (shown, _) in vocab.items() if shown is None}
    if not partial:
        return
    places = [place for place, token_id in enumerate(ids) if token_id in partial]
    start = 0
    while start < len(places):
        end = start
        while end + 1 < len(places) and places[end + 1] == places[end] + 1:
            end += 1
        first, last = places[start], places[end] + 1
        for place, text in enumerate(texts(ids[first:last]), first):
            yield str(place), text
        start = end + 1
