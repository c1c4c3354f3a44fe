"""Other people's files to captures: what a file is decides its content, never its name."""

from inspector.files.importers.importer import Content, Importer, refuse_binary
from inspector.files.importers.sniffing import sniff_and_read
from inspector.files.importers.table import BEGINS, FORMATS, IMPORTERS

__all__ = ["BEGINS", "FORMATS", "IMPORTERS", "Content", "Importer", "refuse_binary", "sniff_and_read"]
