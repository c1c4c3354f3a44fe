"""A finding: one difference or failure, as a code with facts; `wording` turns it into a sentence."""

from dataclasses import dataclass, fields
from typing import Any, Final

from inspector.analysis.audit.facts import Facts
from inspector.analysis.audit.kinds import Code, Kind, Severity

FACT_KEYS: Final = tuple(
    """
    words token_id quoted header_sent ended between missing implied resumes_at role channel recipient call
    index name offered by_final in_header finish_reason reason limit counted fits reconstructed seen logprobs
    notice detail times at answer calls well_formed
    """.split()  # noqa: SIM905 -- 30 lines as a list
)
"""The facts of `audit --json` in their order; public, added to and never renamed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference or failure; spans are half-open, None where there is no such place."""

    kind: Kind
    severity: Severity
    field: str | None = None
    token_start: int | None = None
    token_end: int | None = None
    event_start: int | None = None
    event_end: int | None = None
    generated: str | None = None
    """Text that the tokens (or, without ids, the server's final texts) say."""
    delivered: str | None = None
    """Text that arrived instead, or the server's words."""
    delivered_in: str | None = None
    """The wrong field, for misrouted text."""
    choice: int = 0
    sent: bool = True
    """False for a token or header that the server's error names and that is not in the stream: then
    `token_start` is the number of ids sent, and `token_end` that plus one."""
    facts: Facts
    known_issues: tuple[str, ...] = ()
    """Ids of the catalogue of known issues, filled by `inspector.issues`."""
    by_final: bool = False
    """True when the server's final object is the evidence, not token ids."""
    reconstructed: bool = False
    """True when tokens that were reconstructed from the final object are the evidence; none was sent."""

    @property
    def code(self) -> Code:
        """What exactly was found."""
        return self.facts.code

    def fact_row(self) -> dict[str, Any]:
        """The facts that are known, by `FACT_KEYS`."""
        facts = {fact.name: getattr(self.facts, fact.name) for fact in fields(self.facts)}
        facts |= {"by_final": self.by_final or None, "reconstructed": self.reconstructed or None}
        return {
            key: list(map(str, value)) if isinstance(value, tuple) else value
            for key in FACT_KEYS
            if (value := facts.get(key)) is not None
        }
