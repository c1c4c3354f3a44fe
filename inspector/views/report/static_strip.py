"""The token strip as static HTML: cells by message, the delivery ribbon below, findings marked.

Every text is escaped and its invisible characters named; there is no script. A long stream shows the
tokens around findings and the beginnings of messages, and says how many it leaves out.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from inspector.analysis.audit.kinds import KINDS, Kind
from inspector.analysis.audit.rejection import header_words
from inspector.capture.formats import count
from inspector.protocol.harmony.vocab import MARKERS
from inspector.views.report.escape import html_text

_ALL_AT_MOST: Final = 3_000
_AROUND: Final = 24
_HEADER: Final = 200
_HEAD: Final = 8
_PLACES_AT_MOST: Final = 60
_CELL_CHARACTERS: Final = 40
_WORDS: Final = {
    "reasoning": "delivered as reasoning",
    "content": "delivered as content",
    "tool": "delivered as tool arguments",
    "text": "delivered as text",
    "other": "delivered in another field",
    "wrong": "in the wrong field",
    "lost": "not delivered",
    "unserved": KINDS[Kind.UNSERVED].label,
}
"""The legend of the ribbons, by their class."""
_EDGES: Final = {
    "analysis": "reasoning",
    "reasoning": "reasoning",
    "final": "content",
    "content": "content",
    "commentary": "tool",
}


def static_strip(payload: Mapping[str, Any]) -> str:
    """HTML of a strip payload (`views.strip`)."""
    cells: int = payload["count"]
    if not cells:
        return "<p>The capture contains no tokens and no text.</p>"
    spans = _drawn_spans(payload, cells)
    marks = _marks(payload)
    rule = set(payload["events"]["start"])
    blocks = "".join(_block(payload, block, spans, marks, rule) for block in payload["blocks"])
    legend = _legend(payload)
    if payload["reconstructed"]:
        legend += (
            "<p class='quiet'>The tokens are reconstructed from the final object, whose messages take as "
            "many as the server counted. A cell without an ID can be spelled in several ways.</p>"
        )
    if payload["unsent"]:
        legend += "<p class='quiet'>Dashed cells are tokens that the server never sent.</p>"
    return f"{legend}<div class='strip'>{blocks}</div>"


def _span(finding: Mapping[str, Any]) -> tuple[int, int] | None:
    start = finding.get("cell_start", finding["token_start"])
    end = finding.get("cell_end", finding["token_end"])
    return None if start is None or end is None else (start, end)


def _marks(payload: Mapping[str, Any]) -> dict[int, str]:
    """Finding titles by cell, for the first cells of each finding."""
    marks: dict[int, str] = {}
    for finding in payload["findings"]:
        if (span := _span(finding)) is not None:
            for cell in range(span[0], min(span[1], span[0] + _ALL_AT_MOST)):
                marks.setdefault(cell, finding["title"])
    return marks


def _drawn_spans(payload: Mapping[str, Any], cells: int) -> list[tuple[int, int]]:
    """Spans of cells that are drawn, in order."""
    if cells <= _ALL_AT_MOST:
        return [(0, cells)]
    spans = [
        (max(span[0] - _AROUND, 0), min(span[0] + 2 * _AROUND, cells))
        for finding in payload["findings"][:_PLACES_AT_MOST]
        if (span := _span(finding)) is not None
    ]
    spans += [
        (block["start"], min(block["body"] + _HEAD, block["end"]))
        for block in payload["blocks"][:_PLACES_AT_MOST]
    ]
    spans.append((cells - _HEAD, cells))
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1] + _HEAD:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, min(end, start + _ALL_AT_MOST)))
    return joined


def _block(
    payload: Mapping[str, Any],
    block: Mapping[str, Any],
    spans: Sequence[tuple[int, int]],
    marks: Mapping[int, str],
    rule: set[int],
) -> str:
    cells: list[str] = []
    at = block["start"]
    for start, end in spans:
        first, last = max(start, block["start"]), min(end, block["end"])
        if first >= last:
            continue
        if first > at:
            cells.append(_fold(first - at))
        cells.extend(_cells(payload, block, range(first, last), marks, rule))
        at = last
    if at < block["end"]:
        cells.append(_fold(block["end"] - at))
    size = block["end"] - block["start"]
    unit = "token" if payload["unit"] == "token" else "piece"
    kind = f"{_EDGES.get(block['channel'], '')} {escape(block['kind'])}"
    return (
        f"<section class='block {kind}'><header>{_title(payload, block)} "
        f"<small>{count(size, unit)}</small></header>"
        f"<div class='cells'>{''.join(cells)}</div></section>"
    )


def _header(payload: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    ids = payload["ids"]
    return (
        "" if ids is None else header_words(ids[block["start"] : min(block["end"], block["start"] + _HEADER)])
    )


def _title(payload: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    if block["kind"] == "refused":
        return f"rejected by the parser: {html_text(block['reason'])}"
    if block["kind"] == "message" and not block["in_body"]:
        return html_text(f"header: {_header(payload, block)} (open)")
    parts = [block["channel"] or ""]
    if block["recipient"]:
        parts.append(f"to {block['recipient']}")
    if block["role"] and block["role"] != "assistant":
        parts.insert(0, block["role"])
    if not block["complete"]:
        parts.append("(open)")
    return html_text(" ".join(parts))


def _fold(hidden: int) -> str:
    return f"<span class='fold'>… {hidden:,} more …</span>"


def _cells(
    payload: Mapping[str, Any],
    block: Mapping[str, Any],
    cells: range,
    marks: Mapping[int, str],
    rule: set[int],
) -> Iterator[str]:
    ids, texts, vocab = payload["ids"], payload["texts"], payload["vocab"] or {}
    lanes = [list(_lane(ribbon["runs"], cells)) for ribbon in payload["ribbons"]]
    unsent = {cell["at"]: cell for cell in payload["unsent"]}
    uncertain = [range(*span) for span in payload["uncertain"]]
    culprit = range(*(block.get("culprit") or (0, 0)))
    for number, cell in enumerate(cells):
        if (missing := unsent.get(cell)) is not None:
            yield _unsent(missing)
            continue
        token_id = None if ids is None else ids[cell]
        entry = vocab.get(str(token_id)) or [None, ""]
        text = texts.get(str(cell), entry[0])
        label = text[:_CELL_CHARACTERS] if text else f"0x{entry[1]}" if entry[1] else ""
        kinds = [_kind(block, cell, token_id)]
        if cell in rule:
            kinds.append("first")
        if cell in marks:
            kinds.append("marked")
        if cell in culprit:
            kinds.append("culprit")
        ribbons = "".join(
            f"<i class='{kind}'>{label}</i>" for kind, label in (lane[number] for lane in lanes)
        )
        title = f"token {cell}" if ids is not None else f"piece {cell}"
        if cell in marks:
            title += f": {marks[cell]}"
        hidden = token_id is None or any(cell in span for span in uncertain)
        shown_id = "" if hidden else f"<sub>{token_id}</sub>"
        yield (
            f"<span class='cell {' '.join(kinds)}' title='{escape(title)}'>"
            f"<b>{html_text(label, visible_space=True)}</b>{shown_id}{ribbons}</span>"
        )


def _unsent(cell: Mapping[str, Any]) -> str:
    """A cell for what the server never sent: a gap, or the rejected token or header."""
    label = html_text(cell["text"][:_CELL_CHARACTERS], visible_space=True) if cell["text"] else "not sent"
    shown_id = "" if cell["id"] is None else f"<sub>{int(cell['id'])}</sub>"
    return (
        f"<span class='cell unsent {escape(cell['kind'])}' title='{escape(cell['words'])}'>"
        f"<b>{label}</b>{shown_id}</span>"
    )


def _kind(block: Mapping[str, Any], cell: int, token_id: int | None) -> str:
    if block["kind"] == "refused":
        return "out"
    if token_id in MARKERS and (cell < block["body"] or cell == block["end"] - 1):
        return "marker"
    return "head" if cell < block["body"] else "body"


def _legend(payload: Mapping[str, Any]) -> str:
    """The meaning of those ribbons and cells that occur."""
    classes = {_ribbon(run[2], run[3]) for lane in payload["ribbons"] for run in lane["runs"]}
    if any(kind.endswith(" wrong") for kind in classes):
        classes.add("wrong")
    entries = [(kind, words) for kind, words in _WORDS.items() if kind in classes]
    samples = "".join(f"<li><i class='{kind}'></i> {words}</li>" for kind, words in entries)
    if payload["ids"] is not None:
        samples += "<li><b class='marker'>ab</b> special token</li><li><b class='head'>ab</b> header</li>"
    if payload["findings"]:
        samples += "<li><b class='marked'>ab</b> belongs to a finding</li>"
    lanes = [html_text(str(lane["label"])) for lane in payload["ribbons"]]
    rows = f"<p class='quiet'>Ribbons from top to bottom: {', '.join(lanes)}.</p>" if len(lanes) > 1 else ""
    return f"<ul class='legend'>{samples}</ul>{rows}" if lanes else ""


def _lane(runs: Sequence[Sequence[Any]], cells: range) -> Iterator[tuple[str, str]]:
    """Class of the ribbon below each cell, and a label where a wrong run begins."""
    labelled = -1
    at = max(bisect_right(runs, cells.start, key=lambda run: run[0]) - 1, 0)
    for cell in cells:
        while at < len(runs) and runs[at][1] <= cell:
            at += 1
        if at < len(runs) and runs[at][0] <= cell:
            yield (
                _ribbon(runs[at][2], runs[at][3]),
                "" if labelled == at else _label(runs[at][2], runs[at][3]),
            )
            labelled = at
        else:
            yield "none", ""


def _label(field: str | None, state: str) -> str:
    """What is wrong with a run; empty if nothing is."""
    if field is None:
        return _WORDS[_ribbon(field, state)]
    return "" if state in {"ok", "unknown"} else f"in {html_text(field[:_CELL_CHARACTERS])}"


def _ribbon(field: str | None, state: str) -> str:
    """One of our class names, never the name of a field as received."""
    if field is None:
        return "lost" if state == "dropped" else "unserved"
    colour = "tool" if "[" in field else field if field in {"reasoning", "content", "text"} else "other"
    return colour if state in {"ok", "unknown"} else f"{colour} wrong"
