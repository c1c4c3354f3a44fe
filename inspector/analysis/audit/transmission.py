"""How the transmission of a response went: errors, missing token IDs, what the server's parser rejected.

Findings, the verdict and the match with known issues all depend on these three, so they are derived once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspector.analysis.alignment import Alignment, alignments
from inspector.analysis.audit.missing_ids import IdsGap, covers, ids_missing
from inspector.analysis.audit.rejection import Rejection, rejection
from inspector.analysis.audit.stream_checks import server_errors
from inspector.analysis.reading import Reading
from inspector.protocol.wire.stream import ServerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Transmission:
    """What the server sent besides texts and tokens, and whether it sent the IDs of all tokens."""

    errors: Sequence[ServerError]
    gap: IdsGap | None
    """Why IDs are missing, or may be; None where all are there."""
    covered: bool
    """Whether the evidence is of the whole response."""
    rejection: Rejection | None
    """The token or header that the server's parser rejected, as its error says."""

    @property
    def ids_missing(self) -> bool:
        """Whether the server did not send the IDs of all tokens, or may not have."""
        return self.gap is not None


def transmission_of(reading: Reading, aligned: Mapping[int, Alignment | None] | None = None) -> Transmission:
    """The transmission of a reading; `aligned` are its alignments, computed where they are not passed."""
    errors = server_errors(reading)
    gap = ids_missing(reading, alignments(reading) if aligned is None else aligned)
    return Transmission(
        errors=errors,
        gap=gap,
        covered=covers(reading, gap),
        rejection=rejection(reading, errors, ids_missing=gap is not None),
    )
