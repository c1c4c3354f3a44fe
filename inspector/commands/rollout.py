"""`rollout`: check whether each prompt of a conversation extends the tokens before it."""

from collections.abc import Iterator, Sequence
from typing import Final

from inspector.capture.formats import clip, count, number
from inspector.commands.checks import checks_junit, exit_code, report_lines, say_reports
from inspector.commands.options import Command, option, required
from inspector.commands.progress import progress
from inspector.commands.shared import FailOn, Number, Rows, exit_level, one_on_standard_output, write_text
from inspector.data.rollout import CAUSES, Cause, RolloutReport, check
from inspector.protocol.harmony.text import texts

_EXAMPLE = """examples:
  python -m inspector rollout rollouts.jsonl --group trajectory_id --json
  python -m inspector rollout turn-1.jsonl turn-2.jsonl turn-3.jsonl --fail-on warning

exit codes: 0 no drift at the level of --fail-on, 1 drift, 2 a file cannot be read, has no token IDs, or
nothing could be compared
"""
_EXCERPT = 28


class Rollout(Rows):
    """Compare the prompt of each turn with the prompt and response of the turn before, by token IDs.

    Reports where they diverge and why. Reads rows with token IDs, and captures.
    """

    files: tuple[str, ...] = required(
        "JSON Lines, JSON or Parquet with token IDs (- is standard input), or the captures of one "
        "conversation in order",
        "FILE",
        positional=True,
        globs=True,
    )
    group: str | None = option(
        "the key that identifies the conversation of a row (default: conversation_id, session_id, ...)",
        None,
        "KEY",
    )
    max_findings: Number = option("list at most N turns per file; all are counted", 100)
    fail_on: FailOn = exit_level()
    junit: str | None = option("also write a test report", None, "FILE")


def run(options: Rollout) -> int:
    """Check the recordings."""
    one_on_standard_output(json=options.for_programs, junit=options.junit)
    with options.reading(", ".join(options.files)), progress() as step:
        step("comparing prompts")
        reports = check(options.files, group=options.group, max_findings=options.max_findings)
    if options.for_programs:
        options.print_rows([report.as_row for report in reports])
    elif options.junit != "-":
        say_reports(map(_lines, reports))
    if options.junit is not None:
        write_text(options.junit, checks_junit("rollout", reports, CAUSES, options.fail_on))
    if any(report.level == "unknown" for report in reports):
        return 2
    return exit_code((CAUSES[cause] for report in reports for cause in report.counts), options.fail_on)


def _lines(report: RolloutReport) -> Iterator[str]:
    unlisted_turns = report.broken - len(report.breaks)
    unlisted = count(unlisted_turns, "more turn") if unlisted_turns else ""
    return report_lines(report, list(_rows(report)), unlisted, report.counts, CAUSES)


def _rows(report: RolloutReport) -> Iterator[tuple[str, ...]]:
    yield "conversation", "turn", "token", "of", "cause", "before", "the model had", "the next prompt has"
    for broken in report.breaks:
        for drift in broken.drifts:
            expected, following = drift.seen, drift.following
            if drift.cause is Cause.RETOKENIZED:  # the texts are the same
                expected, following = map(_pieces, (drift.seen_ids, drift.following_ids))
            yield (
                broken.conversation,
                number(broken.turn),
                number(drift.token),
                number(broken.size),
                str(drift.cause),
                _end(drift.before),
                clip(expected, _EXCERPT),
                clip(following, _EXCERPT),
            )


def _pieces(ids: Sequence[int]) -> str:
    return "|".join(texts(ids))


def _end(text: str) -> str:
    return text if len(text) <= _EXCERPT else f"…{text[1 - _EXCERPT :]}"


COMMAND: Final = Command(Rollout, run, _EXAMPLE)
