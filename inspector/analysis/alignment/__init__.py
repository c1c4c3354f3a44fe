"""Where each generated token was delivered: the generated side aligned with the delivered side.

`choice` says what of a request matters, `fields` aligns field by field, `matching` one event at a time and
`leftovers` what is left over the whole stream. Nothing here judges: `audit` makes findings of it.
"""

from inspector.analysis.alignment.cells import Extra, Fate, FateState
from inspector.analysis.alignment.choice import align_choice, alignments
from inspector.analysis.alignment.fields import Alignment, Ending, align, same_when_joined
from inspector.analysis.alignment.reconstructed import reconstructed_cells
from inspector.analysis.alignment.text import embed, embed_or_align

__all__ = [
    "Alignment",
    "Ending",
    "Extra",
    "Fate",
    "FateState",
    "align",
    "align_choice",
    "alignments",
    "embed",
    "embed_or_align",
    "reconstructed_cells",
    "same_when_joined",
]
