"""Sums up the rows of a probe: counts, rates with intervals, times, causes; used by command and page."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from inspector.capture.formats import count, number, plural
from inspector.fleet.probe.loads import Sweep, at_once, checked_losses
from inspector.fleet.probe.rates import Proportion, gap_percentile, percent, percentile, rate
from inspector.fleet.probe.rows import ProbeRow, Result
from inspector.inspection.compare.significance import fisher_exact, mcnemar_exact, p_words
from inspector.views.summary import Fix

FIRST_TOKEN: Final = "first token"
WHOLE_RESPONSE: Final = "whole response"
_LEVEL: Final = 0.05
_FEW: Final = 10
"""Fewer responses without damage rule out less than a quarter."""
_SHARES: Final = (0.5, 0.9, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestGroup:
    """Counts of a group of requests."""

    name: str
    side: str = ""
    """The server, where two are compared."""
    requests: int
    ok: int
    failed: int
    damaged: int
    unknown: int

    @property
    def label(self) -> str:
        """The name, with its server where there are two."""
        return _labelled(self.side, self.name)

    @property
    def loss(self) -> Proportion:
        """Rate of damaged responses among those that could be checked."""
        return rate(self.damaged, self.ok + self.damaged)

    @property
    def failure(self) -> Proportion:
        """Rate of failed requests."""
        return rate(self.failed, self.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When tokens came: 50th, 90th and 99th percentile in seconds; None if that many requests had none."""

    name: str
    """The channel; `first token` and `whole response` for all of them."""
    what: str
    """`since the request`, or `gap`."""
    side: str = ""
    """The server, where two are compared."""
    p50: float | None
    p90: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeCause:
    """A known issue that damaged or failed responses show."""

    id: str
    title: str
    streams: int
    fixes: tuple[Fix, ...]
    """What to do, for the first of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerComparison:
    """Two servers compared, by requests that both were sent at the same time."""

    p_value: float | None
    """Fisher's exact test, two-sided; None if nothing of one side could be checked."""
    pairs: int
    """Requests whose responses could be checked on both sides."""
    only_a: int
    """Pairs in which only A's response was damaged."""
    only_b: int
    sentence: str

    @property
    def paired_p_value(self) -> float | None:
        """McNemar's exact test, two-sided; None without pairs."""
        return mcnemar_exact(self.only_a, self.only_b) if self.pairs else None

    @property
    def significant(self) -> bool | None:
        """True if the rates differ, by the pairs (5 % level); None where no test is possible."""
        return None if self.paired_p_value is None else self.paired_p_value < _LEVEL

    @property
    def worse(self) -> bool:
        """True if B loses significantly more than A."""
        return bool(self.significant) and self.only_b > self.only_a


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSummary:
    """The result of a probe."""

    sentence: str
    """The result, first of all."""
    notes: tuple[str, ...]
    """More sentences: failures, unknown results, the control."""
    total: RequestGroup
    """All requests but the control's."""
    control: RequestGroup | None
    sides: tuple[RequestGroup, ...]
    by_endpoint: tuple[RequestGroup, ...]
    by_load: tuple[RequestGroup, ...]
    """By requests in flight."""
    by_tokens_per_event: tuple[RequestGroup, ...]
    kinds: tuple[tuple[str, int], ...]
    """Kinds of findings, and the streams that have one."""
    causes: tuple[ProbeCause, ...]
    """Most frequent first."""
    failures: tuple[tuple[str, int, str], ...]
    """How requests failed, how often, and one of the sentences."""
    times: tuple[Times, ...]
    against: ServerComparison | None
    smallest_losing: RequestGroup | None
    """Sweep: the smallest load that loses."""
    largest_clean: RequestGroup | None
    """Sweep: the largest load below it for which the loss rate is ruled out."""
    undecided: tuple[RequestGroup, ...]
    """Sweep: loads below it for which nothing is certain."""


def summary(rows: Sequence[ProbeRow], sweep: Sweep | None = None) -> ProbeSummary:
    """Sum up rows; those of two servers are never counted together, but in `total`."""
    counted = [row for row in rows if not row.control]
    total = _group("all", counted)
    control = [row for row in rows if row.control]
    by_side = {name: [row for row in counted if row.side == name] for name in _named(counted)}
    sides = tuple(_group(name, side_rows) for name, side_rows in by_side.items())
    against = _against(sides, counted) if len(sides) == 2 else None
    levels = grouped(counted, lambda row: row.level) if sweep is not None else ()
    decisions = {} if sweep is None else _decisions(sweep, counted)
    losing = next((group for group in levels if decisions[int(group.name)]), None)
    below = [group for group in levels if losing is None or int(group.name) < int(losing.name)]
    clean = next((group for group in reversed(below) if decisions[int(group.name)] is False), None)
    undecided = tuple(group for group in below if decisions[int(group.name)] is None)
    controlled = _group("control", control) if control else None
    notes = [note for name in by_side or ("",) for note in _notes(name, by_side.get(name, counted))]
    return ProbeSummary(
        sentence=_sentence(total, against) if sweep is None else _swept(sweep, losing, clean, undecided),
        notes=(*notes, *_control_notes(controlled)),
        total=total,
        control=controlled,
        sides=sides,
        by_endpoint=grouped(counted, _endpoint),
        by_load=levels or _by_in_flight(counted),
        by_tokens_per_event=grouped(counted, _tokens_per_event),
        kinds=tuple(Counter(kind for row in counted for kind in row.response.kinds).most_common()),
        causes=tuple(_causes(counted)),
        failures=_failures(counted),
        times=tuple(times for name in by_side or ("",) for times in _times(name, by_side.get(name, counted))),
        against=against,
        smallest_losing=losing,
        largest_clean=clean,
        undecided=undecided,
    )


def _named(rows: Sequence[ProbeRow]) -> list[str]:
    return sorted({row.side for row in rows} - {""})


def _labelled(side: str, name: str) -> str:
    return f"{side}: {name}" if side else name


def _decisions(sweep: Sweep, rows: Iterable[ProbeRow]) -> dict[int, bool | None]:
    levels: dict[int, list[ProbeRow]] = {}
    for row in rows:
        levels.setdefault(row.level, []).append(row)
    return {level: sweep.loses(level, checked_losses(members)) for level, members in levels.items()}


def _causes(rows: Iterable[ProbeRow]) -> list[ProbeCause]:
    named: dict[tuple[str, str], list[ProbeRow]] = {}
    for row in rows:
        if row.response.cause and row.result in {Result.DAMAGED, Result.FAILED}:
            named.setdefault((row.response.cause, row.response.cause_title), []).append(row)
    causes = [
        ProbeCause(id=key, title=title, streams=len(affected), fixes=affected[0].response.fixes)
        for (key, title), affected in named.items()
    ]
    return sorted(causes, key=lambda cause: -cause.streams)


def grouped(
    rows: Iterable[ProbeRow], key: Callable[[ProbeRow], int | str | None]
) -> tuple[RequestGroup, ...]:
    """Rows by a key, in its order, of each server apart; rows without a key are left out."""
    groups: dict[tuple[int | str, str], list[ProbeRow]] = {}
    for row in rows:
        if (name := key(row)) is not None:
            groups.setdefault((name, row.side), []).append(row)
    return tuple(
        _group(str(name), groups[name, side], side)
        for name, side in sorted(groups, key=lambda label: (str(type(label[0])), *label))
    )


def _group(name: str, rows: Sequence[ProbeRow], side: str = "") -> RequestGroup:
    counts = Counter(row.result for row in rows)
    return RequestGroup(
        name=name,
        side=side,
        requests=len(rows),
        ok=counts[Result.OK],
        failed=counts[Result.FAILED],
        damaged=counts[Result.DAMAGED],
        unknown=counts[Result.UNKNOWN],
    )


def _by_in_flight(rows: Sequence[ProbeRow]) -> tuple[RequestGroup, ...]:
    """By powers of two, named by their range, which ends with the most that were in flight."""
    groups = grouped(rows, lambda row: 1 << (max(row.in_flight, 1) - 1).bit_length())
    most = max((row.in_flight for row in rows), default=1)
    return tuple(replace(group, name=_range(int(group.name), most)) for group in groups)


def _range(power: int, most: int) -> str:
    first, last = power // 2 + 1, min(power, max(most, 1))
    return f"{last}" if power <= 2 or first == last else f"{first}-{last}"


def _endpoint(row: ProbeRow) -> str:
    return row.endpoint.value if row.streamed else f"{row.endpoint.value}, unstreamed"


def _tokens_per_event(row: ProbeRow) -> int | None:
    """The mean of a stream, rounded; None where its tokens are not known by event."""
    mean = row.response.tokens_per_event
    return None if mean is None or not row.streamed else max(1, round(mean))


def _failures(rows: Sequence[ProbeRow]) -> tuple[tuple[str, int, str], ...]:
    """How requests failed, how often, and one of the sentences; the most frequent first."""
    failed = [row for row in rows if row.result is Result.FAILED]
    first = {row.response.failure: row.response.sentence for row in reversed(failed)}
    return tuple(
        (words, amount, first[words])
        for words, amount in Counter(row.response.failure for row in failed).most_common()
    )


def failure_words(failure: tuple[str, int, str]) -> str:
    """A class of failures in a sentence, with an example if there are several."""
    words, amount, sentence = failure
    return f"{words}: {sentence}" if amount == 1 else f"{words}, {amount:,} requests, for example: {sentence}"


def _times(side: str, rows: Sequence[ProbeRow]) -> list[Times]:
    """Times of streamed requests; a failed one counts as infinite, which makes a percentile worse."""
    streamed = [row for row in rows if row.streamed]
    if not streamed:
        return []

    def of(name: str, values: Sequence[float]) -> Times:
        p50, p90, p99 = (percentile(values, share) for share in _SHARES)
        return Times(name=name, side=side, what="since the request", p50=p50, p90=p90, p99=p99)

    first = [inf if row.response.first_token_s is None else row.response.first_token_s for row in streamed]
    whole = [
        inf if row.response.duration_s is None or row.result is Result.FAILED else row.response.duration_s
        for row in streamed
    ]
    times = [of(FIRST_TOKEN, first)]
    channels = sorted({channel for row in streamed for channel in row.response.first_s})
    for channel in channels:
        # Only some responses have a tool call: of a channel those count that have it.
        times.append(
            of(
                channel,
                [row.response.first_s[channel] for row in streamed if channel in row.response.first_s],
            )
        )
    times.append(of(WHOLE_RESPONSE, whole))
    for channel in channels:
        gaps = [row.response.gaps[channel] for row in streamed if channel in row.response.gaps]
        if gaps:
            p50, p90, p99 = (gap_percentile(gaps, share) for share in _SHARES)
            times.append(Times(name=channel, side=side, what="gap", p50=p50, p90=p90, p99=p99))
    return times


# --- words ---


def _sentence(total: RequestGroup, against: ServerComparison | None) -> str:
    if total.requests == 0:
        return "No request has ended."
    if against is not None:
        return against.sentence
    return _lost(total)


def _lost(group: RequestGroup) -> str:
    loss = group.loss
    if not loss.of:
        return f"None of {count(group.requests, 'response')} could be checked for losses."
    if _too_few(group):
        return _too_few_words(group)
    if not group.damaged:
        return (
            f"No silent loss in {count(loss.of, 'checked response')}: the loss rate is at most "
            f"{percent(loss.high)} (95% confidence)."
        )
    checked, were = count(loss.of, "checked response"), plural(group.damaged, "was", "were")
    return f"{number(group.damaged)} of {checked} {were} silently damaged: {loss.words}."


def _too_few(group: RequestGroup) -> bool:
    return not group.damaged and 0 < group.loss.of < _FEW


def _too_few_words(group: RequestGroup) -> str:
    return f"{count(group.loss.of, 'response')} checked, none damaged; too few to say more."


def _swept(
    sweep: Sweep,
    losing: RequestGroup | None,
    clean: RequestGroup | None,
    undecided: Sequence[RequestGroup],
) -> str:
    """The result of a sweep, with what its test ruled out."""
    sentences = []
    if losing is not None:
        sentences.append(
            f"Losses begin with {_at_once(losing)}: {_damaged(losing)}, and a loss rate of "
            f"{percent(sweep.tolerated)} or less is ruled out (95% confidence)."
        )
    if clean is not None:
        up_to = f"{'up to ' if losing is None and clean.name != '1' else ''}{_at_once(clean)}"
        sentences.append(
            f"With {up_to}, a loss rate of {percent(sweep.smallest)} or more is ruled out (95% confidence): "
            f"{_damaged(clean)}."
        )
    sentences += [f"With {_at_once(group)} nothing is certain: {_damaged(group)}." for group in undecided]
    return " ".join(sentences) or "No request has ended."


def _at_once(group: RequestGroup) -> str:
    return at_once(int(group.name))


def _damaged(group: RequestGroup) -> str:
    checked, were = count(group.loss.of, "checked response"), "were" if group.damaged > 1 else "was"
    return f"{number(group.damaged) if group.damaged else 'none'} of {checked} {were} damaged"


def _against(sides: Sequence[RequestGroup], rows: Iterable[ProbeRow]) -> ServerComparison:
    left, right = sides
    a, b = left.loss, right.loss
    both = ", ".join(
        f"{group.name}: {group.damaged:,} of {group.loss.of:,} silently damaged ({_share(group.loss)}), "
        f"{group.failed:,} of {group.requests:,} failed"
        for group in sides
    )
    checked: dict[tuple[int, int], dict[str, bool]] = {}
    for row in rows:
        if row.result in {Result.OK, Result.DAMAGED}:
            checked.setdefault((row.level, row.number), {})[row.side] = row.result is Result.DAMAGED
    pairs = Counter(
        (pair[left.name], pair[right.name]) for pair in checked.values() if len(pair) == len(sides)
    )
    comparison = ServerComparison(
        p_value=fisher_exact(a.count, a.of - a.count, b.count, b.of - b.count) if a.of and b.of else None,
        pairs=pairs.total(),
        only_a=pairs[True, False],
        only_b=pairs[False, True],
        sentence="",
    )
    return replace(comparison, sentence=f"{both}. {_difference(comparison)}")


def _difference(comparison: ServerComparison) -> str:
    fisher, paired = comparison.p_value, comparison.paired_p_value
    if fisher is None:
        return "No test is possible: one side has nothing that was checked."
    if paired is None:
        return "No test is possible: no request was checked on both sides."
    words = "is" if comparison.significant else "is not"
    return (
        f"The difference in damaged responses {words} statistically significant: of "
        f"{count(comparison.pairs, 'pair')}, {comparison.only_a:,} were damaged only on A and "
        f"{comparison.only_b:,} only on B (McNemar's exact test, {p_words(paired)}; without pairs, Fisher's "
        f"exact test, {p_words(fisher)})."
    )


def _share(loss: Proportion) -> str:
    return "unknown" if loss.share is None else percent(loss.share)


def _notes(side: str, rows: Sequence[ProbeRow]) -> list[str]:
    total, notes = _group(side, rows), []
    if total.failed:
        kinds = Counter(row.response.failure for row in rows if row.result is Result.FAILED)
        listed = ", ".join(f"{words} ({amount:,})" for words, amount in kinds.most_common(4))
        notes.append(
            f"{total.failed:,} of {count(total.requests, 'request')} failed with an error: "
            f"{total.failure.words}. {listed[:1].upper()}{listed[1:]}."
        )
    if total.unknown:
        notes.append(
            f"{count(total.unknown, 'response')} could not be checked, because the stream does not "
            "show all that was generated."
        )
    if deferred := sum(row.deferred for row in rows):
        notes.append(f"The server asked {count(deferred, 'time')} to send a request later (HTTP 429 or 503).")
    return [_labelled(side, note) for note in notes]


def _control_notes(control: RequestGroup | None) -> list[str]:
    if control is None:
        return []
    return [
        f"Control on completions: {control.failed:,} of {count(control.requests, 'request')} failed, "
        f"{control.damaged:,} damaged."
    ]
