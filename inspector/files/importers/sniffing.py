"""Import of other file formats; the format is detected from the content, never from the name.

Reads our own captures, `curl` output, HAR files, lists of token IDs, vLLM server logs and the JSON
files of the first lab recordings. Anything else is rejected with one sentence. `store` decompresses
files and limits their size.
"""

import re
from typing import Final

from inspector.capture.bounds import TOKENS, over
from inspector.capture.capture import Capture, parse_content
from inspector.capture.errors import CaptureError
from inspector.files.importers.dumps import read_dump
from inspector.files.importers.har import is_har, read_har
from inspector.files.importers.ids import ID_KEYS, is_id_text, read_id_list, read_id_object, read_id_text
from inspector.files.importers.payloads import KINDS, is_error, loads, shown
from inspector.files.importers.recorded import is_recorded, read_recorded
from inspector.files.importers.server_log import is_server_log, read_server_log
from inspector.protocol.wire.endpoints import endpoint_of_payload

_OWN: Final = re.compile(rb'\s*\{[^\n]{0,1000000}?"harmony_capture"\s*:')
_DUMP: Final = re.compile(rb"\s*(?:HTTP/[0-9.]+ [0-9]{3}|(?:data|event|id|retry)?:)")
_LATER_DUMP: Final = re.compile(rb"[\r\n](?:HTTP/[0-9.]+ [0-9]{3}|(?:data|event): ?[\[{a-z])")
_SERVER_LINE: Final = re.compile(
    rb"vLLM API server version |\((?:APIServer|EngineCore)[^()\n]{0,40} ?pid=[0-9]"
)
_HEAD: Final = 65536
_MAGIC: Final = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"RIFF": "an image or audio file",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive; extract it first, or use",
    b"\x1f\x8b": "a gzip file inside another file; decompress it first, or use",
    b"\x28\xb5\x2f\xfd": "a zstd file inside another file; decompress it first, or use",
    b"BZh": "a bzip2 file; decompress it first, or use",
    b"\xfd7zXZ\x00": "an xz file; decompress it first, or use",
    b"SQLite format 3": "a database",
    b"\x7fELF": "a program",
    b"PAR1": "a Parquet file",
}
_BOMS_16: Final = (b"\xff\xfe", b"\xfe\xff")


def sniff_and_read(content: bytes, name: str) -> list[Capture]:
    """The captures in a file's content, one or more; `name` is for errors.

    Raises CaptureError for unsupported formats, and for damage that would look like lost tokens.
    """
    if content.startswith(_BOMS_16):  # PowerShell's `curl > file` writes UTF-16
        content = content.decode("utf-16", "replace").encode("utf-8", "replace")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content or content.isspace():
        raise CaptureError(name, f"the file is empty; use {KINDS}")
    if _OWN.match(content):
        _check_utf8(content, name)
        return [parse_content(content, name)]
    if _DUMP.match(content):
        return read_dump(content, name)
    if content.lstrip().startswith((b"{", b"[")):
        return _read_json(content, name)
    if is_id_text(content):
        return [read_id_text(content, name)]
    refuse_binary(content, name)
    at = content.find(b"\x00", 0, _HEAD)
    if at >= 0:
        raise CaptureError(name, f"NUL byte at offset {at}: this is not a text file; use {KINDS}")
    if is_server_log(content):
        return read_server_log(content, name)
    if found := _LATER_DUMP.search(content, 0, _HEAD):
        return read_dump(content[found.start() + 1 :], name)
    if _SERVER_LINE.search(content, 0, _HEAD):
        raise CaptureError(
            name,
            "a vLLM log without token IDs; log them with --enable-log-requests --enable-log-outputs",
            hint=", or read this log with `python -m inspector diagnose`",
        )
    raise CaptureError(name, f"unrecognized format; use {KINDS}, or save the raw response (curl -N > file)")


def _read_json(content: bytes, name: str) -> list[Capture]:
    if content.count(b",", 0, 64 * TOKENS) > TOKENS and is_id_text(content):
        raise CaptureError(name, over(TOKENS, "token IDs"))
    try:
        row = loads(content, name)
    except CaptureError as error:
        if is_id_text(content) and b"[[" not in content.translate(None, b" \t\r\n"):
            return [read_id_text(content, name)]
        if b"\x00" in content[:_HEAD]:
            raise CaptureError(name, f"NUL bytes in the JSON: the file is damaged; use {KINDS}") from error
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
    raise CaptureError(name, f"unrecognized JSON object (keys: {keys}); use {KINDS}")


def refuse_binary(content: bytes, name: str, kinds: str = KINDS) -> None:
    """Raise CaptureError for images, archives and the like; `kinds` names the supported formats."""
    for magic, words in _MAGIC.items():
        if content.startswith(magic):
            joint = "" if words.endswith("use") else "; use"
            raise CaptureError(name, f"this is {words}{joint} {kinds}")


def _check_utf8(content: bytes, name: str) -> None:
    """Raise CaptureError for bytes that are not UTF-8, unless the file is cut off in its last character."""
    if content.isascii():
        return
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(content):
            line = content.count(b"\n", 0, error.start) + 1
            why = f"byte {error.start} is not valid UTF-8; the file is damaged, record it again"
            raise CaptureError(name, why, line=line) from error
