"""Cells for tokens that the server never sent: its error names them, or its count has them."""

from collections.abc import Callable, Mapping
from typing import Final, Literal

from inspector.analysis.audit import Finding, Rejection
from inspector.analysis.audit.facts import UnexplainedCount
from inspector.analysis.audit.rejection import UnsentKind
from inspector.analysis.audit.wording import unsent_words
from inspector.capture.formats import count
from inspector.protocol.harmony.text import text_of
from inspector.views.payload import Block, CellSpan, Columns, UnsentCell
from inspector.views.strip.texts import vocabulary

_KINDS: Final[Mapping[UnsentKind, Literal["gap", "token", "header"]]] = {
    UnsentKind.GAP: "gap",
    UnsentKind.TOKEN: "token",
    UnsentKind.HEADER: "header",
}


def add_unsent(
    columns: Columns, blocks: list[Block], stopped: Rejection, at_s: Callable[[int], float | None]
) -> None:
    """Add the gap and the rejected token or header after the last cell sent, and the block that they end."""
    words = unsent_words(stopped)
    token_id, sent = stopped.token_id, columns["count"]
    texts = {
        UnsentKind.GAP: "",
        UnsentKind.TOKEN: "" if token_id is None else text_of([token_id]),
        UnsentKind.HEADER: stopped.error.quoted,
    }
    cells: list[UnsentCell] = [
        {
            "at": place,
            "kind": _KINDS[kind],
            "id": token_id if kind is UnsentKind.TOKEN else None,
            "text": texts[kind],
            "label": "" if texts[kind] else "not sent",
            "words": words[kind],
        }
        for place, kind in enumerate(stopped.unsent, sent)
    ]
    columns["unsent"].extend(cells)
    columns["count"] += len(cells)
    if columns["ids"] is not None:
        columns["ids"].extend(cell["id"] for cell in cells)
    columns["vocab"] |= vocabulary(() if token_id is None else (token_id,))
    if cells:
        events, at = columns["events"], at_s(stopped.event)
        events["index"].append(stopped.event)
        events["start"].append(sent)
        events["at"] = None if events["at"] is None or at is None else [*events["at"], at]
    _add_block(blocks, stopped, sent, len(cells))


def is_unseen(finding: Finding) -> bool:
    """Whether the server counted tokens that the messages of its final object do not have."""
    return finding.reconstructed and isinstance(finding.facts, UnexplainedCount)


def add_unseen(columns: Columns, finding: Finding) -> CellSpan:
    """Add one cell for the tokens that the server counted and put nowhere; where they were is unknown."""
    assert isinstance(finding.facts, UnexplainedCount)  # noqa: S101 -- see `is_unseen`
    amount, at = count(finding.facts.counted - finding.facts.seen, "token"), columns["count"]
    words = f"{amount} that the server counted and delivered in no field; their place is unknown"
    columns["unsent"].append(
        {"at": at, "kind": "gap", "id": None, "text": "", "label": f"+ {amount}", "words": words}
    )
    columns["count"] += 1
    if columns["ids"] is not None:
        columns["ids"].append(None)
    return {"cell_start": at, "cell_end": at + 1}


def _add_block(blocks: list[Block], stopped: Rejection, sent: int, unsent: int) -> None:
    start, end = sent, sent + unsent
    if stopped.header is not None and blocks and blocks[-1]["start"] == stopped.header[0]:
        start = blocks.pop()["start"]
    if start == end:
        return
    blocks.append(
        {
            "kind": "refused",
            "start": start,
            "body": sent,
            "end": end,
            "role": None,
            "channel": None,
            "recipient": None,
            "content_type": None,
            "complete": False,
            "reason": stopped.words,
            "quoted": True,
            "state": "header" if stopped.error.reason.in_header else "between messages",
            "culprit": stopped.culprit or (None if stopped.header is not None else (sent, end)),
        }
    )


def rejected_span(stopped: Rejection, count: int) -> CellSpan:
    """The cells of the finding of a rejection; `count` cells were sent."""
    end = count + len(stopped.unsent)
    return {"cell_start": end - 1 if stopped.header is None else stopped.header[0], "cell_end": end}
