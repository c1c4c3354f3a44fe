import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.analysis.audit import transmission_of
from inspector.analysis.reading import Reader, read
from inspector.capture.capture import Capture, Endpoint, Event, Header
from inspector.inspection.inspection import examine
from inspector.protocol.harmony.vocab import encode
from inspector.views.payload import Increment, Pipeline, PipelineChange
from inspector.views.strip import picture, strip
from inspector.views.strip.growth import Growth, stream_position
from inspector.views.strip.pipeline import changes
from tests.support.streams import aborted, chat, chat_chunk, tool_response

THINK = "<|channel|>analysis<|message|>"
SPLIT = [
    (THINK, {}),
    *((text, {}) for text in ("a", " 🫠", "🫠", " fine", " 日本", "語")),
    ("<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>", {}),
    ('{"a"', {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": '{"a"'}}]}),
    (":1}", {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
    ("<|call|>", {}),
]
REFUSED = [
    (THINK, {}),
    ("One", {"reasoning": "One"}),
    ("<|end|>", {}),
    ("stray words", {}),
    ("<|start|>assistant<|channel|>final<|message|>", {}),
    ("Two", {"content": "Two"}),
    ("<|end|><|start|>assistantary<|channel|>", {}),
    ("final<|message|>lost", {}),
    ("<|start|>assistant<|channel|>final<|message|>", {}),
    ("Three<|return|>", {"content": "Three"}),
]


class Reads:
    """What a browser makes of the increments: the component's own rules, in Python."""

    def __init__(self) -> None:
        self.cells: dict[str, Any] = {}
        self.state: dict[str, Any] = {}

    def receive(self, columns: Increment) -> None:
        if columns["from"] == 0 and columns["count"]:
            self.state = {
                "ids": [],
                "vocab": {},
                "texts": {},
                "index": [],
                "start": [],
                "at": [],
                "blocks": [],
            }
            self.state["unsent"] = []
        state = self.state
        assert columns["from"] == len(state["ids"]) or columns["ids"] is None
        state["count"] = columns["count"]
        state["ids"].extend(columns["ids"] or [])
        state["unsent"].extend(columns.get("unsent", []))
        state["vocab"].update(columns["vocab"])
        state["texts"].update(columns["texts"])
        for key, column in columns["events"].items():
            state[key].extend(column or [])
        state["blocks"][columns["blocks"]["from"] :] = columns["blocks"]["items"]


def grown(capture: Capture, cuts: list[int], growth: Growth, reads: Reads) -> None:
    reader = Reader(capture.header)
    for start, end in zip([0, *cuts], [*cuts, len(capture.events)], strict=True):
        reader.receive(capture.events[start:end])
        reading = reader.reading()
        stopped = transmission_of(reading).rejection
        while (
            columns := growth.step(reading.choice, lambda event: capture.events[event].at_s, stopped)
        ) is not None:
            reads.receive(columns)


def all_at_once(capture: Capture) -> dict[str, Any]:
    return {**strip(examine(read(capture)), key="k")}


def cuts() -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, 12)).map(sorted)


@pytest.mark.parametrize("steps", [SPLIT, REFUSED], ids=["split characters", "refused runs"])
@given(places=cuts())
def test_increments_add_up_to_the_whole_strip_however_the_stream_is_cut(
    steps: list[tuple[str, dict[str, Any]]], places: list[int]
) -> None:
    capture = chat(steps)
    reads = Reads()
    grown(capture, [min(place, len(capture.events)) for place in places], Growth(), reads)
    complete = all_at_once(capture)
    assert reads.state["ids"] == complete["ids"]
    assert reads.state["vocab"] == complete["vocab"]
    assert reads.state["texts"] == complete["texts"]
    assert [reads.state[key] for key in ("index", "start", "at")] == [
        complete["events"][key] for key in ("index", "start", "at")
    ]
    assert reads.state["blocks"] == complete["blocks"]


@pytest.mark.parametrize("steps", [SPLIT, REFUSED], ids=["split characters", "refused runs"])
def test_reader_that_resumes_at_any_cell_gets_the_rest(steps: list[tuple[str, dict[str, Any]]]) -> None:
    capture = chat(steps)
    complete = all_at_once(capture)
    for back in range(1, complete["count"]):
        growth = Growth(back)
        reader = Reader(capture.header)
        reader.receive(capture.events)
        columns = growth.step(reader.reading().choice, lambda event: capture.events[event].at_s)
        assert columns is not None
        assert complete["ids"][:back] + columns["ids"] == complete["ids"]
        assert columns["blocks"] == {"from": 0, "items": complete["blocks"]}
        token_ids = {str(token_id) for token_id in complete["ids"][:back]}
        assert token_ids | columns["vocab"].keys() == complete["vocab"].keys()
        assert columns["texts"].items() <= complete["texts"].items()
        assert all(int(place) < back for place in complete["texts"].keys() - columns["texts"].keys())


ABORTED = [
    (["<|channel|>analysis<|message|>Hm"], "Unexpected token 12606 while expecting start token 200006"),
    (["<|channel|>analysis<|message|>Hm<|end|>"], "Unexpected token 13 while expecting start token 200006"),
    (
        ["<|channel|>analysis<|message|>Hm<|end|>", "<|start|>assistantary<|channel|>"],
        "Unknown role: assistantary",
    ),
    (["<|channel|>analysis<|message|>Hm"], "Unknown role: assistantary"),
    (["<|channel|>final"], "Unexpected EOS while waiting for message header to complete"),
    ([], "Unexpected token 12606 while expecting start token 200006"),
]


@pytest.mark.parametrize(("steps", "words"), ABORTED)
@given(places=cuts())
def test_rejected_cells_come_after_the_last_cell(steps: list[str], words: str, places: list[int]) -> None:
    capture = aborted(steps, words)
    reads = Reads()
    grown(capture, [min(place, len(capture.events)) for place in places], Growth(), reads)
    complete = all_at_once(capture)
    assert reads.state["count"] == complete["count"]
    assert reads.state["unsent"] == complete["unsent"]
    assert reads.state["vocab"] == (complete["vocab"] or {})
    assert reads.state["blocks"] == complete["blocks"]
    assert [reads.state[key] for key in ("index", "start", "at")] == [
        complete["events"][key] for key in ("index", "start", "at")
    ]


@pytest.mark.parametrize(("steps", "words"), ABORTED)
def test_reader_that_resumes_after_the_error_gets_no_cell_twice(steps: list[str], words: str) -> None:
    capture = aborted(steps, words)
    complete = all_at_once(capture)
    reading = read(capture)
    growth = Growth(complete["count"])
    columns = growth.step(reading.choice, lambda _: 0.0, transmission_of(reading).rejection)
    assert columns is None or columns["count"] == columns["from"] == complete["count"]
    assert growth.sent == complete["sent"]


def test_stream_that_continues_after_an_error_is_sent_again() -> None:
    steps, words = ABORTED[1]
    capture = aborted(steps, words)
    reader, growth, reads = Reader(capture.header), Growth(), Reads()
    reader.receive(capture.events[:-1])
    for _ in range(2):
        reading = reader.reading()
        while (
            columns := growth.step(reading.choice, lambda _: 0.0, transmission_of(reading).rejection)
        ) is not None:
            reads.receive(columns)
        reader.receive([Event(chat_chunk(encode("<|start|>assistant"), {}), 1.0)])
    assert reads.state["ids"] == encode(steps[0] + "<|start|>assistant")


@pytest.mark.slow
def test_a_late_reader_gets_a_long_stream_in_parts() -> None:
    words = ["the ", "fox ", "🫠", "日"] * 2250
    capture = chat([(THINK, {}), *((word, {"reasoning": word}) for word in words)])
    reads, growth = Reads(), Growth()
    parts: list[int] = []
    reader = Reader(capture.header)
    reader.receive(capture.events)
    choice = reader.reading().choice
    while (columns := growth.step(choice, lambda _: 0.0)) is not None:
        parts.append(columns["count"] - columns["from"])
        reads.receive(columns)
    assert max(parts) == 4096
    assert reads.state["ids"] == all_at_once(capture)["ids"]


def test_without_ids_the_cells_are_pieces_in_the_order_of_arrival() -> None:
    steps: list[tuple[str, dict[str, Any]]] = [
        ("", {"reasoning": "One"}),
        ("", {"content": "Two"}),
        ("", {"content": " three"}),
        ("", {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{}"}}]}),
    ]
    reads = Reads()
    capture = chat(steps, with_ids=False)
    grown(capture, [2], Growth(), reads)
    assert [reads.state["texts"][str(place)] for place in range(4)] == ["One", "Two", " three", "{}"]
    assert [(block["channel"], block["start"], block["end"]) for block in reads.state["blocks"]] == [
        ("reasoning", 0, 1),
        ("content", 1, 2),
        ("content", 2, 3),
        ("tool_calls[0].arguments", 3, 4),
    ]


def test_pieces_are_replaced_by_reconstructed_tokens() -> None:
    capture = tool_response("0.32.0", 1)
    reader, growth = Reader(capture.header), Growth()
    units: list[str] = []
    state: dict[str, Any] = {}
    for event in capture.events:
        reader.receive([event])
        choice = reader.reading().choice
        columns = growth.step(choice, lambda place: capture.events[place].at_s)
        if columns is not None:
            units.append(str(columns["unit"]))
            state = {**columns}
            assert not growth.more
    assert set(units[:-1]) == {"piece"}
    complete = all_at_once(capture)
    assert (units[-1], state["from"], state["count"]) == ("token", 0, complete["count"])
    assert state["ids"] == complete["ids"]
    assert state["blocks"] == {"from": 0, "items": complete["blocks"]}
    assert state["events"] == complete["events"]
    assert (state["reconstructed"], state["uncertain"]) == (True, complete["uncertain"])
    resumed = Growth(5).step(choice, lambda place: capture.events[place].at_s)
    assert resumed is not None
    assert (resumed["from"], resumed["ids"]) == (0, complete["ids"])


def test_text_that_only_the_final_object_has_comes_with_the_end() -> None:
    deltas = [
        Event(json.dumps({"type": "response.output_text.delta", "delta": "Hello"}), 0.1),
        Event(json.dumps({"type": "response.output_text.delta", "delta": "!"}), 0.2),
    ]
    final = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello there!"}]}]}
    last = Event(json.dumps({"type": "response.completed", "response": final}), 0.3)
    reader, growth, reads = Reader(Header(endpoint=Endpoint.RESPONSES)), Growth(), Reads()
    for events, ended in ((deltas, False), ([last], False), ([], True)):
        reader.receive(events)
        while columns := growth.step(reader.reading().choice, lambda _: 0.0, ended=ended):
            reads.receive(columns)
        expected = {"0": "Hello", "1": " there", "2": "!"} if ended else {"0": "Hello", "1": "!"}
        assert reads.state["texts"] == expected
    assert growth.step(reader.reading().choice, lambda _: 0.0, ended=True) is None
    assert not growth.more


def patched(before: Pipeline | None, change: PipelineChange) -> Pipeline:
    """What a browser makes of a change."""

    def pieces_before(number: int, count: int) -> list[Any]:
        return [] if before is None or not count else before["lanes"][number]["pieces"][:count]

    fates = [] if before is None else before["fates"][: change["fates"]["from"]]
    return {
        "server": change["server"],
        "per_event": change["per_event"],
        "lanes": [
            {
                "field": lane["field"],
                "label": lane["label"],
                "pieces": [*pieces_before(number, lane["from"]), *lane["pieces"]],
            }
            for number, lane in enumerate(change["lanes"])
        ],
        "fates": [*fates, *change["fates"]["items"]],
    }


@pytest.mark.parametrize("with_ids", [True, False], ids=["tokens", "pieces"])
@pytest.mark.parametrize("steps", [SPLIT, REFUSED], ids=["split characters", "refused runs"])
@given(places=cuts())
def test_changes_of_the_picture_add_up_to_the_whole_one(
    steps: list[tuple[str, dict[str, Any]]], with_ids: bool, places: list[int]
) -> None:
    capture = chat(steps, with_ids=with_ids)
    reader = Reader(capture.header)
    reader_has: Pipeline | None = None
    last: Pipeline | None = None
    cut = [min(place, len(capture.events)) for place in places]
    for start, end in zip([0, *cut], [*cut, len(capture.events)], strict=True):
        reader.receive(capture.events[start:end])
        examined = examine(reader.reading())
        complete = picture(examined, examined.reading.choice)
        reader_has, last = patched(reader_has, changes(last, complete)), complete
        assert reader_has == complete
    assert [last] == all_at_once(capture)["pipelines"]


def test_what_a_look_tells_does_not_grow_with_the_stream() -> None:
    capture = chat([(THINK, {}), *((" word", {"reasoning": " word"}) for _ in range(2000))])
    reader, sizes = Reader(capture.header), []
    last: Pipeline | None = None
    for start in range(0, len(capture.events), 100):
        reader.receive(capture.events[start : start + 100])
        examined = examine(reader.reading())
        complete = picture(examined, examined.reading.choice)
        sizes.append(len(json.dumps(changes(last, complete))))
        last = complete
    assert max(sizes[1:]) <= sizes[1] + 20


def test_stream_position_names_the_open_message() -> None:
    def states() -> Iterator[tuple[str, str | None]]:
        reader = Reader(chat(REFUSED).header)
        for event in chat(REFUSED).events:
            reader.receive([event])
            position = stream_position(reader.reading().choice, len(reader.reading().events))
            yield position["state"], position["channel"]

    assert list(states())[:8] == [
        ("body", "analysis"),
        ("body", "analysis"),
        ("between messages", "analysis"),
        ("refused", None),
        ("body", "final"),
        ("body", "final"),
        ("header", None),
        ("refused", None),
    ]


def test_a_step_reads_only_what_is_new() -> None:
    capture = chat([(THINK, {}), *((" word", {"reasoning": " word"}) for _ in range(2000))])
    reader, growth = Reader(capture.header), Growth()
    reader.receive(capture.events[:-1])
    choice = reader.reading().choice
    growth.step(choice, lambda _: 0.0)
    event_numbers: list[int] = []
    choice.tokens.extend(encode(" word"), 2001)

    def at_s(event: int) -> float:
        event_numbers.append(event)
        return 0.0

    columns = growth.step(choice, at_s)
    assert columns is not None
    assert columns["ids"] == encode(" word")
    assert set(event_numbers) == {2001}
    assert len(columns["blocks"]["items"]) == 1
