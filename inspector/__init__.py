"""Inspect gpt-oss (Harmony) token streams from vLLM: what the model generated, what the server delivered.

    import inspector

    capture = inspector.load("stream.jsonl")
    seen = inspector.inspect(capture)
    print(seen.verdict.sentence)

These names are the library; docs/library.md has an example of each. Modules below may change.
"""

from inspector.analysis.audit import Code, Finding, Kind, Severity
from inspector.analysis.audit.verdict import Level, Verdict
from inspector.analysis.reading import Evidence, Reading
from inspector.capture.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.capture.errors import InspectorError
from inspector.capture.version import __version__
from inspector.files.store import load, load_all, loads, loads_all, save
from inspector.inspection.compare import Comparison, compare
from inspector.inspection.inspection import Inspection, inspect
from inspector.inspection.live import LiveInspection, follow
from inspector.issues import Diagnosis, diagnose_capture, diagnose_text
from inspector.net.client.transport import async_recording_client, recording_client
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
    "tokens",
]
