"""Other people's files to captures: what a file is decides its content, never its name.

Reads captures of our own, `curl` dumps, HAR files, lists of token ids, vLLM server logs and the JSON
files of the first lab recordings. Anything else is refused with one sentence. Compressed files are
unpacked by `store`, which bounds them.
"""

import re
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from typing import Final

from inspector.capture import Capture, parse
from inspector.errors import CaptureError
from inspector.importers.dumps import read_dump
from inspector.importers.har import is_har, read_har
from inspector.importers.ids import ID_KEYS, is_id_text, read_id_list, read_id_object, read_id_text
from inspector.importers.payloads import KINDS, is_error, loads, shown
from inspector.importers.recorded import is_recorded, read_recorded
from inspector.importers.server_log import is_server_log, read_server_log
from inspector.wire.endpoints import endpoint_of_payload

__all__ = ["refuse_binary", "sniff_and_read"]

_OWN: Final = re.compile(rb'\s*\{[^\n]{0,1000000}?"harmony_capture"\s*:')
_DUMP: Final = re.compile(rb"\s*(?:HTTP/[0-9.]+ [0-9]{3}|(?:data|event|id|retry)?:)")
_LATER_DUMP: Final = re.compile(rb"[\r\n](?:HTTP/[0-9.]+ [0-9]{3}|(?:data|event): ?[\[{a-z])")
_SERVER_LINE: Final = re.compile(
    rb"vLLM API server version |\((?:APIServer|EngineCore)[^()\n]{0,40} ?pid=[0-9]"
)
_HEAD: Final = 65536
_MAGIC: Final = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"RIFF": "a picture or sound file",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive; unpack it first, or give",
    b"\x1f\x8b": "a gzip file inside another file; unpack it first, or give",
    b"\x28\xb5\x2f\xfd": "a zstd file inside another file; unpack it first, or give",
    b"BZh": "a bzip2 file; unpack it first, or give",
    b"\xfd7zXZ\x00": "an xz file; unpack it first, or give",
    b"SQLite format 3": "a database",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file",
}
_BOMS_16: Final = (b"\xff\xfe", b"\xfe\xff")


def sniff_and_read(content: bytes, name: str) -> list[Capture]:
    """The captures in a file's content, one or more; `name` is for errors.

    Raises CaptureError for what is none of the kinds read, and for damage that would pass for a loss.
    """
    if content.startswith(_BOMS_16):  # PowerShell's `curl > file` writes UTF-16
        content = content.decode("utf-16", "replace").encode("utf-8", "replace")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content or content.isspace():
        raise CaptureError(name, f"the file is empty; give {KINDS}")
    if _OWN.match(content):
        return [parse(_lines(content, name), name)]
    if _DUMP.match(content):
        return read_dump(content, name)
    if content.lstrip().startswith((b"{", b"[")):
        return _read_json(content, name)
    if is_id_text(content):
        return [read_id_text(content, name)]
    refuse_binary(content, name)
    at = content.find(b"\x00", 0, _HEAD)
    if at >= 0:
        raise CaptureError(name, f"a NUL byte at {at}: this is no text; give {KINDS}")
    if is_server_log(content):
        return read_server_log(content, name)
    if found := _LATER_DUMP.search(content, 0, _HEAD):
        return read_dump(content[found.start() + 1 :], name)
    if _SERVER_LINE.search(content, 0, _HEAD):
        raise CaptureError(
            name,
            "a vLLM log without token ids (--enable-log-requests --enable-log-outputs writes them): "
            "no capture can be made of it; `python -m inspector diagnose` reads it",
        )
    raise CaptureError(
        name, f"neither {KINDS.replace(' or ', ' nor ')}; save the server's bytes as they come"
    )


def _read_json(content: bytes, name: str) -> list[Capture]:
    try:
        row = loads(content, name)
    except CaptureError as error:
        if is_id_text(content) and b"[[" not in content.translate(None, b" \t\r\n"):
            return [read_id_text(content, name)]
        if b"\x00" in content[:_HEAD]:
            raise CaptureError(name, f"NUL bytes within JSON: the file is damaged; give {KINDS}") from error
        raise
    if isinstance(row, list):
        return [read_id_list(row, content.decode("utf-8", "replace").strip(), name)]
    if is_har(row):
        return read_har(row, name)
    if is_recorded(row):
        return [read_recorded(row, name)]
    if endpoint_of_payload(row) is None and any(isinstance(row.get(key), list) for key in ID_KEYS):
        return [read_id_object(row, name)]
    if endpoint_of_payload(row) is not None or is_error(row):
        return read_dump(content, name)
    keys = ", ".join(shown(key) for key in list(row)[:4]) or "none"
    raise CaptureError(name, f"a JSON object of an unknown kind (its keys: {keys}); give {KINDS}")


def refuse_binary(content: bytes, name: str, kinds: str = KINDS) -> None:
    """Raise CaptureError for a picture, an archive and the like; `kinds` is what may be given instead."""
    for magic, words in _MAGIC.items():
        if content.startswith(magic):
            joint = "" if words.endswith("give") else "; give"
            raise CaptureError(name, f"this is {words}{joint} {kinds}")


def _lines(content: bytes, name: str) -> Iterator[str]:
    """The lines of a capture file, one at a time: the whole text never stands in memory twice."""
    if not content.isascii():
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.end < len(content):  # else the file was cut within a character of its last line
                line = content.count(b"\n", 0, error.start) + 1
                why = f"byte {error.start} is no UTF-8; the file is damaged, record again"
                raise CaptureError(name, why, line=line) from error
    return iter(TextIOWrapper(BytesIO(content), encoding="utf-8", errors="replace", newline="\n"))
