"""Rare conditions: each serves an entry, and decides as its name says."""

import pytest

from inspector.analysis.audit import audit
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End
from inspector.issues.catalogue.evidence import FormFacts
from inspector.issues.catalogue.predicates import OF_FINDINGS, OF_RESPONSES, OfFinding
from inspector.issues.catalogue.table import catalogue
from tests.support.builtin import CAPTURES
from tests.support.streams import CLEAN, LOSS, Step, chat

TOKEN_LOST: list[Step] = [
    CLEAN[0],
    (" weather", {}),
    (".<|end|>", {"reasoning": "."}),
    *CLEAN[2:],
]
"""A token of the reasoning that came alone in its event was not delivered."""
COMMENTARY: Step = ("<|start|>assistant<|channel|>commentary<|message|>Wait.<|end|>", {})
FIRST_LOST: list[Step] = [*CLEAN[:2], COMMENTARY, *CLEAN[2:]]
LAST_LOST: list[Step] = [*CLEAN[:2], (CLEAN[2][0], {}), CLEAN[3]]


def test_every_condition_serves_an_entry() -> None:
    forms = [form.when for issue in catalogue() for form in issue.findings]
    forms += [issue.when for issue in catalogue()]
    steps = [step.when for issue in catalogue() for step in issue.steps]
    assert {condition.name for conditions in forms for condition in conditions} == set(OF_FINDINGS)
    assert {condition.name for conditions in steps for condition in conditions} == set(OF_RESPONSES)


@pytest.mark.parametrize(
    ("name", "holding", "failing"),
    [
        ("connection_cut", chat(LOSS, done=False, finish=None, end=End(at_s=1.0, cut=True)), chat(LOSS)),
        ("ended_by_model", chat(LOSS), chat(LOSS, finish="length")),
        ("ended_at_limit", chat(LOSS, finish="length"), chat(LOSS)),
        ("at_edge", chat(LOSS), chat(TOKEN_LOST)),
        ("at_end", chat(LOSS), chat(TOKEN_LOST)),
        ("token_per_event", chat(TOKEN_LOST), chat(LOSS)),
        ("several_tokens_per_event", chat(LOSS), chat(TOKEN_LOST)),
        ("more_text_for_field", chat(FIRST_LOST), chat(LAST_LOST)),
        (
            "gap_inside_message",
            CAPTURES["responses-dropped-tokens-vllm-0.13.0"],
            CAPTURES["responses-text-swallowed-vllm-0.32.0"],
        ),
    ],
)
def test_a_condition_of_a_finding(name: str, holding: Capture, failing: Capture) -> None:
    def condition_holds(text: str, capture: Capture) -> bool:
        reading = read(capture)
        return OfFinding(text).holds(audit(reading)[0], FormFacts(reading))

    assert (condition_holds(name, holding), condition_holds(name, failing)) == (True, False)
    assert (condition_holds(f"not {name}", holding), condition_holds(f"not {name}", failing)) == (False, True)
