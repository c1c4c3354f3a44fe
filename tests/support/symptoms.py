"""Symptoms in words, and the entry that each leads to."""

from collections.abc import Iterable, Sequence

import pytest

from inspector.diagnosis.text import diagnose_text
from tools.score_diagnose import answer_code

__all__ = ["found", "texts"]


def texts(groups: Iterable[tuple[set[str], Sequence[str]]]) -> list[object]:
    """Parameters of a test: the entries that are right, and one text."""
    return [pytest.param(right, text, id=text[:40]) for right, said in groups for text in said]


def found(text: str) -> str:
    """The entry, or the route, that a text leads to."""
    return answer_code(diagnose_text(text))
