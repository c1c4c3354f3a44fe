import json
from typing import Any

from inspector.capture import Capture, Endpoint, Event, Header
from inspector.harmony.vocab import encode
from inspector.inspection import inspect
from inspector.views.strip import strip
from tests.support.streams import CLOSED, GOOD, LEAK, LOSS, chat


def payload(capture: Capture) -> dict[str, Any]:
    seen = inspect(capture)
    made = strip(seen.reading, seen.findings, key="k")
    json.dumps(made)  # a component's data is JSON
    return made


def test_blocks_cover_every_cell_once_and_in_order() -> None:
    steps = (
        *GOOD[:2],
        ("comment here", {}),
        ("<|start|>assistant<|channel|>final<|message|>Hi<|return|>", {"content": "Hi"}),
    )
    made = payload(chat(steps))
    spans = [(block["start"], block["end"]) for block in made["blocks"]]
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == made["count"]
    assert [block["kind"] for block in made["blocks"]] == ["message", "refused", "message"]


def test_a_refused_block_carries_the_words_of_the_judge() -> None:
    made = payload(chat((*GOOD[:2], ("comment", {}))))
    refused = made["blocks"][-1]
    assert refused["reason"] == "Unexpected token 12606 while expecting start token 200006"
    assert refused["state"] == "between messages"


def test_the_ribbon_shows_where_tokens_arrived() -> None:
    assert payload(chat(LEAK))["ribbons"] == [
        {
            "label": "vLLM 0.99.0",
            "runs": [[3, 4, "reasoning", "ok"], [4, 6, "content", "misrouted"], [12, 13, "content", "ok"]],
        }
    ]
    lost = payload(chat(LOSS))["ribbons"][0]["runs"]
    assert [4, 6, None, "dropped"] in lost


def test_events_say_which_cells_arrived_together() -> None:
    events = payload(chat(GOOD, gap_s=0.5))["events"]
    assert events == {"index": [0, 1, 2, 3], "start": [0, 4, 7, 13], "at": [0.5, 1.0, 1.5, 2.0]}


def test_a_split_character_is_shown_at_the_token_that_completes_it() -> None:
    ids = encode("👋🏽")
    made = payload(
        Capture(
            header=Header(endpoint=Endpoint.TOKENS),
            events=[Event(json.dumps([*encode("<|channel|>final<|message|>"), *ids, 200002]))],
            end=CLOSED,
        )
    )
    texts = made["texts"]
    assert isinstance(texts, dict)
    assert "".join(texts[str(place)] for place in range(3, 3 + len(ids))) == "👋🏽"
    assert texts["3"] == ""
    vocab = made["vocab"]
    assert isinstance(vocab, dict)
    assert vocab[str(ids[0])][0] is None, "its bytes alone are no text"
    assert bytes.fromhex("".join(vocab[str(token_id)][1] for token_id in ids)).decode() == "👋🏽"


def test_ids_outside_the_vocabulary_have_no_entry() -> None:
    made = payload(
        Capture(
            header=Header(endpoint=Endpoint.TOKENS), events=[Event("[200005, 35644, 200008, 999999, -3]")]
        )
    )
    vocab = made["vocab"]
    assert isinstance(vocab, dict)
    assert set(vocab) == {"200005", "35644", "200008"}
    assert made["count"] == 5


def test_without_ids_the_cells_are_deltas_with_the_lost_text_between_them() -> None:
    final = {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hello there!"}]}]}
    events = [
        Event(json.dumps({"type": "response.output_text.delta", "delta": "Hello"}), 0.1),
        Event(json.dumps({"type": "response.output_text.delta", "delta": "!"}), 0.2),
        Event(json.dumps({"type": "response.completed", "response": final}), 0.3),
    ]
    made = payload(Capture(header=Header(endpoint=Endpoint.RESPONSES), events=events, end=CLOSED))
    assert made["unit"] == "piece"
    assert made["texts"] == {"0": "Hello", "1": " there", "2": "!"}
    assert made["ribbons"][0]["runs"][1] == [1, 2, None, "dropped"]
    dropped = made["findings"][0]
    assert (dropped["kind"], dropped["cell_start"], dropped["cell_end"]) == ("dropped", 1, 2)


def test_an_empty_capture_has_an_empty_strip() -> None:
    made = payload(Capture(header=Header(endpoint=Endpoint.CHAT), events=[]))
    assert (made["count"], made["blocks"]) == (0, [])
