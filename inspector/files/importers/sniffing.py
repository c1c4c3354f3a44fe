"""Import of other file formats; the format is detected from the content, never from the name.

`table` has the formats, `installed` those of other distributions. Anything else is rejected with one
sentence. `store` decompresses files and limits
their size.
"""

import re
from typing import Final, NoReturn

from inspector.capture.capture import Capture
from inspector.capture.errors import CaptureError
from inspector.files.importers.importer import Content, read_as, refuse_binary
from inspector.files.importers.installed import read_by_installed
from inspector.files.importers.payloads import shown
from inspector.files.importers.server_log import is_log_without_ids
from inspector.files.importers.table import FORMATS, IMPORTERS

_LINT: Final = ", or check an evaluation log or a data set with `python -m inspector lint`"
_BOMS_16: Final = (b"\xff\xfe", b"\xfe\xff")


def sniff_and_read(data: bytes, name: str) -> list[Capture]:
    """The captures in a file's content, one or more; `name` is for errors.

    Raises CaptureError for unsupported formats, and for damage that would look like lost tokens.
    """
    if data.startswith(_BOMS_16):  # PowerShell's `curl > file` writes UTF-16
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    content = Content(data.removeprefix(b"\xef\xbb\xbf"), name, FORMATS)
    if not content.data or content.data.isspace():
        raise content.unsupported("the file is empty")
    importer = next((row for row in IMPORTERS if row.sniff(content)), None)
    if importer is not None:
        return read_as(importer, content)
    captures = read_by_installed(content)
    return _reject(content) if captures is None else captures


def _reject(content: Content) -> NoReturn:
    """Say what content is that no importer reads."""
    if content.json_error is not None:
        if content.nul_at >= 0:
            raise content.unsupported("NUL bytes in the JSON: the file is damaged") from content.json_error
        raise content.json_error
    if content.begins_as_json:
        keys = ", ".join(shown(key) for key in list(content.row)[:4]) or "none"
        error = content.unsupported(f"unrecognized JSON object (keys: {keys})")
        raise CaptureError(content.name, error.problem.removeprefix(f"{content.name}: "), hint=_LINT)
    refuse_binary(content.data, content.name, FORMATS)
    if content.nul_at >= 0:
        raise content.unsupported(f"NUL byte at offset {content.nul_at}: this is not a text file")
    if is_log_without_ids(content):
        raise CaptureError(
            content.name,
            "a vLLM log without token IDs; log them with --enable-log-requests --enable-log-outputs",
            hint=", or read this log with `python -m inspector diagnose`",
        )
    if re.match(rb"\s*<(?:!doctype html|html)\b", content.data, re.IGNORECASE):
        raise content.unsupported("a web page; check the address that it came from")
    raise CaptureError(
        content.name,
        f"unrecognized format; use {FORMATS}, or save the raw response (curl -N > file)",
        hint=", or read an error message or a log with `python -m inspector diagnose`",
    )
