"""`python -m inspector`: the commands print the same rows that the pages show."""

import os
import sys
from collections.abc import Sequence

from inspector.capture.errors import InspectorError
from inspector.commands.table import PROGRAM
from inspector.commands.terminal import called, tell


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; 0 no findings, 1 findings, 2 an input or server failed (one line on stderr)."""
    try:
        code = PROGRAM(called(), sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except InspectorError as error:
        tell(f"inspector: {error}")
        return 2
    except MemoryError:
        tell("inspector: not enough memory; raise the limit (ulimit -v), or pass smaller files")
        return 2
    except BrokenPipeError:  # `inspector tokens FILE | head`: the reader has stopped
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        tell("inspector: interrupted")
        return 2
    return code
