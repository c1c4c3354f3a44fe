"""Part of `bench.witness`, run by the Python of a vLLM environment: the parser with and without the witness.

Reads token IDs as JSON from standard input; prints the CPU milliseconds of one response as JSON, streamed a
token at a time and unstreamed.
"""

import importlib
import json
import statistics
import sys
import time
from typing import Any

ROUNDS = 15

harmony: Any = importlib.import_module("vllm.parser.harmony")
protocol: Any = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
witness: Any = importlib.import_module("harmony_witness")
NAMES = ("process_chunk", "flush", "parse", "parse_delta")
FACTORY = "get_streamable_parser_for_assistant"


def parts() -> tuple[Any, ...]:
    """What the witness replaces."""
    return (*(getattr(harmony.HarmonyParser, name) for name in NAMES), getattr(harmony, FACTORY))


def use(replaced: tuple[Any, ...]) -> None:
    """Put these in place."""
    for name, function in zip(NAMES, replaced, strict=False):
        setattr(harmony.HarmonyParser, name, function)
    setattr(harmony, FACTORY, replaced[-1])


def response_ms(tokens: list[int], *, stream: bool) -> float:
    """CPU milliseconds to parse one response."""
    request = protocol.ChatCompletionRequest(messages=[], model="", stream=stream)
    parser = harmony.HarmonyParser(None, None)
    started = time.process_time()
    if not stream:
        parser.parse("", request, model_output_token_ids=tokens)
        return (time.process_time() - started) * 1000
    for index, token in enumerate(tokens):
        parser.parse_delta(
            delta_text="", delta_token_ids=[token], request=request, finished=index == len(tokens) - 1
        )
    return (time.process_time() - started) * 1000


def main() -> None:
    """Alternate, so that other load affects both."""
    tokens = json.load(sys.stdin)
    plain = parts()
    witness.install()
    witnessed = parts()
    if plain == witnessed:
        raise SystemExit("the witness does not recognise this release")
    costs: dict[str, dict[str, float]] = {}
    for name in ("streamed", "unstreamed"):
        rows: list[tuple[float, float]] = []
        for number in range(ROUNDS + 1):
            pair = []
            for replaced in (plain, witnessed):
                use(replaced)
                pair.append(response_ms(tokens, stream=name == "streamed"))
            if number:  # the first one loads the vocabulary
                rows.append((pair[0], pair[1]))
        costs[name] = {
            "plain_ms": statistics.median(before for before, _ in rows),
            "added_ms": statistics.median(after - before for before, after in rows),
        }
    print(json.dumps(costs))


if __name__ == "__main__":
    main()
