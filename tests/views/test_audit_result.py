"""The headline in the client's terms, and whose fault it is."""

import pytest

import inspector
from inspector.analysis.audit.kinds import Code
from inspector.files.store import FIXTURES
from inspector.views.audit_result import AuditResult
from inspector.views.summary import fix_words
from tests.support.every_code import CAPTURES
from tests.support.streams import LEAK, chat


def of_fixture(name: str) -> AuditResult:
    return AuditResult(inspector.inspect(inspector.load(FIXTURES / f"{name}.jsonl"), name=name))


@pytest.mark.parametrize(
    ("name", "headline", "blame"),
    [
        (
            "chat-tool-call-leak-vllm-0.14.1",
            "Your client got a broken tool call: the arguments of get_weather are not valid JSON.",
            "The server's fault.",
        ),
        ("responses-text-swallowed-vllm-0.32.0", "Your client got no answer, and no error.", ""),
        (
            "chat-unknown-role-swallowed-vllm-0.32.0",
            "Your client got no answer, and no error.",
            "The model's and the server's fault.",
        ),
        (
            "chat-unexpected-token-200002-vllm-0.13.0",
            "Your client got an error and no answer.",
            "The model's fault.",
        ),
        ("responses-disconnected-vllm-0.13.0", "Your client got a stream that broke off and no answer.", ""),
        ("chat-whole-vllm-0.14.1", "Your client got everything: reasoning and the answer.", ""),
    ],
)
def test_a_summary_says_what_the_client_got_and_whose_fault_that_is(
    name: str, headline: str, blame: str
) -> None:
    summed = of_fixture(name)
    assert summed.headline == headline
    assert summed.inspection.verdict.blame == blame
    assert summed.fault.startswith(blame)


@pytest.mark.parametrize(
    "code",
    [Code.ARGUMENTS_BROKEN, Code.ARGUMENTS_GENERATED_INVALID, Code.ARGUMENTS_INVALID_ORIGIN_UNKNOWN],
)
def test_arguments_that_are_not_json_are_a_broken_call_whoever_broke_them(code: Code) -> None:
    summed = AuditResult(inspector.inspect(CAPTURES[code][0], name="capture"))
    assert summed.headline == "Your client got a broken tool call: the arguments of f are not valid JSON."


def test_of_two_possible_causes_the_fix_names_both_and_has_the_command_that_tells_them_apart() -> None:
    summed = of_fixture("chat-unexpected-token-200002-vllm-0.13.0")
    assert summed.alternatives
    *steps, link, other_cause, command = summed.fixes
    assert [step.text for step in steps[:3]] == [
        "Upgrade to",
        "vLLM 0.32.0 or newer",
        ", which skips the token.",
    ]
    assert other_cause.text.startswith("· Or another cause: A fine-tune learned")
    assert command.command
    assert command.text.startswith("for n in 1 2 3 4 5; do curl")
    assert (link.url or "").startswith("https://github.com/")
    assert f"To tell them apart: `{command.text}`" in fix_words(summed.fixes)


def test_fields_have_both_sides() -> None:
    rows = {row.field: row for row in AuditResult(inspector.inspect(chat(LEAK))).fields}
    assert rows["reasoning"].generated == "Need weather."
    assert rows["reasoning"].delivered == "Need"
    assert rows["content"].state.equal is False


@pytest.mark.parametrize("code", CAPTURES)
def test_the_fault_is_said_once_and_first(code: Code) -> None:
    inspection = inspector.inspect(CAPTURES[code][0], name="capture")
    summed = AuditResult(inspection)
    assert summed.inspection.verdict.blame == inspection.verdict.blame
    if summed.inspection.verdict.blame:
        assert summed.fault.startswith(f"{summed.inspection.verdict.blame} ")
        assert summed.fault.count(summed.inspection.verdict.blame) == 1


def test_an_error_with_a_cause_of_its_own_has_a_step_of_its_own() -> None:
    """A flag that brings the reasoning back does not bring the answer back."""
    inspection = inspector.inspect(
        inspector.load(FIXTURES / "chat-unexpected-token-swallowed-vllm-0.32.0.jsonl")
    )
    words = " ".join(fix.text for fix in AuditResult(inspection).fixes)
    assert "--reasoning-parser openai_gptoss" in words
    assert "Also: Send the request again" in words
