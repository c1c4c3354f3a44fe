"""Sums up the rows of a probe: counts, rates with intervals, times, causes; used by command and page."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from inspector.capture.formats import count, number, plural
from inspector.fleet.probe.loads import at_once
from inspector.fleet.probe.rates import Proportion, gap_percentile, percent, percentile, proves, rate
from inspector.fleet.probe.rows import ProbeRow, Result
from inspector.inspection.compare.significance import fisher_exact
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
    requests: int
    ok: int
    failed: int
    damaged: int
    unknown: int

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
    """Two servers compared."""

    p_value: float | None
    """Fisher's exact test, two-sided; None if nothing of one side could be checked."""
    sentence: str

    @property
    def significant(self) -> bool | None:
        """True if the rates differ (5 % level); None where no test is possible."""
        return None if self.p_value is None else self.p_value < _LEVEL


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
    """Sweep: the smallest load that lost something."""
    largest_clean: RequestGroup | None
    """Sweep: the largest load below it that lost nothing."""


def summary(rows: Sequence[ProbeRow], *, swept: bool = False, threshold: float = 0.01) -> ProbeSummary:
    """Sum up rows; `swept` says that their levels are those of a sweep for rates above `threshold`."""
    counted = [row for row in rows if not row.control]
    total = _group("all", counted)
    control = [row for row in rows if row.control]
    named = sorted({row.side for row in counted} - {""})
    sides = tuple(_group(name, [row for row in counted if row.side == name]) for name in named)
    against = _against(sides) if len(sides) == 2 else None
    levels = grouped(counted, lambda row: row.level) if swept else ()
    losing = next((group for group in levels if proves(group.loss.count, group.loss.of, threshold)), None)
    below = [group for group in levels if losing is None or int(group.name) < int(losing.name)]
    clean = next((group for group in reversed(below) if not _too_few(group)), below[-1] if below else None)
    controlled = _group("control", control) if control else None
    notes = (*_notes(total, counted), *_control_notes(controlled))
    return ProbeSummary(
        sentence=_swept(losing, clean, threshold) if swept and rows else _sentence(total, against),
        notes=notes,
        total=total,
        control=controlled,
        sides=sides,
        by_endpoint=grouped(counted, _endpoint),
        by_load=levels or _by_in_flight(counted),
        by_tokens_per_event=grouped(counted, _tokens_per_event),
        kinds=tuple(Counter(kind for row in counted for kind in row.response.kinds).most_common()),
        causes=tuple(_causes(counted)),
        failures=failures(counted),
        times=tuple(_times(counted)),
        against=against,
        smallest_losing=losing,
        largest_clean=clean,
    )


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
    """Rows by a key, in its order; rows without a key are left out."""
    groups: dict[int | str, list[ProbeRow]] = {}
    for row in rows:
        if (name := key(row)) is not None:
            groups.setdefault(name, []).append(row)
    return tuple(
        _group(str(name), groups[name])
        for name in sorted(groups, key=lambda label: (str(type(label)), label))
    )


def _group(name: str, rows: Sequence[ProbeRow]) -> RequestGroup:
    counts = Counter(row.result for row in rows)
    return RequestGroup(
        name=name,
        requests=len(rows),
        ok=counts[Result.OK],
        failed=counts[Result.FAILED],
        damaged=counts[Result.DAMAGED],
        unknown=counts[Result.UNKNOWN],
    )


def _by_in_flight(rows: Sequence[ProbeRow]) -> tuple[RequestGroup, ...]:
    """By powers of two, named by their range."""
    groups = grouped(rows, lambda row: 1 << (max(row.in_flight, 1) - 1).bit_length())
    return tuple(
        group if int(group.name) <= 2 else replace(group, name=f"{int(group.name) // 2 + 1}-{group.name}")
        for group in groups
    )


def _endpoint(row: ProbeRow) -> str:
    return row.endpoint.value if row.streamed else f"{row.endpoint.value}, unstreamed"


def _tokens_per_event(row: ProbeRow) -> int | None:
    """The mean of a stream, rounded; None where its tokens are not known by event."""
    mean = row.response.tokens_per_event
    return None if mean is None or not row.streamed else max(1, round(mean))


def failures(rows: Sequence[ProbeRow]) -> tuple[tuple[str, int, str], ...]:
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


def _times(rows: Sequence[ProbeRow]) -> list[Times]:
    """Times of streamed requests; a failed one counts as infinite, which makes a percentile worse."""
    streamed = [row for row in rows if row.streamed]
    if not streamed:
        return []

    def of(name: str, values: Sequence[float]) -> Times:
        p50, p90, p99 = (percentile(values, share) for share in _SHARES)
        return Times(name=name, what="since the request", p50=p50, p90=p90, p99=p99)

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
            times.append(Times(name=channel, what="gap", p50=p50, p90=p90, p99=p99))
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


def _swept(losing: RequestGroup | None, clean: RequestGroup | None, threshold: float) -> str:
    were = "were" if clean is not None and clean.damaged > 1 else "was"
    if losing is None:
        if clean is None:
            return "No load was finished."
        if _too_few(clean) and int(clean.name) == 1:
            return _too_few_words(clean)
        level = int(clean.name)
        up_to = at_once(level) if level == 1 else f"up to {at_once(level)}"
        if clean.damaged:
            return (
                f"With {up_to}, no loss rate above {percent(threshold)} was shown: "
                f"{clean.damaged:,} of {clean.loss.of:,} responses {were} damaged there, {clean.loss.words}."
            )
        return (
            f"No silent loss with {up_to} ({clean.loss.of:,} checked there; the loss rate is "
            f"at most {percent(clean.loss.high)}, 95% confidence)."
        )
    damaged = "none" if clean is None or not clean.damaged else f"{clean.damaged:,}"
    below = (
        ""
        if clean is None
        else f" With {at_once(int(clean.name))}, {damaged} of {clean.loss.of:,} {were} damaged."
    )
    return (
        f"Losses begin with {at_once(int(losing.name))}: {losing.damaged:,} of {losing.loss.of:,} "
        f"checked responses were damaged, {losing.loss.words}.{below}"
    )


def _against(sides: Sequence[RequestGroup]) -> ServerComparison:
    left, right = sides
    a, b = left.loss, right.loss
    both = ", ".join(
        f"{group.name}: {group.damaged:,} of {group.loss.of:,} silently damaged ({_share(group.loss)}), "
        f"{group.failed:,} of {group.requests:,} failed"
        for group in sides
    )
    if not (a.of and b.of):
        return ServerComparison(
            p_value=None, sentence=f"{both}. No test is possible: one side has nothing that was checked."
        )
    p_value = fisher_exact(a.count, a.of - a.count, b.count, b.of - b.count)
    p_words = f"p = {p_value:.2g}" if p_value >= 0.0001 else "p < 0.0001"
    words = "is" if p_value < _LEVEL else "is not"
    sentence = f"{both}. The difference in damaged responses {words} statistically significant ({p_words})."
    return ServerComparison(p_value=p_value, sentence=sentence)


def _share(loss: Proportion) -> str:
    return "unknown" if loss.share is None else percent(loss.share)


def _notes(total: RequestGroup, rows: Sequence[ProbeRow]) -> list[str]:
    notes = []
    if total.failed:
        kinds = Counter(row.response.failure for row in rows if row.result is Result.FAILED)
        listed = ", ".join(f"{words} ({amount:,})" for words, amount in kinds.most_common(4))
        notes.append(
            f"{total.failed:,} of {count(total.requests, 'request')} failed with an error: "
            f"{total.failure.words}. {listed[:1].upper()}{listed[1:]}."
        )
    if total.unknown:
        notes.append(
            f"{count(total.unknown, 'response')} could not be checked, because the stream has no evidence of "
            "what was generated, or not of all of it."
        )
    if deferred := sum(row.deferred for row in rows):
        notes.append(f"The server asked {count(deferred, 'time')} to send a request later (HTTP 429 or 503).")
    return notes


def _control_notes(control: RequestGroup | None) -> list[str]:
    if control is None:
        return []
    return [
        f"Control on completions: {control.failed:,} of {count(control.requests, 'request')} failed, "
        f"{control.damaged:,} damaged."
    ]
