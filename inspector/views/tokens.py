"""The tokens of a completion as values: ID, text, channel, and what became of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.analysis.reading import ChoiceReading
from inspector.capture.errors import InspectorError
from inspector.inspection.inspection import Examined
from inspector.views.payload import CellFate
from inspector.views.rows import token_rows
from inspector.views.strip import picture


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenFate:
    """One generated token and what became of it."""

    index: int
    """Place in the completion, from 0."""
    id: int | None
    """None where several spellings of a reconstructed message fit."""
    text: str
    """What the token completes; empty for half a character."""
    channel: str | None
    """The channel of its message; None where it has none, and for rejected tokens."""
    fate: CellFate
    """`framing` is a header or special token, which is never delivered; `left_out` is text from a stop string
    on; `unsent` is behind the place where the stream broke off; `unknown` without deliveries."""
    field: str | None
    """The field that the client got it in; None where it did not."""
    event: int | None
    """The event that brought the ID; None where it was reconstructed."""
    arrival_s: float | None


def tokens(inspection: Examined, *, choice: int = 0) -> Iterator[TokenFate]:
    """The tokens of a choice in order; none where no token IDs are known.

    Raises InspectorError for a choice that the response does not have.
    """
    reading = next((each for each in inspection.reading.choices if each.index == choice), None)
    if reading is None:
        size = len(inspection.reading.choices)
        raise InspectorError(f"the response has no choice {choice}; it has {size}, counted from 0")
    return _tokens(inspection, reading)


def _tokens(inspection: Examined, choice: ChoiceReading) -> Iterator[TokenFate]:
    pipeline = picture(inspection, choice)
    lanes = [lane["field"] for lane in pipeline["lanes"]]
    fates = (
        (fate, None if arrived is None else lanes[arrived])
        for start, end, fate, _, arrived, _ in pipeline["fates"]
        for _ in range(start, end)
    )
    for row, (fate, field) in zip(token_rows(inspection.reading, choice), fates, strict=False):
        yield TokenFate(
            index=row["index"],
            id=row["id"],
            text=row["text"],
            channel=row["channel"],
            fate=fate,
            field=field,
            event=row["event"],
            arrival_s=row["arrival_s"],
        )
