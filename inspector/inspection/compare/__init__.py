"""Two captures side by side: what the models generated, what the servers delivered, and the findings.

The three are compared separately, so that "same tokens, different delivery" (a server's fault) and
"different tokens" (sampling, template, model) are distinguished. Left is the reference.
"""

from inspector.inspection.compare.comparison import Apart, ChoiceComparison, Comparison, Divergence, Outcome
from inspector.inspection.compare.inspections import compare, compare_all
from inspector.inspection.compare.joining import JoinedBy, join, joined
from inspector.inspection.compare.matching import FindingPairs
from inspector.inspection.compare.passing import PassingOutcome
from inspector.inspection.compare.sentence import labels
from inspector.inspection.compare.sequences import Counts, Fold, Sides, Stretch, StretchKind, folds, lay
from inspector.inspection.compare.settings import Setting
from inspector.inspection.compare.significance import Repeats, significance
from inspector.inspection.compare.texts import DiffPart, FieldPair, diff

__all__ = [
    "Apart",
    "ChoiceComparison",
    "Comparison",
    "Counts",
    "DiffPart",
    "Divergence",
    "FieldPair",
    "FindingPairs",
    "Fold",
    "JoinedBy",
    "Outcome",
    "PassingOutcome",
    "Repeats",
    "Setting",
    "Sides",
    "Stretch",
    "StretchKind",
    "compare",
    "compare_all",
    "diff",
    "folds",
    "join",
    "joined",
    "labels",
    "lay",
    "significance",
]
