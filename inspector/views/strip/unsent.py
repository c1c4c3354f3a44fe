"""Cells of the token strip for tokens that the server's error names but the server never sent."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from inspector.analysis.audit import Rejection
from inspector.analysis.audit.rejection import UnsentKind
from inspector.analysis.audit.wording import unsent_words
from inspector.protocol.harmony.text import text_of
from inspector.views.payload import Block, Cells, CellSpan, UnsentCell, UnsentColumns
from inspector.views.strip.pipeline import unsent_fates
from inspector.views.strip.texts import vocabulary

_KINDS: Final[Mapping[UnsentKind, Literal["gap", "token", "header"]]] = {
    UnsentKind.GAP: "gap",
    UnsentKind.TOKEN: "token",
    UnsentKind.HEADER: "header",
}


def unsent(stopped: Rejection, count: int, at_s: Callable[[int], float | None]) -> UnsentColumns:
    """Columns of the cells after the last of `count` sent ones: a gap, the rejected token or header."""
    words = unsent_words(stopped)
    token_id = stopped.token_id
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
            "words": words[kind],
        }
        for place, kind in enumerate(stopped.unsent, count)
    ]
    at = at_s(stopped.event)
    return {
        "ids": [cell["id"] for cell in cells],
        "vocab": vocabulary(() if token_id is None else (token_id,)),
        "events": {"index": [stopped.event], "start": [count], "at": None if at is None else [at]}
        if cells
        else {"index": [], "start": [], "at": []},
        "unsent": cells,
    }


def rejected_blocks(blocks: Sequence[Block], stopped: Rejection, count: int, cells: int) -> list[Block]:
    """Blocks with the rejected one at their end; `count` cells were sent, `cells` follow them."""
    kept = list(blocks)
    start = count
    if stopped.header is not None and kept and kept[-1]["start"] == stopped.header[0]:
        start = kept.pop()["start"]
    if start < count + cells:
        kept.append(
            {
                "kind": "refused",
                "start": start,
                "body": count,
                "end": count + cells,
                "role": None,
                "channel": None,
                "recipient": None,
                "content_type": None,
                "complete": False,
                "reason": stopped.words,
                "state": "header" if stopped.error.reason.in_header else "between messages",
                "culprit": stopped.culprit
                or (None if stopped.header is not None else (count, count + cells)),
            }
        )
    return kept


def rejected_span(stopped: Rejection, count: int) -> CellSpan:
    """The cells of the finding of a rejection; `count` cells were sent."""
    end = count + len(stopped.unsent)
    return {"cell_start": end - 1 if stopped.header is None else stopped.header[0], "cell_end": end}


def with_unsent(shape: Cells, added: UnsentColumns, stopped: Rejection) -> Cells:
    """The cells with those that were never sent after them."""
    count = shape["count"]
    cells = added["unsent"]
    events, more = shape["events"], added["events"]
    at = None if events["at"] is None or more["at"] is None else [*events["at"], *more["at"]]
    if not events["index"]:
        at = more["at"]
    return {
        **shape,
        "count": count + len(cells),
        "ids": None if shape["ids"] is None else [*shape["ids"], *added["ids"]],
        "vocab": added["vocab"] if shape["vocab"] is None else {**shape["vocab"], **added["vocab"]},
        "events": {
            "index": [*events["index"], *more["index"]],
            "start": [*events["start"], *more["start"]],
            "at": at,
        },
        "blocks": rejected_blocks(shape["blocks"], stopped, count, len(cells)),
        "pipelines": [
            {**picture, "fates": [*picture["fates"], *unsent_fates(cells)]} for picture in shape["pipelines"]
        ],
    }
