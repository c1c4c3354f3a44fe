"""Blocks of cells: messages, rejected runs, fields."""

from collections.abc import Sequence

from inspector.analysis.audit.rejection import culprit
from inspector.protocol.harmony.parser_errors import parser_error
from inspector.protocol.harmony.transcript import Message, RejectedRun
from inspector.views.payload import Block


def block(item: Message | RejectedRun, ids: Sequence[int]) -> Block:
    """The block of a message or of a rejected run; `culprit` is what the parser rejected in it."""
    if isinstance(item, RejectedRun):
        error = parser_error(item.words) if item.in_header else None
        blamed = None if error is None else culprit(ids, item.start, item.at, error)
        return {
            "kind": "refused",
            "start": item.start,
            "body": item.at,
            "end": item.end,
            "role": None,
            "channel": None,
            "recipient": None,
            "content_type": None,
            "complete": False,
            "reason": item.words,
            "state": str(item.state),
            "culprit": blamed or (None if item.in_header else (item.at, item.at + 1)),
        }
    return {
        "kind": "message",
        "start": item.start,
        "body": item.body,
        "end": item.end,
        "role": item.header.role,
        "channel": item.header.channel,
        "recipient": item.header.recipient,
        "content_type": item.header.content_type,
        "in_body": item.in_body,
        "complete": item.complete,
        "reason": "",
    }


def field_block(start: int, end: int, field: str) -> Block:
    """The block of pieces of one field."""
    return {
        "kind": "field",
        "start": start,
        "body": start,
        "end": end,
        "role": None,
        "channel": field,
        "recipient": None,
        "content_type": None,
        "complete": True,
        "reason": "",
    }
