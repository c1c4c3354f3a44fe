"""Inspect gpt-oss (Harmony) token streams from vLLM: what the model generated, what the server delivered.

    import inspector

    capture, = inspector.load("stream.jsonl")
    seen = inspector.inspect(capture)
    print(seen.verdict.sentence)

These names are the library; docs/library.md has an example of each. Modules below may change.
"""

from inspector.audit import Code, Finding, Kind, Severity
from inspector.audit.verdict import Level, Verdict
from inspector.capture import Capture, End, Endpoint, Event, EventKind, Header
from inspector.client.transport import async_recording_client, recording_client
from inspector.compare import Comparison, compare
from inspector.diagnosis import Diagnosis, diagnose_capture, diagnose_text
from inspector.errors import InspectorError
from inspector.inspection import Inspection, inspect
from inspector.reading import Evidence, Reading
from inspector.report import html_report, markdown_report
from inspector.store import load, loads, save

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
    "Reading",
    "Severity",
    "Verdict",
    "async_recording_client",
    "compare",
    "diagnose_capture",
    "diagnose_text",
    "html_report",
    "inspect",
    "load",
    "loads",
    "markdown_report",
    "recording_client",
    "save",
]
