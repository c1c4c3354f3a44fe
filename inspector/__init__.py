"""Inspect gpt-oss (Harmony) token streams from vLLM: what the model generated, what the server delivered.

    import inspector

    capture = inspector.load("stream.jsonl")
    seen = inspector.inspect(capture)
    print(seen.verdict.sentence)

These names are the library; docs/library.md has an example of each. Modules below may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from inspector.capture.version import __version__

if TYPE_CHECKING:
    from inspector.analysis.audit import Code, Finding, Kind, Severity
    from inspector.analysis.audit.verdict import Level, Verdict
    from inspector.analysis.reading import Evidence, Reading
    from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
    from inspector.capture.errors import InspectorError
    from inspector.files.store import load, load_all, loads, loads_all, save
    from inspector.inspection.compare import Comparison, compare
    from inspector.inspection.inspection import Inspection, inspect
    from inspector.inspection.live import LiveInspection, follow
    from inspector.issues import Diagnosis, diagnose_capture
    from inspector.issues.texts.diagnose import diagnose_text
    from inspector.net.client.transport import async_recording_client, recording_client
    from inspector.views.frames import to_pandas
    from inspector.views.report import html_report, markdown_report
    from inspector.views.rows import audit_dict
    from inspector.views.tokens import tokens

__all__ = [
    "Capture",
    "Code",
    "Comparison",
    "Diagnosis",
    "End",
    "Endpoint",
    "Event",
    "EventKind",
    "Evidence",
    "Finding",
    "Header",
    "Inspection",
    "InspectorError",
    "Kind",
    "Level",
    "LiveInspection",
    "Reading",
    "Severity",
    "Verdict",
    "__version__",
    "async_recording_client",
    "audit_dict",
    "compare",
    "diagnose_capture",
    "diagnose_text",
    "follow",
    "html_report",
    "inspect",
    "load",
    "load_all",
    "loads",
    "loads_all",
    "markdown_report",
    "recording_client",
    "save",
    "to_pandas",
    "tokens",
]

_MODULES: Final = {
    "Capture": "capture.capture",
    "Code": "analysis.audit",
    "Comparison": "inspection.compare",
    "Diagnosis": "issues",
    "End": "capture.capture",
    "Endpoint": "capture.capture",
    "Event": "capture.capture",
    "EventKind": "capture.capture",
    "Evidence": "analysis.reading",
    "Finding": "analysis.audit",
    "Header": "capture.capture",
    "Inspection": "inspection.inspection",
    "InspectorError": "capture.errors",
    "Kind": "analysis.audit",
    "Level": "analysis.audit.verdict",
    "LiveInspection": "inspection.live",
    "Reading": "analysis.reading",
    "Severity": "analysis.audit",
    "Verdict": "analysis.audit.verdict",
    "async_recording_client": "net.client.transport",
    "audit_dict": "views.rows",
    "compare": "inspection.compare",
    "diagnose_capture": "issues",
    "diagnose_text": "issues.texts.diagnose",
    "follow": "inspection.live",
    "html_report": "views.report",
    "inspect": "inspection.inspection",
    "load": "files.store",
    "load_all": "files.store",
    "loads": "files.store",
    "loads_all": "files.store",
    "markdown_report": "views.report",
    "recording_client": "net.client.transport",
    "save": "files.store",
    "to_pandas": "views.frames",
    "tokens": "views.tokens",
}
"""Where each name is from: it is loaded when it is first used, as all of them take half a second."""


if not TYPE_CHECKING:  # a type checker would take any name for one of them

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
