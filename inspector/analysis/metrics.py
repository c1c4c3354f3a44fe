"""Metrics of a stream: times in seconds, gaps, tokens per event, tokens per channel."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import sub
from statistics import median
from typing import Final

from inspector.analysis.reading import ChoiceReading, Reading

_ONE_READ_S: Final = 0.001
"""Events that arrive within this time were read at once, so they have no speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelFigures:
    """One channel of one choice; `framing` and `refused` have the tokens outside of bodies."""

    channel: str
    tokens: int
    duration_s: float | None
    """Between the arrivals of its first and last token, summed over its messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Metrics of one choice."""

    tokens: int
    events_with_tokens: int
    first_token_s: float | None
    """Arrival of the first token, from the request."""
    last_token_s: float | None
    tokens_per_s: float | None
    """Tokens after the first event, over the time after it."""
    gap_p50_s: float | None
    """Between the arrivals of adjacent events with tokens."""
    gap_p95_s: float | None
    gap_max_s: float | None
    tokens_per_event_mean: float | None
    tokens_per_event_max: int
    by_channel: tuple[ChannelFigures, ...]


def most_per_event(reading: Reading, choice: ChoiceReading) -> int | None:
    """Tokens that the fullest event of a stream brought; None where no event says which it brought."""
    events = [event for event in choice.tokens.events if event >= 0 and event not in reading.stream.bodies]
    if not choice.has_ids or choice.reconstructed or not events or not reading.spec.delivers:
        return None
    return max(_carriers(events)[1])


def figures(reading: Reading, choice: ChoiceReading | None = None) -> Figures:
    """Metrics of a choice, by default the first."""
    choice = choice or reading.choice
    events = [event for event in choice.tokens.events if event >= 0]  # IDs from outside came in no event
    numbers, counts = _carriers(events)
    times = reading.arrivals_s(numbers) or []
    is_timed = bool(times)
    gaps = sorted(map(sub, times[1:], times)) if is_timed else []
    span = times[-1] - times[0] if is_timed else 0.0
    after_first = len(events) - (counts[0] if counts else 0)
    return Figures(
        tokens=len(choice.tokens),
        events_with_tokens=len(numbers),
        first_token_s=times[0] if is_timed else None,
        last_token_s=times[-1] if is_timed else None,
        tokens_per_s=after_first / span if span >= _ONE_READ_S else None,
        gap_p50_s=median(gaps) if gaps else None,
        gap_p95_s=quantile(gaps, 0.95) if gaps else None,
        gap_max_s=gaps[-1] if gaps else None,
        tokens_per_event_mean=len(events) / len(numbers) if numbers else None,
        tokens_per_event_max=max(counts, default=0),
        by_channel=tuple(_channels(reading, choice)),
    )


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie, interpolated linearly."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _carriers(events: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """The events that brought tokens, and how many tokens each brought."""
    counted = Counter(events)
    if len(counted) == len(events):  # one token per event, the most common stream
        return events, [1] * len(events)
    if events == sorted(events):  # the order in which a server sends them
        return list(counted), list(counted.values())
    starts = [0, *(place for place, (earlier, later) in enumerate(pairwise(events), 1) if earlier != later)]
    ends = [*starts[1:], len(events)]
    return [events[start] for start in starts], list(map(sub, ends, starts))


def _channels(reading: Reading, choice: ChoiceReading) -> list[ChannelFigures]:
    counts: dict[str, int] = {}
    durations: dict[str, float] = {}
    framed = len(choice.tokens)
    for message in choice.transcript.messages:
        body = message.body_end - message.body
        if not message.in_body:
            continue
        channel = message.header.channel or "no channel"
        counts[channel] = counts.get(channel, 0) + body
        framed -= body
        if body:
            first = reading.arrival_s(choice.tokens.events[message.body])
            last = reading.arrival_s(choice.tokens.events[message.body_end - 1])
            if first is not None and last is not None:
                durations[channel] = durations.get(channel, 0.0) + last - first
    refused = sum(rejected_run.end - rejected_run.at for rejected_run in choice.transcript.rejected_runs)
    channels = [
        ChannelFigures(channel=channel, tokens=count, duration_s=durations.get(channel))
        for channel, count in counts.items()
    ]
    if framed - refused:
        channels.append(ChannelFigures(channel="framing", tokens=framed - refused, duration_s=None))
    if refused:
        channels.append(ChannelFigures(channel="refused", tokens=refused, duration_s=None))
    return channels
