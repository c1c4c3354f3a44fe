"""The names of a client's fields, as the picture and the table beside it say them."""

from collections.abc import Sequence

from inspector.analysis.reading import ChoiceReading
from inspector.capture.deltas import CONTENT, tool_index


def lane_labels(
    choice: ChoiceReading, fields: Sequence[str], *, calls: Sequence[str] | None = None
) -> list[str]:
    """The names of lanes, in the client's words; `calls` are the names of its calls if not by its tokens."""
    names = dict(enumerate([call.name for call in choice.expected.calls] if calls is None else calls))
    if not names:
        for field, deltas in choice.deltas_by_field().items():
            if field.endswith(".name") and (number := tool_index(field)) is not None:
                names[number] = "".join([delta.text for delta in deltas])
    labels = []
    for field in fields:
        number = tool_index(field)
        name = None if number is None else names.get(number) or "tool call"
        call = name and (f"{name}(…)" if field.endswith(".arguments") else f"{name}: name")
        labels.append(call or ("answer" if field == CONTENT else field))
    return labels
