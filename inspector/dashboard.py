"""The second door: what `app.py` and `pages/` need beyond the library. Other programs should not use it.

    from inspector import dashboard

    run = dashboard.registry().start(server, request)

Rows and payloads for the pages, live runs, the routes of the dashboard's own port, results of the lab.
"""

from inspector.analysis.audit.kinds import kind_label
from inspector.analysis.audit.rejection_findings import rejected
from inspector.analysis.audit.wording import explain
from inspector.analysis.event_schema import Violation
from inspector.analysis.prompt import FirstDifference, Prompt
from inspector.analysis.reading import ChoiceReading
from inspector.capture.collector import collector_paused
from inspector.capture.errors import CaptureError
from inspector.capture.formats import clip, duration, figure, listed, number, plural
from inspector.data.scan import GROUPS as LIBRARY_GROUPS
from inspector.data.scan import SORTS as LIBRARY_SORTS
from inspector.data.scan import Group as LibraryGroup
from inspector.data.scan import (
    Library,
    cause_fix,
    cause_title,
    column_words,
    group_cells,
    value_words,
    version_words,
)
from inspector.data.scan import Summary as LibrarySummary
from inspector.data.scan import Tally as LibraryTally
from inspector.data.scan import summarise as library_summary
from inspector.data.scan.offers import (
    offered_scans,
    open_row,
    scan_example,
    scan_stamp,
    typed_scan,
)
from inspector.data.scan.scanning import Progress as ScanProgress
from inspector.data.scan.scanning import progress_words
from inspector.files.importers import FORMATS
from inspector.files.store import Builtin, builtin
from inspector.files.uploads import Shelf, Upload
from inspector.fleet.doctor import CheckState, check_server
from inspector.fleet.probe import EXPORTS as PROBE_EXPORTS
from inspector.fleet.probe import (
    PROMPT_FILE_MIB,
    Budget,
    Plan,
    Probe,
    ProbeCause,
    ProbeLoad,
    ProbePrompt,
    ProbeRow,
    ProbeSummary,
    RequestGroup,
    Result,
    Sweep,
    failure_words,
    probe_row,
    prompts_of_bytes,
    prompts_of_text,
)
from inspector.fleet.probe.planning import SWEEP_WARM_UP
from inspector.fleet.probe.reporting import (
    probe_endings,
    progress_line,
    rate_words,
    time_name,
    worst_rows,
)
from inspector.fleet.probe.reporting import summary_of as probe_summary
from inspector.fleet.probe_registry import ProbeRun, probes
from inspector.fleet.watch import Metrics, Retention, Watch, metrics_app
from inspector.fleet.watch.spans import configured_spans
from inspector.inspection.compare import DiffPart, Lane, Repeats, diff, significance
from inspector.inspection.inspection import diagnose
from inspector.inspection.triage import is_log, of_content
from inspector.issues import (
    Advice,
    DiagnosisOutcome,
    Failure,
    Issue,
    Route,
    catalogue,
    decompress,
    diagnosis_row,
)
from inspector.issues.lines import lines_of_file
from inspector.lab.changes import change_sentence, shifts, twin_of
from inspector.lab.clients import ClientMatrix
from inspector.lab.clients import load_clients as matrix_clients
from inspector.lab.headline import column_label, matrix_headline, release_name
from inspector.lab.probing import script_asks, script_controls
from inspector.lab.results import MatrixRun, capture_name, unique_runs
from inspector.lab.results import every_run as matrix_runs
from inspector.lab.results import named_capture as matrix_capture
from inspector.lab.score import ScriptOutcome
from inspector.lab.scripts import Script
from inspector.lab.scripts import load as lab_scripts
from inspector.lab.servers.table import SERVERS as LAB_SERVERS
from inspector.lab.standin.steps import UNSTREAMED
from inspector.lab.summary import CheckupRow, checkup_rows, fault_rows
from inspector.lab.table import ClassRows, ScriptRow, matrix_table
from inspector.lab.table import totals as matrix_totals
from inspector.net.client.address import Server, SettingHints
from inspector.net.client.outcome import OutcomeKind, RequestFailed
from inspector.net.client.request import LiveRequest, parse_messages, parse_tools
from inspector.net.half_requests import end_half_requests
from inspector.net.hosts import trusted_hosts
from inspector.net.playback import FAULTS, playback_routes
from inspector.net.reference_clients import ClientReading, python_reading
from inspector.net.runs.feed import runs_routes
from inspector.net.runs.model_lists import ModelLists
from inspector.net.runs.registry import Registry, registry
from inspector.net.runs.run import LiveRun, Pace, RunState
from inspector.net.runs.trial import RUNS_AT_MOST, Trial, has_output
from inspector.net.shutdown import Shutdown
from inspector.net.sockets import listening_without_delay, say_once_that_none_is_accepted
from inspector.net.tap import DashboardTap, Upstream, configured_upstreams
from inspector.protocol.harmony.vocab import encoding
from inspector.protocol.wire.endpoints import asked_endpoints, spec_of
from inspector.views.audit_result import AuditResult, FieldRow
from inspector.views.comparison_rows import comparison_summary, run_rows, timing_rows
from inspector.views.encoding import json_bytes
from inspector.views.exports import capture_lines, findings_csv, findings_json
from inspector.views.payload import Head as StripHead
from inspector.views.payload import Payload as StripPayload
from inspector.views.prompt_blocks import prompt_blocks, prompt_label
from inspector.views.rows import event_rows
from inspector.views.strip import empty_strip, strip
from inspector.views.strip.comparison import ComparedRow, comparison_strip
from inspector.views.strip.growth import stream_position
from inspector.views.summary import Fix

__all__ = [
    "FAULTS",
    "FORMATS",
    "LAB_SERVERS",
    "LIBRARY_GROUPS",
    "LIBRARY_SORTS",
    "PROBE_EXPORTS",
    "PROMPT_FILE_MIB",
    "RUNS_AT_MOST",
    "SWEEP_WARM_UP",
    "UNSTREAMED",
    "Advice",
    "AuditResult",
    "Budget",
    "Builtin",
    "CaptureError",
    "CheckState",
    "CheckupRow",
    "ChoiceReading",
    "ClassRows",
    "ClientMatrix",
    "ClientReading",
    "ComparedRow",
    "DashboardTap",
    "DiagnosisOutcome",
    "DiffPart",
    "Failure",
    "FieldRow",
    "FirstDifference",
    "Fix",
    "Issue",
    "Lane",
    "Library",
    "LibraryGroup",
    "LibrarySummary",
    "LibraryTally",
    "LiveRequest",
    "LiveRun",
    "MatrixRun",
    "Metrics",
    "ModelLists",
    "OutcomeKind",
    "Pace",
    "Plan",
    "Probe",
    "ProbeCause",
    "ProbeLoad",
    "ProbePrompt",
    "ProbeRow",
    "ProbeRun",
    "ProbeSummary",
    "Prompt",
    "Registry",
    "Repeats",
    "RequestFailed",
    "RequestGroup",
    "Result",
    "Retention",
    "Route",
    "RunState",
    "ScanProgress",
    "Script",
    "ScriptOutcome",
    "ScriptRow",
    "Server",
    "SettingHints",
    "Shelf",
    "Shutdown",
    "StripHead",
    "StripPayload",
    "Sweep",
    "Trial",
    "Upload",
    "Upstream",
    "Violation",
    "Watch",
    "asked_endpoints",
    "builtin",
    "capture_lines",
    "capture_name",
    "catalogue",
    "cause_fix",
    "cause_title",
    "change_sentence",
    "check_server",
    "checkup_rows",
    "clip",
    "collector_paused",
    "column_label",
    "column_words",
    "comparison_strip",
    "comparison_summary",
    "configured_spans",
    "configured_upstreams",
    "decompress",
    "diagnose",
    "diagnosis_row",
    "diff",
    "duration",
    "empty_strip",
    "encoding",
    "end_half_requests",
    "event_rows",
    "explain",
    "failure_words",
    "fault_rows",
    "figure",
    "findings_csv",
    "findings_json",
    "group_cells",
    "has_output",
    "is_log",
    "json_bytes",
    "kind_label",
    "lab_scripts",
    "library_summary",
    "lines_of_file",
    "listed",
    "listening_without_delay",
    "matrix_capture",
    "matrix_clients",
    "matrix_headline",
    "matrix_runs",
    "matrix_table",
    "matrix_totals",
    "metrics_app",
    "number",
    "of_content",
    "offered_scans",
    "open_row",
    "parse_messages",
    "parse_tools",
    "playback_routes",
    "plural",
    "probe_endings",
    "probe_row",
    "probe_summary",
    "probes",
    "progress_line",
    "progress_words",
    "prompt_blocks",
    "prompt_label",
    "prompts_of_bytes",
    "prompts_of_text",
    "python_reading",
    "rate_words",
    "registry",
    "rejected",
    "release_name",
    "run_rows",
    "runs_routes",
    "say_once_that_none_is_accepted",
    "scan_example",
    "scan_stamp",
    "script_asks",
    "script_controls",
    "shifts",
    "significance",
    "spec_of",
    "stream_position",
    "strip",
    "time_name",
    "timing_rows",
    "trusted_hosts",
    "twin_of",
    "typed_scan",
    "unique_runs",
    "value_words",
    "version_words",
    "worst_rows",
]
