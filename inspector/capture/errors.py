"""The errors of this package, one tree.

    InspectorError
    ├── CaptureError      a capture or imported file cannot be read; names the file and the place
    ├── StoreError        a disk operation failed: file missing, not writable, disk full
    ├── ConnectionFailed  a server cannot be reached or rejected the request
    └── LabError          a vLLM server of the lab cannot be installed, started or reached

Content (what a model or a server sent) never raises: it becomes a finding. These errors are for
mistakes of the caller, the disk and the network. Each message names the place and the fix and
can be shown to users as it is.
"""


class InspectorError(Exception):
    """Base class; its text is one sentence for users."""


class CaptureError(InspectorError):
    """A file cannot be read as a capture; `line` counts from 1, or is 0 if no single line is the problem.

    `hint` is what else to do on the command line; `problem` is the text without it, for pages.
    """

    def __init__(self, name: str, why: str, *, line: int = 0, hint: str = "") -> None:
        place = f"{name}:{line}" if line else name
        self.problem = f"{place}: {why}"
        super().__init__(self.problem + hint)
        self.name = name
        self.line = line


class StoreError(InspectorError):
    """A disk operation failed; the message names the path and the fix.

    `errno` is the operating system's code, where it gave one.
    """

    def __init__(self, message: str, *, errno: int | None = None) -> None:
        super().__init__(message)
        self.errno = errno


class ConnectionFailed(InspectorError):
    """A server cannot be reached or rejected the request; the message names the address and the fix."""


class LabError(InspectorError):
    """A vLLM server of the lab cannot be installed, started or reached."""
