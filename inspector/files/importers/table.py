"""The table of file formats: a new one is a module beside this one and a row in `IMPORTERS`."""

import re
from typing import Final

from inspector.capture.formats import listed
from inspector.files.importers.bodies import BODY
from inspector.files.importers.dumps import CURL
from inspector.files.importers.embedded import embedded
from inspector.files.importers.har import HAR
from inspector.files.importers.harmony_text import HARMONY_TEXT
from inspector.files.importers.ids import IDS
from inspector.files.importers.importer import Importer
from inspector.files.importers.own import OWN
from inspector.files.importers.printed import PRINTED
from inspector.files.importers.recorded import RECORDED
from inspector.files.importers.rows import ROWS
from inspector.files.importers.server_log import SERVER_LOG
from inspector.files.importers.translated import TRANSLATED

_WHOLE: Final[tuple[Importer, ...]] = (
    OWN,
    CURL,
    HAR,
    RECORDED,
    ROWS,
    TRANSLATED,
    IDS,
    BODY,
    HARMONY_TEXT,
    SERVER_LOG,
    PRINTED,
)

IMPORTERS: Final = (*_WHOLE, embedded(_WHOLE))
"""In the order in which they are asked: what is certain first, text that anything may hold last."""

FORMATS: Final = listed([row.label for row in IMPORTERS if row.label], "or")
"""The supported formats, for error messages and help."""

BEGINS: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:%b)" % b"|".join(dict.fromkeys(row.begins for row in IMPORTERS if row.begins))
)
"""How a file begins that may hold a response; any other is text."""
