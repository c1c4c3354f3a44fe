"""The errors of this package, one tree.

    InspectorError
    ├── CaptureError      a capture or foreign file cannot be read; names file and place
    ├── StoreError        the disk refused: missing, not writable, full
    ├── ConnectionFailed  a server cannot be reached or refused the request
    └── LabError          a real vLLM of the lab cannot be installed, started or asked

Content (what a model or a server sent) never raises: it becomes a finding. These errors are for
our caller's mistakes, for disk and for network. Each message names the place and the remedy and
can be shown to a person as it is.
"""

__all__ = ["CaptureError", "ConnectionFailed", "InspectorError", "LabError", "StoreError"]


class InspectorError(Exception):
    """Anything that this package refuses to do; its text is one sentence for a person."""


class CaptureError(InspectorError):
    """A file cannot be read as a capture; `line` counts from 1, 0 when no line is to blame."""

    def __init__(self, name: str, why: str, *, line: int = 0) -> None:
        place = f"{name}:{line}" if line else name
        super().__init__(f"{place}: {why}")
        self.name = name
        self.line = line


class StoreError(InspectorError):
    """The disk refused: the message names the path and what to do."""


class ConnectionFailed(InspectorError):
    """A server cannot be reached, or refused: the message names the address and what to do."""


class LabError(InspectorError):
    """A real vLLM of the lab cannot be installed, started or asked."""
