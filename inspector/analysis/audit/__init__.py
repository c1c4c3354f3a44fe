"""A reading to findings, and findings to a verdict: generated against delivered."""

from inspector.analysis.audit.facts import Facts
from inspector.analysis.audit.fields import FieldState, FieldTexts, field_texts
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.findings import audit
from inspector.analysis.audit.kinds import (
    KINDS,
    Code,
    FindingSide,
    Kind,
    KindInfo,
    Severity,
    kind_and_key,
    kind_label,
    kinds_of,
)
from inspector.analysis.audit.rejection import Rejection
from inspector.analysis.audit.stream_checks import Transmission, transmission_of
from inspector.analysis.audit.wording import explain, title

__all__ = [
    "KINDS",
    "Code",
    "Facts",
    "FieldState",
    "FieldTexts",
    "Finding",
    "FindingSide",
    "Kind",
    "KindInfo",
    "Rejection",
    "Severity",
    "Transmission",
    "audit",
    "explain",
    "field_texts",
    "kind_and_key",
    "kind_label",
    "kinds_of",
    "title",
    "transmission_of",
]
