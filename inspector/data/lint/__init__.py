"""Checks of training data and evaluation logs: rendered Harmony, chat messages, token IDs, scored text."""

from inspector.data.lint.advice import Advice
from inspector.data.lint.columns import Column, Form
from inspector.data.lint.finding import LintFinding, Unit
from inspector.data.lint.linting import LintReport, lint, lint_table
from inspector.data.lint.rows import LintRow, LintTable, open_table
from inspector.data.lint.rules import RULES, Rule

__all__ = [
    "RULES",
    "Advice",
    "Column",
    "Form",
    "LintFinding",
    "LintReport",
    "LintRow",
    "LintTable",
    "Rule",
    "Unit",
    "lint",
    "lint_table",
    "open_table",
]
