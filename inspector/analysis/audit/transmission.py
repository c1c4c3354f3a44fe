"""How the transmission of a response went: errors, missing token IDs, what the server's parser rejected.

Findings, the verdict and the match with known issues all depend on these three, so they are derived once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from inspector.analysis.audit.missing_ids import ids_missing
from inspector.analysis.audit.rejection import Rejection, rejection
from inspector.analysis.audit.stream_checks import server_errors
from inspector.analysis.reading import Reading
from inspector.protocol.wire.stream import ServerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Transmission:
    """What the server sent besides texts and tokens, and whether it sent the IDs of all tokens."""

    errors: Sequence[ServerError]
    ids_missing: bool
    rejection: Rejection | None
    """The token or header that the server's parser rejected, as its error says."""


def transmission_of(reading: Reading) -> Transmission:
    """The transmission of a reading."""
    errors = server_errors(reading)
    missing = ids_missing(reading)
    return Transmission(
        errors=errors, ids_missing=missing, rejection=rejection(reading, errors, ids_missing=missing)
    )
