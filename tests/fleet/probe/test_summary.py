"""What rows come to, in counts and in sentences."""

from dataclasses import replace

from inspector.capture.capture import Endpoint
from inspector.fleet.probe import ProbeProgress, Result, Sweep, summary
from inspector.fleet.probe.reporting import progress_line
from inspector.views.summary import Fix
from tests.support.probes import row, rows


def test_the_rate_is_of_what_was_checked_and_failures_are_counted_apart() -> None:
    totals = summary(rows(ok=97, damaged=3, failed=10, unknown=5))
    assert (totals.total.requests, totals.total.loss.of, totals.total.failure.of) == (115, 100, 115)
    assert totals.sentence == (
        "3 of 100 checked responses were silently damaged: 3.0% (95% interval 1.0% to 8.5%)."
    )
    failed, unknown = totals.notes
    assert failed.startswith(
        "10 of 115 requests failed with an error: 8.7% (95% interval 4.8% to 15%). HTTP 500 (10)."
    )
    assert unknown.startswith("5 responses could not be checked")
    assert totals.kinds == (("dropped", 3),)


def test_no_loss_has_an_upper_bound() -> None:
    assert summary(rows(ok=500)).sentence == (
        "No silent loss in 500 checked responses: the loss rate is at most 0.76% (95% confidence)."
    )
    assert summary([]).sentence == "No request has ended."
    assert summary(rows(unknown=2)).sentence == "None of 2 responses could be checked for losses."


def test_a_failed_request_is_a_first_token_that_never_came() -> None:
    times = {times.name: times for times in summary(rows(ok=9, failed=2)).times if times.what != "gap"}
    assert (times["first token"].p50, times["first token"].p90) == (0.25, None)
    assert times["whole response"].p99 is None
    assert times["analysis"].p99 == 0.25, "a channel counts the responses that have it"


def test_the_control_is_no_part_of_the_rates() -> None:
    probe_rows = [*rows(ok=4), row(4, Result.DAMAGED, control=True, endpoint=Endpoint.COMPLETIONS)]
    totals = summary(probe_rows)
    assert (totals.total.requests, totals.total.damaged) == (4, 0)
    assert totals.notes == ("Control on completions: 0 of 1 request failed, 1 damaged.",)


def test_groups_are_by_endpoint_load_and_tokens_per_event() -> None:
    probe_rows = [
        row(0, in_flight=1, tokens_per_event=1.0),
        row(1, in_flight=6, endpoint=Endpoint.RESPONSES, tokens_per_event=None),
        row(2, Result.DAMAGED, in_flight=8, tokens_per_event=2.7, streamed=True),
        row(3, in_flight=2, streamed=False),
    ]
    totals = summary(probe_rows)
    assert [group.name for group in totals.by_endpoint] == ["chat", "chat, unstreamed", "responses"]
    assert [(group.name, group.damaged) for group in totals.by_load] == [("1", 0), ("2", 0), ("5-8", 1)]
    assert [(group.name, group.damaged) for group in totals.by_tokens_per_event] == [("1", 0), ("3", 1)]


def test_a_sweep_names_the_smallest_load_that_loses() -> None:
    probe_rows = [row(number, level=4) for number in range(332)]
    probe_rows += [row(number, Result.DAMAGED if number < 5 else Result.OK, level=8) for number in range(20)]
    probe_rows += [row(number, Result.DAMAGED, level=16) for number in range(2)]
    totals = summary(probe_rows, Sweep())
    assert totals.sentence == (
        "Losses begin with 8 streams at once: 5 of 20 checked responses were damaged, and a loss rate of "
        "0.10% or less is ruled out (95% confidence). With 4 streams at once, a loss rate of 1.0% or more is "
        "ruled out (95% confidence): none of 332 checked responses was damaged."
    )
    assert totals.largest_clean is not None
    assert totals.largest_clean.name == "4"
    assert summary(probe_rows[:332], Sweep()).sentence.startswith(
        "With up to 4 streams at once, a loss rate of"
    )
    assert summary([], Sweep()).sentence == "No request has ended."


def test_a_few_responses_without_damage_prove_nothing() -> None:
    clean_rows = [row(number, level=1) for number in range(9)]
    assert summary(clean_rows[:1]).sentence == "1 response checked, none damaged; too few to say more."
    assert summary(clean_rows).sentence.startswith("9 responses checked, none damaged")
    assert summary([clean_rows[0], row(1, Result.DAMAGED)]).sentence.startswith("1 of 2 checked responses")
    no_proof = "With one stream at a time nothing is certain: none of 9 checked responses was damaged."
    assert summary(clean_rows, Sweep()).sentence == no_proof
    begun = summary([*(row(number, level=1) for number in range(332)), row(332, level=2)], Sweep())
    assert begun.sentence.startswith("With one stream at a time, a loss rate of 1.0% or more is ruled out")
    assert begun.sentence.endswith(
        "With 2 streams at once nothing is certain: none of 1 checked response was damaged."
    )
    assert [group.name for group in begun.undecided] == ["2"]


def test_a_cause_has_the_fix_of_its_first_response() -> None:
    fix = (Fix(text="Upgrade to"), Fix(text="vLLM 0.24.0", url="matrix"))
    probe_rows = [row(0, Result.DAMAGED, cause="b", cause_title="B")]
    for number, result in enumerate((Result.DAMAGED, Result.FAILED, Result.OK), 1):
        probe_rows.append(row(number, result, cause="a", cause_title="A", fixes=fix))
    causes = summary(probe_rows).causes
    assert [(cause.id, cause.streams, cause.fixes) for cause in causes] == [("a", 2, fix), ("b", 1, ())]


def test_two_servers_are_compared_by_their_pairs() -> None:
    """Six of a hundred more than the same thirty: seen by pairs, not by rates."""
    probe_rows = [row(n, Result.DAMAGED if n < 30 else Result.OK, side="A") for n in range(100)]
    probe_rows += [row(n, Result.DAMAGED if n < 36 else Result.OK, side="B") for n in range(100)]
    totals = summary(probe_rows)
    assert totals.against is not None
    assert (totals.against.pairs, totals.against.only_a, totals.against.only_b) == (100, 0, 6)
    assert totals.against.paired_p_value == 2 / 2**6
    assert (totals.against.significant, totals.against.worse) == (True, True)
    assert totals.sentence == (
        "A: 30 of 100 silently damaged (30%), 0 of 100 failed, B: 36 of 100 silently damaged (36%), 0 of 100 "
        "failed. The difference in damaged responses is statistically significant: of 100 pairs, 0 were "
        "damaged only on A and 6 only on B (McNemar's exact test, p = 0.031; without pairs, Fisher's exact "
        "test, p = 0.45)."
    )
    swapped = summary(
        [replace(probe_row, side="BA"[probe_row.side == "B"]) for probe_row in probe_rows]
    ).against
    assert swapped is not None
    assert (swapped.significant, swapped.worse) == (True, False)
    none = summary([row(0, Result.UNKNOWN, side="A"), row(0, side="B")])
    assert none.against is not None
    assert none.against.significant is None
    assert "No test is possible" in none.sentence
    unpaired = summary([row(0, side="A"), row(1, side="B")])
    assert unpaired.against is not None
    assert (unpaired.against.p_value, unpaired.against.significant) == (1.0, None)


def test_two_servers_are_never_counted_together() -> None:
    probe_rows = [
        row(
            n,
            Result.DAMAGED if side == "A" else Result.FAILED,
            side=side,
            in_flight=1 + n % 3,
            first_token_s=s,
        )
        for side, s in (("A", 0.1), ("B", 0.9))
        for n in range(6)
    ]
    totals = summary(probe_rows)
    for groups in (totals.by_endpoint, totals.by_load, totals.by_tokens_per_event):
        assert {group.side for group in groups} == {"A", "B"}
        assert all((group.damaged, group.failed)[group.side == "A"] == 0 for group in groups)
    assert [group.label for group in totals.by_load] == ["A: 1", "B: 1", "A: 2", "B: 2", "A: 3", "B: 3"]
    first = {times.side: times.p50 for times in totals.times if times.name == "first token"}
    assert first == {"A": 0.1, "B": 0.9}
    assert totals.notes[0].startswith("B: 6 of 6 requests failed")


def test_requests_that_were_sent_later_are_said() -> None:
    assert summary([row(0, deferred=2)]).notes == (
        "The server asked 2 times to send a request later (HTTP 429 or 503).",
    )


def test_progress_is_one_line_with_what_is_left_and_what_was_lost() -> None:
    progress = ProbeProgress(
        done=1200,
        total=5000,
        in_flight=8,
        level=8,
        at_level=None,
        per_s=24.06,
        left_s=3.4,
        damaged=3,
        failed=1,
        unknown=0,
        waited_s=61.0,
        elapsed_s=50.0,
    )
    assert progress_line(progress) == (
        "1,200 of 5,000 requests · 24.1 per second · 3 s left · 3 damaged, 1 failed · "
        "waited 61 s as the server asked"
    )


def test_progress_of_a_sweep_is_that_of_its_level() -> None:
    """How many requests all levels take is not known before the end."""
    progress = ProbeProgress(
        done=1200,
        total=None,
        in_flight=8,
        level=8,
        at_level=Sweep(smallest=0.01).far(rows(ok=120, failed=3)),
        per_s=None,
        left_s=None,
        damaged=0,
        failed=3,
        unknown=0,
        waited_s=0.0,
        elapsed_s=50.0,
    )
    assert (
        progress_line(progress)
        == "8 streams at once: 120 of 332 requests · 1,200 in all · 0 damaged, 3 failed"
    )
    losing = replace(progress, level=1, damaged=1, at_level=Sweep(smallest=0.01).far(rows(ok=119, damaged=1)))
    assert progress_line(losing).startswith("one stream at a time: 120 of at most 1,328 requests · ")
