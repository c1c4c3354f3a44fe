"""A reading to findings, and findings to a verdict: generated against delivered."""

from inspector.audit.finding import Finding, Kind, Severity
from inspector.audit.findings import audit
from inspector.audit.missing_ids import ids_missing
from inspector.audit.rejection import Rejection, rejection
from inspector.audit.stream_checks import server_errors

__all__ = [
    "Finding",
    "Kind",
    "Rejection",
    "Severity",
    "audit",
    "ids_missing",
    "rejection",
    "server_errors",
]
