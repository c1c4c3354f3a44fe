"""A reading to findings, and findings to a verdict: generated against delivered."""

from inspector.audit.finding import Finding, Kind, Severity
from inspector.audit.findings import audit, ids_missing
from inspector.audit.stream_checks import server_errors

__all__ = ["Finding", "Kind", "Severity", "audit", "ids_missing", "server_errors"]
