"""What two sequences share: their equal start, and edit scripts. rapidfuzz is loaded by the first script."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rapidfuzz.distance import Opcodes


def common_prefix(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many items the two have in common at their start."""
    low, high = 0, min(len(a), len(b))
    while low < high:  # binary search: slices compare in C
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def lcs(a: Sequence[Any], b: Sequence[Any]) -> "Opcodes":
    """An edit script that keeps the longest common subsequence; memory is the product of the lengths."""
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415 -- `import inspector` does without it

    return LCSseq.opcodes(a, b)


def levenshtein(a: Sequence[Any], b: Sequence[Any]) -> "Opcodes":
    """An edit script of least cost; slower than `lcs`, in memory that does not grow with the product."""
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 -- `import inspector` does without it

    return Levenshtein.opcodes(a, b)
