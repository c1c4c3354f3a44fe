"""Other people's files to captures: what a file is decides its content, never its name."""

from inspector.files.importers.sniffing import refuse_binary, sniff_and_read

__all__ = ["refuse_binary", "sniff_and_read"]
