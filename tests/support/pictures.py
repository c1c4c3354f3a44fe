"""What holds of every picture of a stream: a fate for each sent cell, lanes with all delivered text."""

from collections import defaultdict

from inspector.analysis.alignment.calls import renumbered
from inspector.analysis.reading import ChoiceReading
from inspector.inspection.inspection import Inspection
from inspector.protocol.harmony.text import text_of
from inspector.views.payload import Lane, Payload
from inspector.views.strip import strip

__all__ = ["check", "lane_text"]


def lane_text(payload: Payload, lane: Lane) -> str:
    """The text of a lane, read from the picture and the cells alone."""
    ids = payload["ids"]
    texts: list[str] = []
    for start, end, text, _ in lane["pieces"]:
        if text is not None:
            texts.append(text)
        elif ids is None:
            texts.extend(payload["texts"][str(cell)] for cell in range(start, end))
        else:
            texts.append(text_of([cell for cell in ids[start:end] if cell is not None], ended=False))
    return "".join(texts)


def delivered(inspection: Inspection, choice: ChoiceReading) -> dict[str, str]:
    """What the client received by field, calls under the numbers of the generated ones."""
    alignment = inspection.alignments[choice.index]
    fields = choice.deltas_by_field() if alignment is None else renumbered(choice, alignment.calls)
    texts = {field: "".join(delta.text for delta in deltas) for field, deltas in fields.items()}
    return {field: text for field, text in texts.items() if text and not field.endswith(".name")}


def check(inspection: Inspection) -> None:
    for choice in inspection.reading.choices:
        payload = strip(inspection, key="key", choice=choice)
        (picture,) = payload["pipelines"]
        lanes, fates = picture["lanes"], picture["fates"]
        assert [0, *(end for _, end, *_ in fates)] == [*(start for start, *_ in fates), payload["sent"]]
        texts = {lane["field"]: lane_text(payload, lane) for lane in lanes}
        assert {field: text for field, text in texts.items() if text} == delivered(inspection, choice)
        arrived: defaultdict[int, set[int]] = defaultdict(set)
        for number, lane in enumerate(lanes):
            for start, end, _, sign in lane["pieces"]:
                for cell in range(start, end):
                    assert sign == "duplicated" or not arrived[cell]
                    arrived[cell].add(number)
        for start, end, fate, own, arrived_in, _ in fates:
            for cell in range(start, end):
                assert (arrived_in is not None) == bool(arrived[cell])
                assert arrived_in is None or arrived_in in arrived[cell]
            if fate == "misrouted":
                assert own != arrived_in
            if fate in {"framing", "lost", "unsent"}:
                assert arrived_in is None
