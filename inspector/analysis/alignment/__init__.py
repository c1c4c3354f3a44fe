"""Where each generated token was delivered: the generated side aligned with the delivered side.

`choice` says what of a request matters; `fields` aligns parsed responses and `completions` plain text. What
their comparison of whole texts leaves unexplained is aligned by `by_token`: with `matching` within events and
fields, with `leftovers` over the whole stream. Nothing in this package decides what is a fault: `audit` makes
findings of it.
"""

from inspector.analysis.alignment.cells import Alignment, Arrival, Extra, Fate, FateState
from inspector.analysis.alignment.choice import align_choice, alignments
from inspector.analysis.alignment.fields import same_when_joined
from inspector.analysis.alignment.reconstructed import reconstructed_cells
from inspector.analysis.alignment.text import embed_or_align

__all__ = [
    "Alignment",
    "Arrival",
    "Extra",
    "Fate",
    "FateState",
    "align_choice",
    "alignments",
    "embed_or_align",
    "reconstructed_cells",
    "same_when_joined",
]
