"""Speed of reading and auditing a stream, as ratios within one run because machines are noisy.

python bench/core.py [--rounds 5]

- read + audit, relative to a bare `StreamableParser.process` loop over the same token IDs, for 8 tokens and
  1 token per event; and the cost per token at 131,072 tokens, relative to 13,107 tokens;
- the same for a stream of which the texts of some events are lost, relative to the stream without loss;
- `inspector audit` on a file (load, read, audit), relative to `json.loads` on each of its lines.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from openai_harmony import Role, StreamableParser

sys.path.insert(0, str(Path(__file__).parent.parent))

from inspector.analysis.audit import audit
from inspector.analysis.reading import read
from inspector.capture.capture import Capture, End, Endpoint, Event, Header
from inspector.files.store import load_all, save
from inspector.inspection.inspection import inspect
from inspector.protocol.harmony.text import texts
from inspector.protocol.harmony.vocab import MARKERS, Marker, encode, encoding

SHORT, LONG = 13_107, 131_072
PROSE = "The quick brown fox jumps over 12 lazy dogs. 今日は良い天気 and def f(x): return x + 1\n"


def stream(length: int) -> list[int]:
    """A well-formed completion of that many tokens: half reasoning, half final answer."""
    prose = encode(PROSE)
    opening = encode("<|channel|>analysis<|message|>")
    middle = encode("<|end|><|start|>assistant<|channel|>final<|message|>")
    room = length - len(opening) - len(middle) - 1
    body = (prose * (room // len(prose) + 1))[:room]
    half = room // 2
    return [*opening, *body[:half], *middle, *body[half:], Marker.RETURN]


def capture(ids: list[int], per_event: int) -> Capture:
    """What vLLM 0.32 would send for these ids: chat chunks with ids and text."""
    bodies = {True: "reasoning", False: "content"}
    first_end = ids.index(Marker.END)
    in_body = False
    fields: list[str | None] = []
    for place, token_id in enumerate(ids):
        fields.append(bodies[place < first_end] if in_body and token_id not in MARKERS else None)
        in_body = token_id == Marker.MESSAGE or (in_body and token_id not in MARKERS)
    token_texts = texts(
        [-1 if field is None else token_id for token_id, field in zip(ids, fields, strict=True)]
    )
    events = []
    for start in range(0, len(ids), per_event):
        delta: dict[str, str] = {}
        for place in range(start, min(start + per_event, len(ids))):
            field = fields[place]
            if field is not None and token_texts[place]:
                delta[field] = delta.get(field, "") + token_texts[place]
        last = start + per_event >= len(ids)
        choice = {
            "index": 0,
            "delta": delta,
            "logprobs": None,
            "finish_reason": "stop" if last else None,
            "token_ids": ids[start : start + per_event],
        }
        chunk = {
            "id": "chatcmpl-8e6f989130fa77ee",
            "object": "chat.completion.chunk",
            "created": 1795214974,
            "model": "openai/gpt-oss-20b",
            "choices": [choice],
        }
        data = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
        events.append(Event(data, start * 0.001))
    events.append(Event("[DONE]", len(ids) * 0.001))
    header = Header(endpoint=Endpoint.CHAT, server_version="0.32.0", status=200)
    return Capture(header=header, events=events, end=End(at_s=None, cut=False))


def damaged(original: Capture, interval: int) -> Capture:
    """The same capture, without the text of each so many-th event."""
    events = list(original.events)
    for number in range(interval - 1, len(events) - 1, interval):
        chunk = json.loads(events[number].data)
        chunk["choices"][0]["delta"] = {}
        events[number] = events[number]._replace(data=json.dumps(chunk))
    return Capture(header=original.header, events=events, end=original.end)


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one call, which does not count other programs."""
    start = time.process_time()
    work()
    return time.process_time() - start


def parse_bare(ids: list[int]) -> None:
    """The reference parser alone, the baseline."""
    process = StreamableParser(encoding(), role=Role.ASSISTANT).process
    for token_id in ids:
        process(token_id)


def read_and_audit(well_formed: Capture) -> None:
    """Read and audit."""
    assert audit(read(well_formed)) == []  # noqa: S101 -- a wrong stream would measure something else


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=5)
    rounds = arguments.parse_args().rounds
    for per_event in (8, 1):
        capture_of_length = {length: capture(stream(length), per_event) for length in (SHORT, LONG)}
        ids = stream(LONG)
        speed, growth = [], []
        for _ in range(rounds):
            long = seconds(partial(read_and_audit, capture_of_length[LONG]))
            speed.append(seconds(partial(parse_bare, ids)) / long)
            short = min(seconds(partial(read_and_audit, capture_of_length[SHORT])) for _ in range(3))
            growth.append(long / LONG / (short / SHORT))
        print(
            f"{per_event} tokens per event: {statistics.median(speed):.2f} of the parser's tokens/s; "
            f"cost per token at {LONG:,} tokens: {statistics.median(growth):.2f} of that at {SHORT:,}"
        )
    complete = capture(stream(SHORT), 1)
    for interval in (SHORT // 2, 100):
        lossy = damaged(complete, interval)
        lost = [
            seconds(lambda: audit(read(lossy))) / seconds(partial(read_and_audit, complete))  # noqa: B023
            for _ in range(rounds)
        ]
        print(f"1 of {interval:,} texts lost: {statistics.median(lost):.2f} times a whole stream")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.jsonl"
        save(capture(stream(LONG), 1), path)
        lines = path.read_text(encoding="utf-8").splitlines()
        ratios = []
        for _ in range(rounds):
            bare = seconds(lambda: [json.loads(line) for line in lines])
            ratios.append(seconds(lambda: [inspect(loaded) for loaded in load_all(path)]) / bare)
        print(f"audit of a file, 1 token per event: {statistics.median(ratios):.2f} times json.loads")


if __name__ == "__main__":
    main()
