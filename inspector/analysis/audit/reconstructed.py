"""Findings from the tokens that a final object was reconstructed to, where its texts and the deltas agree.

Deltas and final object may share an error: a header that the server took for text, or text in the wrong
field. The reconstructed tokens show it.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from inspector.analysis.alignment import Alignment
from inspector.analysis.audit.answer_checks import special_tokens
from inspector.analysis.audit.finding import Finding
from inspector.analysis.audit.kinds import Kind
from inspector.analysis.audit.losses import lost_findings, parser_rejections
from inspector.analysis.reading import ChoiceReading, Reading


def reconstructed_findings(
    reading: Reading, choice: ChoiceReading, alignment: Alignment | None
) -> Iterator[Finding]:
    """What the reconstructed tokens say was lost or put into another field; spans count those tokens."""
    rebuilt, reconstruction = choice.rebuilt, choice.reconstruction
    if rebuilt is None or reconstruction is None or alignment is None:
        return
    run_by_server = {
        before.body for before, span in pairwise(reconstruction.spans) if before.turn < span.turn
    }
    findings = (
        *parser_rejections(rebuilt),
        *special_tokens(rebuilt),
        *lost_findings(reading, rebuilt, alignment),
    )
    for finding in findings:
        if finding.kind is Kind.UNSERVED and finding.token_start in run_by_server:
            continue  # a call of a tool that the server ran itself: its item need not have the text
        yield replace(finding, reconstructed=True)
