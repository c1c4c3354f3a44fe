"""Inspect gpt-oss (Harmony) token streams from vLLM: what the model emitted, what was delivered.

    import inspector

    capture, = inspector.load("stream.jsonl")
    seen = inspector.inspect(capture)
    print(seen.verdict.sentence)

These names are the public surface; modules below may change.
"""

from inspector.audit import Finding, Kind, Severity, audit
from inspector.audit.rejection_findings import rejected
from inspector.audit.verdict import Level, Verdict, verdict
from inspector.capture import Capture, End, Endpoint, Event, EventKind, Header, parse, render
from inspector.client.address import Server
from inspector.client.asking import list_models
from inspector.client.request import LiveRequest, parse_messages, parse_tools
from inspector.client.transport import async_recording_client, recording_client
from inspector.compare import Comparison, Lane, Piece, Repeats, compare, compare_all, pieces, repeats
from inspector.diagnosis import (
    Answer,
    Diagnosis,
    DiagnosisOutcome,
    Failure,
    Issue,
    Route,
    diagnose_capture,
    diagnose_text,
    diagnosis_row,
    lines_of_file,
    unpacked,
)
from inspector.doctor import Check, CheckState, Checkup, examine
from inspector.ending import Ending
from inspector.errors import CaptureError, ConnectionFailed, InspectorError, LabError, StoreError
from inspector.formats import clip, duration, figure, number, plural
from inspector.hosts import trusted_hosts
from inspector.inspection import Inspection, inspect
from inspector.lab.results import Run as MatrixRun
from inspector.lab.results import all_runs as matrix_runs
from inspector.lab.results import capture_of as matrix_capture
from inspector.lab.score import Outcome
from inspector.lab.scripts import Script
from inspector.lab.scripts import load as lab_scripts
from inspector.lab.summary import release_rows, release_words
from inspector.metrics import Figures, figures
from inspector.playback import FAULTS as playback_faults  # noqa: N811 -- the door has no constants
from inspector.playback import playback_routes
from inspector.reading import ChoiceReading, Evidence, Reader, Reading, read
from inspector.report import html_report, markdown_report
from inspector.runs.feed import runs_routes
from inspector.runs.registry import Registry, registry
from inspector.runs.run import Pace, RunState
from inspector.runs.run import Run as LiveRun
from inspector.runs.trial import RUNS_AT_MOST as runs_at_most  # noqa: N811 -- the door has no constants
from inspector.runs.trial import Trial, brought
from inspector.store import Builtin, builtin, load, loads, open_writer, save
from inspector.tap import DashboardTap, Upstream, configured_upstreams
from inspector.tokens import Token
from inspector.views.comparison_rows import comparison_row, comparison_summary, run_rows, timing_rows
from inspector.views.comparison_strip import comparison_strip
from inspector.views.growth import now
from inspector.views.payload import Head as StripHead
from inspector.views.payload import Payload as StripPayload
from inspector.views.rows import (
    audit_row,
    event_rows,
    field_rows,
    finding_row,
    finding_words,
    message_rows,
    token_rows,
)
from inspector.views.strip import empty_strip, strip
from inspector.wire.endpoints import asked_endpoints, spec_of

__all__ = [
    "Answer",
    "Builtin",
    "Capture",
    "CaptureError",
    "Check",
    "CheckState",
    "Checkup",
    "ChoiceReading",
    "Comparison",
    "ConnectionFailed",
    "DashboardTap",
    "Diagnosis",
    "DiagnosisOutcome",
    "End",
    "Ending",
    "Endpoint",
    "Event",
    "EventKind",
    "Evidence",
    "Failure",
    "Figures",
    "Finding",
    "Header",
    "Inspection",
    "InspectorError",
    "Issue",
    "Kind",
    "LabError",
    "Lane",
    "Level",
    "LiveRequest",
    "LiveRun",
    "MatrixRun",
    "Outcome",
    "Pace",
    "Piece",
    "Reader",
    "Reading",
    "Registry",
    "Repeats",
    "Route",
    "RunState",
    "Script",
    "Server",
    "Severity",
    "StoreError",
    "StripHead",
    "StripPayload",
    "Token",
    "Trial",
    "Upstream",
    "Verdict",
    "asked_endpoints",
    "async_recording_client",
    "audit",
    "audit_row",
    "brought",
    "builtin",
    "clip",
    "compare",
    "compare_all",
    "comparison_row",
    "comparison_strip",
    "comparison_summary",
    "configured_upstreams",
    "diagnose_capture",
    "diagnose_text",
    "diagnosis_row",
    "duration",
    "empty_strip",
    "event_rows",
    "examine",
    "field_rows",
    "figure",
    "figures",
    "finding_row",
    "finding_words",
    "html_report",
    "inspect",
    "lab_scripts",
    "lines_of_file",
    "list_models",
    "load",
    "loads",
    "markdown_report",
    "matrix_capture",
    "matrix_runs",
    "message_rows",
    "now",
    "number",
    "open_writer",
    "parse",
    "parse_messages",
    "parse_tools",
    "pieces",
    "playback_faults",
    "playback_routes",
    "plural",
    "read",
    "recording_client",
    "registry",
    "rejected",
    "release_rows",
    "release_words",
    "render",
    "repeats",
    "run_rows",
    "runs_at_most",
    "runs_routes",
    "save",
    "spec_of",
    "strip",
    "timing_rows",
    "token_rows",
    "trusted_hosts",
    "unpacked",
    "verdict",
]
