"""Two captures of one response: one between gateway and server, one between client and gateway.

A gateway may give the response another ID, and serve another endpoint than it asks. What it cannot change is
that its request to the server is open only while the client's is; clocks of two machines may differ a little.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final

from inspector.capture.capture import Capture
from inspector.protocol.wire.stream import loads

_TOLERANCE_S: Final = 0.05
_EVENTS_READ: Final = 8
"""The first events name the response."""
_PROMPT_KEYS: Final = ("system", "instructions", "messages", "input", "prompt")
_HTTP_ERROR: Final = 400


class JoinedBy(StrEnum):
    """By what two captures are known to be of one response, the strongest first."""

    LAB = "the lab's recording"
    """The lab played the one to a gateway and recorded the other."""
    RESPONSE = "response ID"
    TRACE = "trace"
    """Both requests have one trace in their `traceparent`, and prompts that end with one text."""
    PROMPT = "prompt and time"


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is compared of a capture."""

    place: int
    start_s: float
    end_s: float
    failed: bool
    """Whether it is nothing but an error: the gateway may ask again, and send another response on."""
    prompts: Sequence[int]
    """Hashes of the prompt up to each of its texts."""
    keys: Mapping[JoinedBy, Hashable]

    def encloses(self, other: "_Facts") -> bool:
        """Whether the other request was open only while this one was.

        A clock that differs moves both ends of a request: the other's cannot be outside at both.
        """
        begins, ends = other.start_s - self.start_s, self.end_s - other.end_s
        return min(begins, ends) >= -_TOLERANCE_S and max(begins, ends) >= 0


_Time = Callable[[_Facts], float]
_KEYS: Final = (JoinedBy.RESPONSE, JoinedBy.TRACE, JoinedBy.PROMPT)
_START: Final[_Time] = attrgetter("start_s")
_END: Final[_Time] = attrgetter("end_s")


@dataclass(frozen=True, slots=True)
class Joined:
    """Captures of one response, by their places in what was given."""

    server_side: int
    client_side: int
    by: JoinedBy


def joined(server_side: Capture, client_side: Capture) -> JoinedBy | None:
    """By what two captures are of one response that passed a gateway; None if nothing shows that they are.

    Two servers that are asked the same at the same time have equal prompts too, and the requests of one trace
    have its ID, so these show nothing here. Nor is a copy of a capture its other side.
    """
    if _through(client_side) and not _through(server_side):
        return JoinedBy.LAB if _lab_script(server_side) == _lab_script(client_side) else None
    inner, outer = _facts(server_side, 0), _facts(client_side, 0)
    if inner is None or outer is None or not outer.encloses(inner):
        return None
    if (inner.start_s, inner.end_s) == (outer.start_s, outer.end_s):
        return None
    named = inner.keys[JoinedBy.RESPONSE]
    return JoinedBy.RESPONSE if named is not None and named == outer.keys[JoinedBy.RESPONSE] else None


def join(server_side: Sequence[Capture], client_side: Sequence[Capture]) -> list[Joined]:
    """Pair the captures of taps behind and before a gateway; what fits none or several is left out."""
    sides = [
        [facts for place, capture in enumerate(captures) if (facts := _facts(capture, place)) is not None]
        for captures in (server_side, client_side)
    ]
    # Captures whose response or trace is on both sides fit no others, whatever a weaker key says. An ID that
    # several responses of a side have names none of them.
    counts = {by: [Counter(facts.keys[by] for facts in side) for side in sides] for by in _KEYS}
    shared: dict[JoinedBy, Set[Hashable]] = {
        by: (left.keys() & right.keys()) - {None} for by, (left, right) in counts.items()
    }
    shared[JoinedBy.RESPONSE] -= {
        name for side in counts[JoinedBy.RESPONSE] for name, count in side.items() if count > 1
    }
    longer: dict[int, list[_Facts]] = defaultdict(list)
    for facts in sorted(sides[0], key=_START):
        for prompt in facts.prompts[:-1]:
            longer[prompt].append(facts)
    failures = _groups(([facts for facts in sides[0] if facts.failed], sides[1]), JoinedBy.PROMPT, shared)
    # An error may be what came before an answer, so its client is known only where one alone asked.
    client_of = {
        place: outer
        for group in failures
        for place, outer in _only_fits(*group, after=_END, until=_START).items()
    }
    pairs: list[Joined] = []
    taken: set[int] = set()
    for rank, by in enumerate(_KEYS):
        rest = tuple([facts for facts in side if id(facts) not in taken] for side in sides)
        for group in _groups(rest, by, shared, within=_KEYS[:rank]):
            for inner, outer in _pairs(*group, client_of, same_response=by is JoinedBy.RESPONSE):
                taken |= {id(inner), id(outer)}
                if not _goes_on(inner, outer, longer):
                    pairs.append(Joined(inner.place, outer.place, by))
    return sorted(pairs, key=lambda pair: pair.client_side)


def _groups(
    sides: Iterable[Iterable[_Facts]],
    by: JoinedBy,
    shared: Mapping[JoinedBy, Set[Hashable]],
    within: Iterable[JoinedBy] = (),
) -> Iterable[tuple[list[_Facts], list[_Facts]]]:
    """Captures of both sides with one value of a key, and of the stronger ones that both sides have."""
    groups: dict[Hashable, tuple[list[_Facts], list[_Facts]]] = defaultdict(lambda: ([], []))
    for number, side in enumerate(sides):
        for facts in side:
            if (value := facts.keys[by]) in shared[by]:
                known = (facts.keys[key] if facts.keys[key] in shared[key] else None for key in within)
                groups[*known, value][number].append(facts)
    return groups.values()


def _pairs(
    inner: Sequence[_Facts],
    outer: Sequence[_Facts],
    client_of: Mapping[int, _Facts],
    *,
    same_response: bool,
) -> Iterator[tuple[_Facts, _Facts]]:
    """Those of which neither fits another. Without a common ID no answer has an error behind the gateway."""
    answers = [facts for facts in inner if same_response or not facts.failed]
    inner_of = _only_fits([facts for facts in outer if not facts.failed], answers, _START, _END)
    inner_of |= _only_fits([facts for facts in outer if facts.failed], inner, _START, _END)
    outer_of = {**client_of, **_only_fits(answers, outer, _END, _START)}
    for place, server_side in inner_of.items():
        client_side = outer_of.get(server_side.place)
        if client_side is not None and client_side.place == place and client_side.encloses(server_side):
            yield server_side, client_side


def _goes_on(inner: _Facts, outer: _Facts, longer: Mapping[int, Sequence[_Facts]]) -> bool:
    """Whether the gateway asked on with what it got, such as a tool's result: its response is of several."""
    later = longer.get(inner.prompts[-1], ()) if inner.prompts else ()
    after = bisect_left(later, inner.end_s - _TOLERANCE_S, key=_START)
    return after < len(later) and later[after].start_s <= outer.end_s


def _only_fits(
    seeking: Sequence[_Facts],
    others: Sequence[_Facts],
    after: _Time,
    until: _Time,
) -> dict[int, _Facts]:
    """Of each place the only other that is not before it by one of its times nor behind it by the other."""
    ordered = sorted(others, key=after)
    firsts: list[list[_Facts]] = [[]]
    for facts in reversed(ordered):
        firsts.append(sorted((*firsts[-1], facts), key=until)[:2])
    firsts.reverse()
    times = [after(facts) for facts in ordered]
    only: dict[int, _Facts] = {}
    for facts in seeking:
        candidates = firsts[bisect_left(times, after(facts) - _TOLERANCE_S)]
        fitting = [other for other in candidates if until(other) <= until(facts) + _TOLERANCE_S]
        if len(fitting) == 1:
            only[facts.place] = fitting[0]
    return only


def _facts(capture: Capture, place: int) -> _Facts | None:
    """None where it is unknown when the request was open."""
    header, end = capture.header, capture.end
    if header.started_at is None or end is None or end.at_s is None:
        return None
    try:
        start = datetime.fromisoformat(header.started_at)
    except ValueError:
        return None
    start_s = (start if start.tzinfo else start.replace(tzinfo=UTC)).timestamp()
    try:
        texts = list(_texts([header.request.get(key) for key in _PROMPT_KEYS]))
    except RecursionError:  # nested deeper than can be walked
        texts = []
    prompts = list(accumulate(texts, lambda before, text: hash((before, text)), initial=0))[1:]
    trace = header.traceparent.split("-")[1] if header.traceparent else None
    first = list(_first_objects(capture))
    failed = (header.status or 200) >= _HTTP_ERROR or bool(first and first[0].get("error"))
    keys: dict[JoinedBy, Hashable] = {
        # A response that is fetched again has its ID, and the request no prompt.
        JoinedBy.RESPONSE: next(((name, bool(texts)) for name in _response_ids(first)), None),
        JoinedBy.TRACE: (trace, texts[-1]) if trace and texts else None,
        JoinedBy.PROMPT: tuple(texts) or None,
    }
    return _Facts(place, start_s, start_s + end.at_s, failed or not capture.events, prompts, keys)


def _through(capture: Capture) -> bool:
    lab = capture.header.extra.get("lab")
    return isinstance(lab, dict) and "through" in lab


def _lab_script(capture: Capture) -> tuple[object, object]:
    lab = capture.header.extra.get("lab")
    return (lab.get("script"), lab.get("stream_interval")) if isinstance(lab, dict) else (None, None)


def _first_objects(capture: Capture) -> Iterator[dict[str, Any]]:
    for event in capture.events[:_EVENTS_READ]:
        value = loads(event.data)
        if isinstance(value, dict):
            yield value


def _response_ids(values: Iterable[dict[str, Any]]) -> Iterator[str]:
    for value in values:
        for holder in (value, value.get("response"), value.get("message")):
            if isinstance(holder, dict) and isinstance(name := holder.get("id"), str) and name:
                yield name


def _texts(value: Any) -> Iterator[str]:
    """The texts of a prompt in order, in whatever form an endpoint has them; roles and types are left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key in ("text", "content", "output", "arguments"):
            yield from _texts(value.get(key))
