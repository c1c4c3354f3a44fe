"""A saved JSON body: an unstreamed response, or an error."""

from typing import Final

from inspector.capture.capture import Capture
from inspector.files.importers.dumps import captures_of
from inspector.files.importers.importer import Content, Importer
from inspector.files.importers.payloads import answer, is_error
from inspector.protocol.wire.endpoints import endpoint_of_payload


def sniff(content: Content) -> bool:
    """True for an object that an endpoint sends, and for an error of vLLM or FastAPI."""
    return endpoint_of_payload(content.row) is not None or is_error(content.row)


def read(content: Content) -> list[Capture]:
    """One capture with one `BODY`."""
    payload = content.row if _is_utf8(content.data) else None
    return captures_of(answer(content.data, content.name, payload), content)


def _is_utf8(data: bytes) -> bool:
    """False where the text that clients get is not the one that Python's JSON parser read."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:  # lone surrogates
        return False
    return b"\x00" not in data  # UTF-16 or UTF-32 without a byte order mark


BODY: Final = Importer(
    name="body",
    label="",
    files="an unstreamed response, an error response",
    becomes="one `body`; for an error alone the endpoint is assumed to be chat, with a note",
    suffixes=(".json",),
    begins=rb"\{",
    sniff=sniff,
    read=read,
)
